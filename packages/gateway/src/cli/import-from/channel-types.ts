import type { ProviderKind } from "../../store/store.ts";

/** What a number of a channel's type stands for, as far as its keys can be sent as they are. */
export interface ChannelType {
  readonly preset?: string;
  readonly kind?: ProviderKind;
  /** Where it is without a base URL of its own; default: the preset's. */
  readonly baseUrl?: string;
  readonly behind?: "/v1" | "/v1beta";
}

const openai = { preset: "openai", behind: "/v1" } as const;
const custom = { kind: "openai-compatible", behind: "/v1" } as const;
const anthropic = { preset: "anthropic", kind: "anthropic", behind: "/v1" } as const;
const gemini = { preset: "gemini", kind: "gemini", behind: "/v1beta" } as const;
const azure = { preset: "azure", kind: "azure-openai" } as const;
const zhipu = { preset: "zhipu", baseUrl: "https://open.bigmodel.cn/api/paas/v4" } as const;
const dashscope = { preset: "dashscope", baseUrl: "https://dashscope.aliyuncs.com/compatible-mode/v1" } as const;
const doubao = { kind: "openai-compatible", baseUrl: "https://ark.cn-beijing.volces.com/api/v3" } as const;
const lingyi = { ...custom, baseUrl: "https://api.lingyiwanwu.com" } as const;

/** Numbers that both have. */
const shared: Readonly<Record<number, ChannelType>> = {
  1: openai,
  3: azure,
  8: custom,
  14: anthropic,
  16: zhipu,
  17: dashscope,
  20: { preset: "openrouter", behind: "/v1" },
  24: gemini,
  25: { preset: "moonshot", behind: "/v1" },
  31: lingyi,
};

/** @see https://github.com/QuantumNous/new-api constant/channel.go */
export const newApiTypes: Readonly<Record<number, ChannelType>> = {
  ...shared,
  4: { preset: "ollama" },
  26: zhipu,
  27: { preset: "perplexity" },
  34: { preset: "cohere" },
  40: { preset: "siliconflow", behind: "/v1" },
  42: { preset: "mistral", behind: "/v1" },
  43: { preset: "deepseek", behind: "/v1" },
  45: doubao,
  48: { preset: "xai", behind: "/v1" },
};

/** @see https://github.com/songquanpeng/one-api relay/channeltype/define.go */
export const oneApiTypes: Readonly<Record<number, ChannelType>> = {
  ...shared,
  28: { preset: "mistral", behind: "/v1" },
  29: { preset: "groq", behind: "/v1" },
  30: { preset: "ollama" },
  35: { preset: "cohere" },
  36: { preset: "deepseek", behind: "/v1" },
  39: { preset: "together", behind: "/v1" },
  40: doubao,
};
