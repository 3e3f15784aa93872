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
import { type StreamEnd, StreamObserver } from "./stream-opening.ts";
import { bytesReading } from "./stream-bytes.ts";

describe("the recorded answers of providers", () => {
  it.each(providerAnswers.map((answer) => [answer.id, answer] as const))("judges %s", (_, answer) => {
    const { status, bodyText, isMidway } = bodyOf(answer);

    const verdict = judge(anAnswer({ status, headers: answer.headers, body: bodyText }), rulesOf(answer));

    const { reason: _reason, ...expected } = answer.expect;
    expect(toExpectedVerdict(verdict, { isMidway })).toEqual(expected);
  });
});

interface Seen {
  readonly status: number;
  readonly bodyText: string;
  readonly isMidway: boolean;
}

/** The answer as a transport sees it: the body of a 200 is watched, and only an error in it is judged. */
function bodyOf(answer: ProviderAnswer): Seen {
  const text = typeof answer.body === "string" ? answer.body : JSON.stringify(answer.body ?? "");
  if (answer.status !== 200) return { status: answer.status, bodyText: text, isMidway: false };
  const observer = new StreamObserver({ reading: bytesReading, contentType: answer.headers["content-type"] });
  for (const chunk of answer.sse ?? [text]) observer.push(new TextEncoder().encode(chunk));
  return seenOf(observer.opening === "content", observer.end());
}

function seenOf(isMidway: boolean, end: StreamEnd): Seen {
  switch (end.kind) {
    case "completed":
      return { status: 200, bodyText: "", isMidway };
    case "failed":
      return { status: 200, bodyText: end.errorText, isMidway };
    case "truncated":
      // As good as no answer.
      return { status: 0, bodyText: "", isMidway };
  }
}

function rulesOf({ provider }: ProviderAnswer): AnswerRules {
  return answerRulesFor(kindOf(provider), provider === "any" ? null : (provider as AnswerPreset));
}

function kindOf(provider: string): AnswerKind {
  if (provider === "azure") return "azure-openai";
  return provider === "openai" || provider === "anthropic" || provider === "gemini" ? provider : "openai-compatible";
}
