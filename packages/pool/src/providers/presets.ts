import type { RecognisedAnswer } from "../rules/recognised-answer.ts";
import { anthropicAnswers } from "./answers/anthropic.ts";
import { azureAnswers } from "./answers/azure.ts";
import {
  dashscopeAnswers,
  deepseekAnswers,
  moonshotAnswers,
  siliconflowAnswers,
  zhipuAnswers,
} from "./answers/chinese-clouds.ts";
import {
  cerebrasAnswers,
  cohereAnswers,
  fireworksAnswers,
  groqAnswers,
  mistralAnswers,
  nvidiaAnswers,
  ollamaAnswers,
  perplexityAnswers,
  togetherAnswers,
  vllmAnswers,
  xaiAnswers,
} from "./answers/clouds.ts";
import { geminiAnswers } from "./answers/gemini.ts";
import { openaiAnswers, openaiCompatibleAnswers } from "./answers/openai.ts";
import { openrouterAnswers } from "./answers/routers.ts";
import type { ProviderKind } from "./kinds.ts";

// One constant each, of plain data, and nothing that collects them: a bundler keeps those that are used.

/** A provider of models: where it lives, which API it speaks, what its answers mean. Plain data, to be spread and changed. */
export interface Provider {
  /** A short name for programs: lower case, digits, dashes. */
  readonly slug: string;
  /** For people. */
  readonly name: string;
  /** The API that it speaks: where a key goes, what errors look like. */
  readonly kind: ProviderKind;
  /** Where it lives; Azure's holds a placeholder. */
  readonly baseUrl: string;
  /** Hosts that are the provider's: keys are sent to no other. A leading dot stands for any subdomain. */
  readonly hosts: readonly string[];
  /** What its answers mean where that is its own; the first that fits decides. */
  readonly answers: readonly RecognisedAnswer[];
  /** What answers mean wherever this API is spoken, asked after its own. */
  readonly sharedAnswers: readonly RecognisedAnswer[];
  /** The zone of bare local times in its sentences, minutes east of UTC. */
  readonly localOffsetMinutes?: number;
}

/** OpenAI. */
export const openai: Provider = {
  slug: "openai",
  name: "OpenAI",
  kind: "openai",
  baseUrl: "https://api.openai.com/v1",
  hosts: [".openai.com"],
  answers: openaiAnswers,
  sharedAnswers: openaiCompatibleAnswers,
};

/** Anthropic. */
export const anthropic: Provider = {
  slug: "anthropic",
  name: "Anthropic",
  kind: "anthropic",
  baseUrl: "https://api.anthropic.com/v1",
  hosts: [".anthropic.com"],
  answers: anthropicAnswers,
  sharedAnswers: [],
};

/** Google Gemini. */
export const gemini: Provider = {
  slug: "gemini",
  name: "Google Gemini",
  kind: "gemini",
  baseUrl: "https://generativelanguage.googleapis.com/v1beta",
  hosts: ["generativelanguage.googleapis.com"],
  answers: geminiAnswers,
  sharedAnswers: [],
};

/** Azure OpenAI. Its base URL is yours: name it as `baseURL`, or use any of its hosts. */
export const azure: Provider = {
  slug: "azure",
  name: "Azure OpenAI",
  kind: "azure-openai",
  baseUrl: "https://{resource}.openai.azure.com/openai",
  hosts: [".openai.azure.com", ".cognitiveservices.azure.com", ".services.ai.azure.com", ".openai.azure.us"],
  answers: azureAnswers,
  sharedAnswers: openaiCompatibleAnswers,
};

/** OpenRouter. */
export const openrouter: Provider = {
  slug: "openrouter",
  name: "OpenRouter",
  kind: "openai-compatible",
  baseUrl: "https://openrouter.ai/api/v1",
  hosts: [".openrouter.ai"],
  answers: openrouterAnswers,
  sharedAnswers: openaiCompatibleAnswers,
};

/** DeepSeek. */
export const deepseek: Provider = {
  slug: "deepseek",
  name: "DeepSeek",
  kind: "openai-compatible",
  baseUrl: "https://api.deepseek.com",
  hosts: [".deepseek.com"],
  answers: deepseekAnswers,
  sharedAnswers: openaiCompatibleAnswers,
};

/** Mistral. */
export const mistral: Provider = {
  slug: "mistral",
  name: "Mistral",
  kind: "openai-compatible",
  baseUrl: "https://api.mistral.ai/v1",
  hosts: [".mistral.ai"],
  answers: mistralAnswers,
  sharedAnswers: openaiCompatibleAnswers,
};

/** Groq. */
export const groq: Provider = {
  slug: "groq",
  name: "Groq",
  kind: "openai-compatible",
  baseUrl: "https://api.groq.com/openai/v1",
  hosts: [".groq.com"],
  answers: groqAnswers,
  sharedAnswers: openaiCompatibleAnswers,
};

/** xAI. */
export const xai: Provider = {
  slug: "xai",
  name: "xAI",
  kind: "openai-compatible",
  baseUrl: "https://api.x.ai/v1",
  hosts: [".x.ai"],
  answers: xaiAnswers,
  sharedAnswers: openaiCompatibleAnswers,
};

/** Together. */
export const together: Provider = {
  slug: "together",
  name: "Together",
  kind: "openai-compatible",
  baseUrl: "https://api.together.xyz/v1",
  hosts: [".together.xyz", ".together.ai"],
  answers: togetherAnswers,
  sharedAnswers: openaiCompatibleAnswers,
};

/** Fireworks. */
export const fireworks: Provider = {
  slug: "fireworks",
  name: "Fireworks",
  kind: "openai-compatible",
  baseUrl: "https://api.fireworks.ai/inference/v1",
  hosts: [".fireworks.ai"],
  answers: fireworksAnswers,
  sharedAnswers: openaiCompatibleAnswers,
};

/** Moonshot (Kimi). */
export const moonshot: Provider = {
  slug: "moonshot",
  name: "Moonshot (Kimi)",
  kind: "openai-compatible",
  baseUrl: "https://api.moonshot.ai/v1",
  hosts: [".moonshot.ai", ".moonshot.cn", ".kimi.com"],
  answers: moonshotAnswers,
  sharedAnswers: openaiCompatibleAnswers,
};

/** Zhipu GLM. */
export const zhipu: Provider = {
  slug: "zhipu",
  name: "Zhipu GLM",
  kind: "openai-compatible",
  baseUrl: "https://open.bigmodel.cn/api/paas/v4",
  hosts: [".bigmodel.cn", ".z.ai"],
  answers: zhipuAnswers,
  sharedAnswers: openaiCompatibleAnswers,
  localOffsetMinutes: 480,
};

/** Qwen (DashScope). */
export const dashscope: Provider = {
  slug: "dashscope",
  name: "Qwen (DashScope)",
  kind: "openai-compatible",
  baseUrl: "https://dashscope.aliyuncs.com/compatible-mode/v1",
  hosts: ["dashscope.aliyuncs.com", "dashscope-intl.aliyuncs.com", "dashscope-us.aliyuncs.com"],
  answers: dashscopeAnswers,
  sharedAnswers: openaiCompatibleAnswers,
};

/** SiliconFlow. */
export const siliconflow: Provider = {
  slug: "siliconflow",
  name: "SiliconFlow",
  kind: "openai-compatible",
  baseUrl: "https://api.siliconflow.cn/v1",
  hosts: [".siliconflow.cn", ".siliconflow.com"],
  answers: siliconflowAnswers,
  sharedAnswers: openaiCompatibleAnswers,
};

/** Cohere. */
export const cohere: Provider = {
  slug: "cohere",
  name: "Cohere",
  kind: "openai-compatible",
  baseUrl: "https://api.cohere.com/v2",
  hosts: [".cohere.com", ".cohere.ai"],
  answers: cohereAnswers,
  sharedAnswers: openaiCompatibleAnswers,
};

/** Perplexity. */
export const perplexity: Provider = {
  slug: "perplexity",
  name: "Perplexity",
  kind: "openai-compatible",
  baseUrl: "https://api.perplexity.ai",
  hosts: [".perplexity.ai"],
  answers: perplexityAnswers,
  sharedAnswers: openaiCompatibleAnswers,
};

/** NVIDIA NIM. */
export const nvidia: Provider = {
  slug: "nvidia",
  name: "NVIDIA NIM",
  kind: "openai-compatible",
  baseUrl: "https://integrate.api.nvidia.com/v1",
  hosts: [".api.nvidia.com"],
  answers: nvidiaAnswers,
  sharedAnswers: openaiCompatibleAnswers,
};

/** Cerebras. */
export const cerebras: Provider = {
  slug: "cerebras",
  name: "Cerebras",
  kind: "openai-compatible",
  baseUrl: "https://api.cerebras.ai/v1",
  hosts: [".cerebras.ai"],
  answers: cerebrasAnswers,
  sharedAnswers: openaiCompatibleAnswers,
};

/** Ollama. */
export const ollama: Provider = {
  slug: "ollama",
  name: "Ollama",
  kind: "openai-compatible",
  baseUrl: "http://localhost:11434",
  hosts: [],
  answers: ollamaAnswers,
  sharedAnswers: openaiCompatibleAnswers,
};

/** LM Studio. */
export const lmstudio: Provider = {
  slug: "lmstudio",
  name: "LM Studio",
  kind: "openai-compatible",
  baseUrl: "http://localhost:1234/v1",
  hosts: [],
  answers: [],
  sharedAnswers: openaiCompatibleAnswers,
};

/** vLLM. */
export const vllm: Provider = {
  slug: "vllm",
  name: "vLLM",
  kind: "openai-compatible",
  baseUrl: "http://localhost:8000/v1",
  hosts: [],
  answers: vllmAnswers,
  sharedAnswers: openaiCompatibleAnswers,
};

/** What is told of a provider that has no constant of its own. */
export interface CustomProvider {
  /** For people, in errors. */
  readonly name: string;
  /** `https://llm.example.com/v1`: keys are sent to its host alone. */
  readonly baseURL: string;
  /** Short, for events and as the pool's name; default "custom". */
  readonly slug?: string;
}

/**
 * A server that speaks OpenAI's API.
 *
 * @throws TypeError if `baseURL` is no URL
 */
export function openaiCompatible(custom: CustomProvider): Provider {
  return customProvider("openai-compatible", openaiCompatibleAnswers, custom);
}

/**
 * A server that speaks Anthropic's API; many vendors have it under a path that says so (`https://api.deepseek.com/anthropic`).
 *
 * @param vendor the one whose server it is, if it is known here: its own answers are asked first
 * @throws TypeError if `baseURL` is no URL
 */
export function anthropicCompatible(custom: CustomProvider, vendor?: Provider): Provider {
  const provider = customProvider("anthropic", anthropicAnswers, custom);
  return vendor === undefined ? provider : { ...provider, answers: vendor.answers };
}

function customProvider(
  kind: ProviderKind,
  sharedAnswers: readonly RecognisedAnswer[],
  { name, baseURL, slug = "custom" }: CustomProvider,
): Provider {
  return { slug, name, kind, baseUrl: baseURL, hosts: [], answers: [], sharedAnswers };
}
