import type { DurationMs, EpochMs } from "./time.ts";
import { parseDecimal, parseGoDuration, parseRfc3339, waitOfBareNumber } from "./wait-formats.ts";

type HeaderOf = (name: string) => string | undefined;

/** One of the budgets that a provider counts, as its headers name it. */
interface Window {
  readonly reset: string;
  /** Tells by itself whether the window is used up; undefined when the answer does not say. */
  readonly exhausted: (header: HeaderOf) => boolean | undefined;
}

const windows: readonly Window[] = [
  // OpenAI, Groq, Azure, OpenRouter, Kimi: x-ratelimit-remaining-tokens. Cerebras counts minute, hour and day apart.
  ...["", "-requests", "-tokens", "-input-tokens", "-output-tokens", "-project-tokens", "-images", "-audio-seconds"]
    .flatMap((budget) => (budget === "" ? [budget] : ["", "-minute", "-hour", "-day"].map((span) => budget + span)))
    .map((name) => counted(`x-ratelimit-reset${name}`, `x-ratelimit-remaining${name}`)),
  counted("ratelimit-reset", "ratelimit-remaining"),
  ...["requests", "tokens", "input-tokens", "output-tokens"].map((budget) =>
    counted(`anthropic-ratelimit-${budget}-reset`, `anthropic-ratelimit-${budget}-remaining`),
  ),
  ...["", "-5h", "-7d"].map((span): Window => ({
    reset: `anthropic-ratelimit-unified${span}-reset`,
    exhausted: (header) => header(`anthropic-ratelimit-unified${span}-status`) === "rejected",
  })),
  ...["primary", "secondary"].map((window): Window => ({
    reset: `x-codex-${window}-reset-after-seconds`,
    exhausted: (header) => (parseDecimal(header(`x-codex-${window}-used-percent`)) ?? 0) >= 100,
  })),
];

function counted(reset: string, remaining: string): Window {
  return {
    reset,
    exhausted: (header) => {
      const left = header(remaining);
      // Azure has been seen to send -1 for "not counted": neither exhausted nor unknown.
      return left === undefined ? undefined : parseDecimal(left) === 0;
    },
  };
}

/**
 * The wait until the last of the exhausted windows opens again. Windows that do not tell whether they are exhausted count
 * only when none says that it is; a window that has something left never counts.
 *
 * @param now the provider's clock
 * @see field cases 5, 6 and 10
 */
export function waitOfWindows(header: HeaderOf, now: EpochMs): DurationMs | undefined {
  let exhaustedMs: DurationMs | undefined;
  let unknownMs: DurationMs | undefined;
  for (const window of windows) {
    const reset = header(window.reset);
    if (reset === undefined) continue;
    const exhausted = window.exhausted(header);
    const waitMs = exhausted === false ? undefined : waitOfReset(reset, now);
    if (waitMs === undefined) continue;
    if (exhausted === true) exhaustedMs = Math.max(exhaustedMs ?? 0, waitMs);
    else unknownMs = Math.max(unknownMs ?? 0, waitMs);
  }
  return exhaustedMs ?? unknownMs;
}

function waitOfReset(text: string, now: EpochMs): DurationMs | undefined {
  const bare = parseDecimal(text);
  if (bare !== undefined) return waitOfBareNumber(bare, now);
  const at = parseRfc3339(text);
  return at === undefined ? parseGoDuration(text) : at - now;
}
