import { type AnswerPreset, answerRulesFor, judge, type JudgedAnswer, type Verdict } from "@keywheel/pool";
import type { ProviderRecord } from "../store/store.ts";

type Judge = (answer: JudgedAnswer) => Verdict;

const judges = new Map<string, Judge>();

/** The judgement of a provider's answers, by the dialect that it speaks. */
export function judgeFor({ kind, preset }: Pick<ProviderRecord, "kind" | "preset">): Judge {
  const id = `${kind} ${preset ?? ""}`;
  const known = judges.get(id);
  if (known !== undefined) return known;
  // What is stored was validated on entry against the same list of presets.
  const rules = answerRulesFor(kind, preset as AnswerPreset | null);
  const made: Judge = (answer) => judge(answer, rules);
  judges.set(id, made);
  return made;
}
