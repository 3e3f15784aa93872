import type { AnswerRules, RecognisedAnswer } from "../../rules/recognised-answer.ts";
import type { ProviderKind } from "../kinds.ts";
import * as presets from "../presets.ts";
import type { Provider } from "../presets.ts";
import { anthropicAnswers } from "./anthropic.ts";
import { azureAnswers } from "./azure.ts";
import { geminiAnswers } from "./gemini.ts";
import { openaiAnswers, openaiCompatibleAnswers } from "./openai.ts";
import { answerRulesOf } from "./rules.ts";

/** A provider whose dialect of errors, hints and limits is known. */
export type AnswerPreset = Exclude<keyof typeof presets, "openaiCompatible" | "anthropicCompatible">;

/** An API that is spoken. */
export type AnswerKind = ProviderKind;

const presetOfSlug: Readonly<Record<AnswerPreset, Provider>> = presets;

const answersOfKind: Readonly<Record<AnswerKind, readonly RecognisedAnswer[]>> = {
  openai: openaiAnswers,
  anthropic: anthropicAnswers,
  gemini: geminiAnswers,
  "azure-openai": azureAnswers,
  "openai-compatible": openaiCompatibleAnswers,
};

/**
 * What is known of the answers of a provider: those of its preset, then the shapes that the API it speaks brings along.
 *
 * @param preset null: the kind's own shapes over the base rule
 */
export function answerRulesFor(kind: AnswerKind, preset: AnswerPreset | null): AnswerRules {
  if (preset === null) return { answers: answersOfKind[kind] };
  const shapes = kind === "anthropic" || kind === "gemini" ? answersOfKind[kind] : openaiCompatibleAnswers;
  return answerRulesOf({ ...presetOfSlug[preset], sharedAnswers: shapes });
}
