import type { TFunction } from "i18next";
import type { Attempt, Request } from "../../api/openapi.ts";
import { keyInSentence } from "../../parts/key-name.ts";
import { outcomeLabel, ownErrorLabel, ownErrorText } from "../../parts/outcomes.ts";

export type Tone = "good" | "bad" | "neutral";

/** How a request ended, for its colour and sign. */
export function toneOf({ status, ending }: Pick<Request, "status" | "ending">): Tone {
  if (ending === "gone") return "neutral";
  return status >= 400 || ending !== "completed" ? "bad" : "good";
}

/** How a request ended, in a word or two beside its status; empty where the status says it all. */
export function endingLabel({ ending, error, attempts, status }: Request, t: TFunction): string {
  switch (ending) {
    case "truncated":
      return t("activity.endingTruncated");
    case "failed":
      return t("activity.endingFailed");
    case "gone":
      return t("activity.endingGone");
    case "completed": {
      if (error !== null) return isAboutKeys(error) ? t("activity.noneLeft") : ownErrorLabel(error, t);
      const last = attempts.at(-1);
      return status >= 400 && last ? outcomeLabel(last.outcome, t) : "";
    }
  }
}

/** Only these errors of the gateway's own are about keys. */
export function isAboutKeys(error: string | null): boolean {
  return error === "pool_exhausted" || error === "no_usable_key";
}

export function toneOfAttempt({ outcome }: Pick<Attempt, "outcome">): Tone {
  if (outcome === "succeeded") return "good";
  return outcome === "client_gone" ? "neutral" : "bad";
}

/** What happened to a request, in one sentence. */
export function inShort(request: Request, t: TFunction): string {
  const { attempts, ending, error, key_id: keyId, status } = request;
  const last = attempts.at(-1);
  if (ending === "gone") return t("activity.inShortGone");
  if (error !== null) {
    return isAboutKeys(error)
      ? t("activity.inShortNobody")
      : t("activity.inShortOwnError", { error: ownErrorText(error, t) });
  }
  if (keyId === "provider") return t("activity.inShortOwnKey");
  if (last === undefined) return t("activity.inShortUnanswered");
  const name = keyInSentence(last, t);
  if (status >= 400) return t("activity.inShortPassed", { name, outcome: outcomeLabel(last.outcome, t) });
  const [first, second] = attempts;
  if (second === undefined || first === undefined) return t("activity.inShortServed", { name });
  if (attempts.length > 2) return t("activity.inShortAfter", { name, count: attempts.length - 1 });
  return t("activity.inShortAfterOne", {
    name,
    failed: keyInSentence(first, t),
    outcome: outcomeLabel(first.outcome, t),
  });
}

/** Why an attempt had the key that it had. */
export function whyText({ why }: Attempt, place: number, t: TFunction): string {
  switch (why) {
    case "session":
      return t("activity.whySession");
    case "continuation":
      return t("activity.whyContinuation");
    case "pin":
      return t("activity.whyPin");
    case "turn":
      return place === 0 ? t("activity.whyTurn") : t("activity.chosenAgain");
  }
}

/** The same in a word or two. */
export function whyShort({ why }: Attempt, t: TFunction): string {
  switch (why) {
    case "session":
      return t("activity.whyShortSession");
    case "continuation":
      return t("activity.whyShortContinuation");
    case "pin":
      return t("activity.whyShortPin");
    case "turn":
      return t("activity.whyShortTurn");
  }
}

/** How the pool stood when no key was left, as the parts of a sentence. */
export function standingParts(standing: NonNullable<Request["standing"]>, t: TFunction): readonly string[] {
  const { resting, disabled, unresolved, tried } = standing;
  return [
    ...(resting > 0 ? [t("activity.standingResting", { count: resting })] : []),
    ...(disabled > 0 ? [t("activity.standingDisabled", { count: disabled })] : []),
    ...(unresolved > 0 ? [t("activity.standingUnresolved", { count: unresolved })] : []),
    ...(tried > 0 ? [t("activity.standingTried", { count: tried })] : []),
  ];
}

/** What the answer told of tokens, as short as a cell. @param write how a number of tokens is written */
export function tokenParts(
  usage: NonNullable<Request["usage"]>,
  write: (tokens: number) => string,
  t: TFunction,
): readonly string[] {
  const { input_tokens: input, cache_read_tokens: read, cache_write_tokens: written, output_tokens: output } = usage;
  return [
    t("activity.input", { tokens: write(input + read + written) }),
    ...(read > 0 ? [t("activity.cached", { tokens: write(read) })] : []),
    ...(written > 0 ? [t("activity.written", { tokens: write(written) })] : []),
    t("activity.output", { tokens: write(output) }),
  ];
}
