import { describe, expect, it } from "vitest";
import {
  anAnswer,
  type ProviderAnswer,
  providerAnswers,
  toExpectedVerdict,
} from "../../../testkit/src/provider-answers.ts";
import { type AnswerKind, type AnswerPreset, answerRulesFor } from "../providers/answers/index.ts";
import { judge } from "./judge.ts";
import type { AnswerRules } from "./recognised-answer.ts";

const plain = providerAnswers.filter((answer) => answer.sse === undefined);

describe("the recorded answers of providers", () => {
  it.each(plain.map((answer) => [answer.id, answer] as const))("judges %s", (_, answer) => {
    const verdict = judge(
      anAnswer({ status: answer.status, headers: answer.headers, body: answer.body ?? "" }),
      rulesOf(answer),
    );

    const { reason: _reason, ...expected } = answer.expect;
    expect(toExpectedVerdict(verdict)).toEqual(expected);
  });
});

function rulesOf({ provider }: ProviderAnswer): AnswerRules {
  return answerRulesFor(kindOf(provider), provider === "any" ? null : (provider as AnswerPreset));
}

function kindOf(provider: string): AnswerKind {
  if (provider === "azure") return "azure-openai";
  return provider === "openai" || provider === "anthropic" || provider === "gemini" ? provider : "openai-compatible";
}
