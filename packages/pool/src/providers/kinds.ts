/** Whose protocol a provider speaks: where credentials go, how addresses join, what errors look like. */
export type ProviderKind = "openai" | "anthropic" | "gemini" | "azure-openai" | "openai-compatible";
