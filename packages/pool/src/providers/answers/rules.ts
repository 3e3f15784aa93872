import type { AnswerRules } from "../../rules/recognised-answer.ts";
import type { Provider } from "../presets.ts";

/**
 * What is known of the answers of a provider: its own, then those of the API that it speaks.
 *
 * It speaks for itself: of OpenAI's dialect only what is beyond doubt is added, for the same code may mean something else
 * there (DashScope's `insufficient_quota`).
 */
export function answerRulesOf({ answers, sharedAnswers, localOffsetMinutes }: AnswerParts): AnswerRules {
  const all = answers === sharedAnswers ? answers : [...answers, ...sharedAnswers];
  return localOffsetMinutes === undefined ? { answers: all } : { answers: all, localOffsetMinutes };
}

type AnswerParts = Pick<Provider, "answers" | "sharedAnswers" | "localOffsetMinutes">;
