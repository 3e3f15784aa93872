import { isHostOf, type Provider, providers } from "@keywheel/pool";
import type { PresetSlug } from "../contract/provider.ts";
import type { ProviderKind } from "../store/store.ts";

/** A provider that people choose from a list. */
export interface ProviderPreset extends Provider {
  readonly slug: PresetSlug;
}

const inOrder = [
  "openai",
  "anthropic",
  "gemini",
  "azure",
  "openrouter",
  "deepseek",
  "mistral",
  "groq",
  "xai",
  "together",
  "fireworks",
  "moonshot",
  "zhipu",
  "dashscope",
  "siliconflow",
  "cohere",
  "perplexity",
  "nvidia",
  "cerebras",
  "ollama",
  "lmstudio",
  "vllm",
] as const satisfies readonly PresetSlug[];

const presetOf: Readonly<Record<PresetSlug, Provider>> = providers;

/** In the order in which they are offered. @see contract §3 */
export const providerPresets: readonly ProviderPreset[] = inOrder.map((slug) => ({ ...presetOf[slug], slug }));

const bySlug: ReadonlyMap<string, ProviderPreset> = new Map(providerPresets.map((preset) => [preset.slug, preset]));

export function presetBySlug(slug: string): ProviderPreset | undefined {
  return bySlug.get(slug);
}

/**
 * The preset that a base URL belongs to.
 *
 * Local servers are told by the port that is theirs alone; vLLM's 8000 is everybody's, so it must be named.
 */
export function presetOfUrl(baseUrl: string): ProviderPreset | undefined {
  const { hostname, port } = new URL(baseUrl);
  if (hostname === "localhost" || hostname === "[::1]" || hostname.startsWith("127.")) {
    if (port === "11434") return presetBySlug("ollama");
    return port === "1234" ? presetBySlug("lmstudio") : undefined;
  }
  return providerPresets.find((preset) => preset.hosts.some((host) => isHostOf(hostname, host)));
}

/** The kind of API that is spoken under a base URL: many a vendor has another one under a path that names it. */
export function kindOfUrl(baseUrl: string, preset: ProviderPreset | undefined): ProviderKind {
  const segments = new URL(baseUrl).pathname.split("/");
  if (segments.includes("anthropic")) return "anthropic";
  if (preset?.kind === "gemini" && segments.includes("openai")) return "openai-compatible";
  return preset?.kind ?? "openai-compatible";
}

/** The preset whose address stands in when a provider is made with its kind alone. */
export function presetOfKind(kind: ProviderKind): ProviderPreset | undefined {
  return kind === "openai-compatible" ? undefined : providerPresets.find((preset) => preset.kind === kind);
}
