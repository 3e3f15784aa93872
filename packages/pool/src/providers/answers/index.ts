import type { AnswerRules, RecognisedAnswer } from "../../rules/recognised-answer.ts";
import { anthropicAnswers } from "./anthropic.ts";
import { azureAnswers } from "./azure.ts";
import {
  dashscopeAnswers,
  deepseekAnswers,
  moonshotAnswers,
  siliconflowAnswers,
  zhipuAnswers,
} from "./chinese-clouds.ts";
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
} from "./clouds.ts";
import { geminiAnswers } from "./gemini.ts";
import { openaiAnswers, openaiCompatibleAnswers } from "./openai.ts";
import { openrouterAnswers } from "./routers.ts";

/** A provider whose dialect of errors, hints and limits is known. */
export type AnswerPreset =
  | "openai"
  | "anthropic"
  | "gemini"
  | "azure"
  | "openrouter"
  | "deepseek"
  | "mistral"
  | "groq"
  | "xai"
  | "together"
  | "fireworks"
  | "moonshot"
  | "zhipu"
  | "dashscope"
  | "siliconflow"
  | "cohere"
  | "perplexity"
  | "nvidia"
  | "cerebras"
  | "ollama"
  | "lmstudio"
  | "vllm";

/** An API that is spoken. */
export type AnswerKind = "openai" | "anthropic" | "gemini" | "azure-openai" | "openai-compatible";

const answersOfPreset: Readonly<Record<AnswerPreset, readonly RecognisedAnswer[]>> = {
  openai: openaiAnswers,
  anthropic: anthropicAnswers,
  gemini: geminiAnswers,
  azure: azureAnswers,
  openrouter: openrouterAnswers,
  deepseek: deepseekAnswers,
  mistral: mistralAnswers,
  groq: groqAnswers,
  xai: xaiAnswers,
  together: togetherAnswers,
  fireworks: fireworksAnswers,
  moonshot: moonshotAnswers,
  zhipu: zhipuAnswers,
  dashscope: dashscopeAnswers,
  siliconflow: siliconflowAnswers,
  cohere: cohereAnswers,
  perplexity: perplexityAnswers,
  nvidia: nvidiaAnswers,
  cerebras: cerebrasAnswers,
  ollama: ollamaAnswers,
  lmstudio: [],
  vllm: vllmAnswers,
};

const answersOfKind: Readonly<Record<AnswerKind, readonly RecognisedAnswer[]>> = {
  openai: openaiAnswers,
  anthropic: anthropicAnswers,
  gemini: geminiAnswers,
  "azure-openai": azureAnswers,
  "openai-compatible": openaiCompatibleAnswers,
};

/** Beijing. */
const chinaOffsetMinutes = 480;

/**
 * What is known of the answers of a provider: those of its preset, then the shapes that the API it speaks brings along.
 *
 * A preset speaks for itself: of OpenAI's dialect only what is beyond doubt is added, for the same code may mean something
 * else there (DashScope's `insufficient_quota`).
 *
 * @param preset null: the kind's own shapes over the base rule
 */
export function answerRulesFor(kind: AnswerKind, preset: AnswerPreset | null): AnswerRules {
  if (preset === null) return { answers: answersOfKind[kind] };
  const own = answersOfPreset[preset];
  const shapes = kind === "anthropic" || kind === "gemini" ? answersOfKind[kind] : openaiCompatibleAnswers;
  const answers = shapes === own ? own : [...own, ...shapes];
  return preset === "zhipu" ? { answers, localOffsetMinutes: chinaOffsetMinutes } : { answers };
}
