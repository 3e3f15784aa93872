import type { ProviderKind } from "../../store/store.ts";

/** What a number of a channel's type stands for, as far as its keys can be sent as they are. */
export interface ChannelType {
  readonly preset?: string;
  readonly kind?: ProviderKind;
  /** Where it is without a base URL of its own; default: the preset's. */
  readonly baseUrl?: string;
  readonly behind?: "/v1" | "/v1beta";
  /** Whether a base URL of its own is the address of one endpoint, with nothing put behind it. */
  readonly isEndpoint?: true;
}

const openai = { preset: "openai", behind: "/v1" } as const;
const custom = { kind: "openai-compatible", behind: "/v1" } as const;
const anthropic = { preset: "anthropic", kind: "anthropic", behind: "/v1" } as const;
const gemini = { preset: "gemini", kind: "gemini", behind: "/v1beta" } as const;
const azure = { preset: "azure", kind: "azure-openai" } as const;
const zhipu = { preset: "zhipu", baseUrl: "https://open.bigmodel.cn/api/paas/v4" } as const;
const dashscope = { preset: "dashscope", baseUrl: "https://dashscope.aliyuncs.com/compatible-mode/v1" } as const;
const doubao = { kind: "openai-compatible", baseUrl: "https://ark.cn-beijing.volces.com/api/v3" } as const;
/** The preset is at the site for the rest of the world, where keys of this one are not known. */
const moonshot = { preset: "moonshot", baseUrl: "https://api.moonshot.cn/v1" } as const;
const lingyi = { ...custom, baseUrl: "https://api.lingyiwanwu.com" } as const;

const at = (baseUrl: string): ChannelType => ({ ...custom, baseUrl });

/** Numbers that both have: of the rest, those of resellers that speak as OpenAI does. */
const shared: Readonly<Record<number, ChannelType>> = {
  1: openai,
  3: azure,
  5: at("https://api.openai-sb.com"),
  6: at("https://api.openaimax.com"),
  7: at("https://api.ohmygpt.com"),
  9: at("https://api.caipacity.com"),
  10: at("https://api.aiproxy.io"),
  12: at("https://api.api2gpt.com"),
  13: at("https://api.aigc2d.com"),
  14: anthropic,
  16: zhipu,
  17: dashscope,
  20: { preset: "openrouter", behind: "/v1" },
  24: gemini,
  25: { ...moonshot, behind: "/v1" },
  31: lingyi,
};

/** @see https://github.com/QuantumNous/new-api constant/channel.go */
export const newApiTypes: Readonly<Record<number, ChannelType>> = {
  ...shared,
  4: { preset: "ollama" },
  8: { ...custom, isEndpoint: true },
  19: at("https://api.360.cn"),
  26: zhipu,
  27: { preset: "perplexity" },
  34: { preset: "cohere" },
  38: at("https://api.jina.ai"),
  40: { preset: "siliconflow", behind: "/v1" },
  42: { preset: "mistral", behind: "/v1" },
  43: { preset: "deepseek", behind: "/v1" },
  45: doubao,
  47: custom,
  48: { preset: "xai", behind: "/v1" },
  53: at("https://llm.submodel.ai"),
};

/** @see https://github.com/songquanpeng/one-api relay/channeltype/define.go */
export const oneApiTypes: Readonly<Record<number, ChannelType>> = {
  ...shared,
  8: custom,
  19: at("https://ai.360.cn"),
  26: at("https://api.baichuan-ai.com"),
  28: { preset: "mistral", behind: "/v1" },
  29: { preset: "groq", behind: "/v1" },
  30: { preset: "ollama" },
  32: at("https://api.stepfun.com"),
  35: { preset: "cohere" },
  36: { preset: "deepseek", behind: "/v1" },
  39: { preset: "together", behind: "/v1" },
  40: doubao,
  41: { kind: "openai-compatible", baseUrl: "https://api.novita.ai/v3/openai" },
  44: { preset: "siliconflow", behind: "/v1" },
  45: { preset: "xai", behind: "/v1" },
  49: dashscope,
  50: { kind: "openai-compatible" },
  51: { kind: "openai-compatible", baseUrl: "https://generativelanguage.googleapis.com/v1beta/openai" },
};
