/** What of a provider the conventions have words for. */
export interface NamedProvider {
  readonly slug: string;
  readonly kind: string;
  readonly preset: string | null;
}

/** The names of the conventions, where they differ from ours. @see https://opentelemetry.io/docs/specs/semconv/registry/attributes/gen-ai/ */
const providerNames: Readonly<Record<string, string>> = {
  gemini: "gcp.gemini",
  azure: "azure.ai.openai",
  "azure-openai": "azure.ai.openai",
  mistral: "mistral_ai",
  xai: "x_ai",
};

/** `gen_ai.provider.name` */
export function providerNameOf({ slug, kind, preset }: NamedProvider): string {
  const own = preset ?? (kind === "openai-compatible" ? slug : kind);
  return providerNames[own] ?? own;
}

/** `gen_ai.operation.name`, by the endpoint; undefined for what is no operation of a model. @param path without a query */
export function operationOf(path: string): string | undefined {
  if (/\/embeddings$|:(?:batchE|e)mbedContents?$/.test(path)) return "embeddings";
  if (/:(?:streamG|g)enerateContent$/.test(path)) return "generate_content";
  if (/\/(?:chat\/completions|messages|responses)$/.test(path)) return "chat";
  return path.endsWith("/completions") ? "text_completion" : undefined;
}
