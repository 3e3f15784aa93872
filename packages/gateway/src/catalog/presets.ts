import type { PresetSlug } from "../contract/provider.ts";
import type { ProviderKind } from "../store/store.ts";

/** A provider that people choose from a list. */
export interface ProviderPreset {
  readonly slug: PresetSlug;
  readonly name: string;
  readonly kind: ProviderKind;
  /** Where it lives; Azure's holds a placeholder. */
  readonly baseUrl: string;
  /** Hosts by which it is recognised; a leading dot stands for any subdomain. */
  readonly hosts: readonly string[];
}

function compatible(slug: PresetSlug, name: string, baseUrl: string, hosts: readonly string[]): ProviderPreset {
  return { slug, name, kind: "openai-compatible", baseUrl, hosts };
}

/** In the order in which they are offered. @see contract §3 */
export const providerPresets: readonly ProviderPreset[] = [
  { slug: "openai", name: "OpenAI", kind: "openai", baseUrl: "https://api.openai.com/v1", hosts: [".openai.com"] },
  {
    slug: "anthropic",
    name: "Anthropic",
    kind: "anthropic",
    baseUrl: "https://api.anthropic.com/v1",
    hosts: [".anthropic.com"],
  },
  {
    slug: "gemini",
    name: "Google Gemini",
    kind: "gemini",
    baseUrl: "https://generativelanguage.googleapis.com/v1beta",
    hosts: ["generativelanguage.googleapis.com"],
  },
  {
    slug: "azure",
    name: "Azure OpenAI",
    kind: "azure-openai",
    baseUrl: "https://{resource}.openai.azure.com/openai",
    hosts: [".openai.azure.com", ".cognitiveservices.azure.com", ".services.ai.azure.com", ".openai.azure.us"],
  },
  compatible("openrouter", "OpenRouter", "https://openrouter.ai/api/v1", [".openrouter.ai"]),
  compatible("deepseek", "DeepSeek", "https://api.deepseek.com", [".deepseek.com"]),
  compatible("mistral", "Mistral", "https://api.mistral.ai/v1", [".mistral.ai"]),
  compatible("groq", "Groq", "https://api.groq.com/openai/v1", [".groq.com"]),
  compatible("xai", "xAI", "https://api.x.ai/v1", [".x.ai"]),
  compatible("together", "Together", "https://api.together.xyz/v1", [".together.xyz", ".together.ai"]),
  compatible("fireworks", "Fireworks", "https://api.fireworks.ai/inference/v1", [".fireworks.ai"]),
  compatible("moonshot", "Moonshot (Kimi)", "https://api.moonshot.ai/v1", [
    ".moonshot.ai",
    ".moonshot.cn",
    ".kimi.com",
  ]),
  compatible("zhipu", "Zhipu GLM", "https://open.bigmodel.cn/api/paas/v4", [".bigmodel.cn", ".z.ai"]),
  compatible("dashscope", "Qwen (DashScope)", "https://dashscope.aliyuncs.com/compatible-mode/v1", [
    "dashscope.aliyuncs.com",
    "dashscope-intl.aliyuncs.com",
    "dashscope-us.aliyuncs.com",
  ]),
  compatible("siliconflow", "SiliconFlow", "https://api.siliconflow.cn/v1", [".siliconflow.cn", ".siliconflow.com"]),
  compatible("cohere", "Cohere", "https://api.cohere.com/v2", [".cohere.com", ".cohere.ai"]),
  compatible("perplexity", "Perplexity", "https://api.perplexity.ai", [".perplexity.ai"]),
  compatible("nvidia", "NVIDIA NIM", "https://integrate.api.nvidia.com/v1", [".api.nvidia.com"]),
  compatible("cerebras", "Cerebras", "https://api.cerebras.ai/v1", [".cerebras.ai"]),
  compatible("ollama", "Ollama", "http://localhost:11434", []),
  compatible("lmstudio", "LM Studio", "http://localhost:1234/v1", []),
  compatible("vllm", "vLLM", "http://localhost:8000/v1", []),
];

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

function isHostOf(hostname: string, host: string): boolean {
  return host.startsWith(".") ? `.${hostname}`.endsWith(host) : hostname === host;
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
