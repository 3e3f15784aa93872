import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { anAnswer } from "../../../testkit/src/provider-answers.ts";
import { readErrorFacts } from "./error-facts.ts";
import { waitHintMs } from "./wait-hint.ts";

const now = Date.UTC(2026, 5, 8, 20, 0, 0);
const nowAsDate = "Mon, 08 Jun 2026 20:00:00 GMT";

interface Stated {
  readonly headers?: Record<string, string>;
  readonly body?: unknown;
  readonly receivedAt?: number;
}

function hintOf({ headers = {}, body = "", receivedAt = now }: Stated): number | undefined {
  const answer = anAnswer({ status: 429, headers, body, receivedAt });
  return waitHintMs(answer, readErrorFacts(answer));
}

function said(message: string): Stated {
  return { body: { error: { message } } };
}

describe("case 1: a wait in seconds", () => {
  it.each([
    ["300", 300_000],
    ["5", 5_000],
    ["0.25", 250],
    [" 7 ", 7_000],
    ["30, 60", 30_000],
    ["0", undefined],
    ["-5", undefined],
    ["NaN", undefined],
    ["1e3", undefined],
    ["soon", undefined],
    ["", undefined],
    ["99999999999", undefined],
    ["2678400", 2_678_400_000],
    ["2678401", undefined],
  ])("reads retry-after: %j", (value, expected) => {
    expect(hintOf({ headers: { "Retry-After": value } })).toBe(expected);
  });
});

describe("case 3: a wait as a date", () => {
  it.each([
    [
      "is measured against the provider's own clock",
      "Mon, 08 Jun 2026 20:10:00 GMT",
      "Mon, 08 Jun 2026 20:12:00 GMT",
      120_000,
    ],
    ["is no hint in the past", nowAsDate, "Wed, 21 Oct 2015 07:28:00 GMT", undefined],
    [
      "is measured against ours when the provider's is nonsense",
      "Thu, 01 Jan 1970 00:00:00 GMT",
      "Mon, 08 Jun 2026 20:01:30 GMT",
      90_000,
    ],
    ["is measured against ours when there is none", "", "Mon, 08 Jun 2026 20:01:30 GMT", 90_000],
    ["comes in RFC 850 form", nowAsDate, "Monday, 08-Jun-26 20:01:30 GMT", 90_000],
    ["comes in asctime form", nowAsDate, "Mon Jun  8 20:01:30 2026", 90_000],
    ["is no hint in another zone", nowAsDate, "Mon, 08 Jun 2026 20:01:30 +0200", undefined],
  ])("%s", (_, date, retryAfter, expected) => {
    expect(hintOf({ headers: { date, "retry-after": retryAfter } })).toBe(expected);
  });
});

describe("case 4: a wait in milliseconds", () => {
  it.each([
    ["alone", { "retry-after-ms": "250000" }, 250_000],
    ["before whole seconds", { "retry-after-ms": "1500", "retry-after": "2" }, 1_500],
    ["with a fraction, rounded up", { "retry-after-ms": "643.2" }, 644],
    ["never read as seconds however small", { "retry-after-ms": "3" }, 3],
    ["as nonsense, so that the seconds count", { "retry-after-ms": "-1", "retry-after": "2" }, 2_000],
  ])("is read %s", (_, headers, expected) => {
    expect(hintOf({ headers })).toBe(expected);
  });
});

describe("case 5: OpenAI's two budgets", () => {
  it.each([
    ["6m0s", 360_000],
    ["1h30m0s", 5_400_000],
    ["20ms", 20],
    ["1s", 1_000],
    ["7m12.5s", 432_500],
    ["2m59.56s", 179_560],
    ["1.5us", 1],
    ["38", 38_000],
    ["6m0s!", undefined],
    ["m", undefined],
    ["5 parsecs", undefined],
    ["1d", 86_400_000],
  ])("reads the duration %j as a whole", (value, expected) => {
    expect(hintOf({ headers: { "x-ratelimit-reset-requests": value } })).toBe(expected);
  });

  const both = { "x-ratelimit-reset-requests": "6m0s", "x-ratelimit-reset-tokens": "1h30m0s" };
  it.each([
    ["the exhausted one", { "x-ratelimit-remaining-requests": "0", "x-ratelimit-remaining-tokens": "149984" }, 360_000],
    ["the exhausted one, though the other does not tell", { "x-ratelimit-remaining-requests": "0" }, 360_000],
    [
      "the later of two exhausted ones",
      { "x-ratelimit-remaining-requests": "0", "x-ratelimit-remaining-tokens": "0" },
      5_400_000,
    ],
    ["the larger when neither tells", {}, 5_400_000],
    [
      "none when both have something left",
      { "x-ratelimit-remaining-requests": "1", "x-ratelimit-remaining-tokens": "9" },
      undefined,
    ],
    [
      "none that is not counted",
      { "x-ratelimit-remaining-requests": "-1", "x-ratelimit-remaining-tokens": "-1" },
      undefined,
    ],
  ])("uses %s", (_, remaining, expected) => {
    expect(hintOf({ headers: { ...both, ...remaining } })).toBe(expected);
  });
});

describe("case 6: one header name, three meanings", () => {
  const reset = now + 90_000;
  it.each([
    ["epoch milliseconds", { "x-ratelimit-reset": String(reset) }, 90_000],
    ["epoch seconds", { "x-ratelimit-reset": String(reset / 1000) }, 90_000],
    ["seconds from now", { "x-ratelimit-reset": "90" }, 90_000],
    ["RFC 3339", { "anthropic-ratelimit-requests-reset": "2026-06-08T20:01:30Z" }, 90_000],
    ["RFC 3339 with an offset", { "anthropic-ratelimit-requests-reset": "2026-06-08T22:01:30+02:00" }, 90_000],
    ["an epoch that is past", { "x-ratelimit-reset": String(now - 1) }, undefined],
    ["an epoch in years", { "x-ratelimit-reset": String(now + 1e12) }, undefined],
    ["nothing between seconds and epochs", { "x-ratelimit-reset": "99999999" }, undefined],
  ])("reads %s", (_, headers, expected) => {
    expect(hintOf({ headers })).toBe(expected);
  });

  it("reads OpenRouter's headers inside the body", () => {
    const headers = { "X-RateLimit-Limit": "10", "X-RateLimit-Remaining": "0", "X-RateLimit-Reset": String(reset) };

    expect(hintOf({ body: { error: { code: 429, metadata: { headers } } } })).toBe(90_000);
  });
});

describe("case 7: Gemini's waits in the body", () => {
  const retryInfo = { "@type": "type.googleapis.com/google.rpc.RetryInfo" };
  it.each([
    ["a delay with a fraction", [{ ...retryInfo, retryDelay: "45.837906927s" }], 45_838],
    ["a delay in milliseconds", [{ ...retryInfo, retryDelay: "900ms" }], 900],
    ["a delay as an object", [{ ...retryInfo, retryDelay: { seconds: "3", nanos: 500_000_000 } }], 3_500],
    ["no delay in nought", [{ ...retryInfo, retryDelay: "0s" }], undefined],
    ["a reset delay", [{ metadata: { quotaResetDelay: "373.801628ms" } }], 374],
    ["nothing strange", [{ ...retryInfo, retryDelay: ["x"] }, null, 7], undefined],
  ])("holds %s", (_, details, expected) => {
    expect(hintOf({ body: { error: { code: 429, details } } })).toBe(expected);
    expect(hintOf({ body: [{ error: { code: 429, details } }] })).toBe(expected);
  });

  it("is told in prose only", () => {
    expect(hintOf(said("Please retry in 10h17m5.7s."))).toBe(37_025_700);
  });
});

describe("case 9: a wait of days", () => {
  it("is passed on as stated, for the cap to cut", () => {
    expect(hintOf({ headers: { "retry-after": "518400" } })).toBe(518_400_000);
  });
});

describe("case 10: windows that are not exhausted", () => {
  it.each([
    ["something remains", { "x-ratelimit-remaining-tokens": "57", "x-ratelimit-reset-tokens": "432000" }, undefined],
    [
      "a share is used",
      { "x-codex-primary-used-percent": "41", "x-codex-primary-reset-after-seconds": "432000" },
      undefined,
    ],
    [
      "all is used",
      { "x-codex-primary-used-percent": "100", "x-codex-primary-reset-after-seconds": "432000" },
      432_000_000,
    ],
    [
      "a plan's window is open",
      { "anthropic-ratelimit-unified-status": "allowed", "anthropic-ratelimit-unified-reset": "1780954200" },
      undefined,
    ],
    [
      "only the short window is rejected",
      {
        "anthropic-ratelimit-unified-5h-status": "rejected",
        "anthropic-ratelimit-unified-5h-reset": "1780952400",
        "anthropic-ratelimit-unified-7d-status": "allowed",
        "anthropic-ratelimit-unified-7d-reset": "1781550000",
      },
      3_600_000,
    ],
  ])("count as they say when %s", (_, headers, expected) => {
    expect(hintOf({ headers: { date: nowAsDate, ...headers } })).toBe(expected);
  });
});

describe("prose", () => {
  it.each([
    ["Please try again in 644ms.", 644],
    ["Please try again in 4.77s. Visit https://example.com", 4_770],
    ["Please try again in 9m38.016s.", 578_016],
    ["Please retry after 38 seconds.", 38_000],
    ["try again after 1 seconds", 1_000],
    ["Please wait 43 seconds before retrying.", 43_000],
    ["Your quota will reset after 18h14m35s.", 65_675_000],
    ["Please try again in 6 minutes", 360_000],
    ["You will regain access on 2026-07-01 at 00:00 UTC.", 1_915_200_000],
    ["You will regain access on 2026-06-09.", 14_400_000],
    ["Please reduce your message size and try again.", undefined],
    ["Please try again in a moment", undefined],
    ["Retry after 40", undefined],
    ["reset at 2026-06-09 06:30:00", undefined],
  ])("reads %j", (message, expected) => {
    expect(hintOf(said(message))).toBe(expected);
  });

  it("reads a bare local time only where the zone is known", () => {
    const answer = anAnswer({ status: 429, receivedAt: now, ...said("您的限额将在 2026-06-09 06:30:00 重置。") });

    expect(waitHintMs(answer, readErrorFacts(answer), "stated", 480)).toBe(9_000_000);
  });
});

describe("other fields", () => {
  it.each([
    ["ChatGPT's seconds", { resets_in_seconds: 7200, resets_at: 1 }, 7_200_000],
    ["ChatGPT's instant", { resets_at: now / 1000 + 7200 }, 7_200_000],
    ["OpenRouter's availability", { availability: { retry_after: 40 } }, 40_000],
    ["Cerebras' bare seconds", {}, 11_382],
  ])("reads %s", (_, error, expected) => {
    const headers = { "x-ratelimit-remaining-tokens-minute": "0", "x-ratelimit-reset-tokens-minute": "11.3818" };

    expect(hintOf({ headers, body: { error } })).toBe(expected);
  });

  it("believes headers before the body, the body before windows, and windows before prose", () => {
    const body = { error: { message: "try again in 4s", retry_after: 2 } };
    const windows = { "x-ratelimit-reset-tokens": "3s" };

    expect(hintOf({ headers: { "retry-after": "1", ...windows }, body })).toBe(1_000);
    expect(hintOf({ headers: windows, body })).toBe(2_000);
    expect(hintOf({ headers: windows, ...said("try again in 4s") })).toBe(3_000);
    expect(hintOf(said("try again in 4s"))).toBe(4_000);
  });
});

describe("any answer", () => {
  it("has a whole, positive hint of at most 31 days, or none", () => {
    const value = fc.oneof(
      fc.string(),
      fc.double().map(String),
      fc.integer().map(String),
      fc.integer({ min: 0, max: 3e12 }).map(String),
      fc.array(fc.constantFrom("1", "h", "m", "s", "ms", ".", "5", " ")).map((parts) => parts.join("")),
      fc.date().map((date) => (Number.isNaN(date.getTime()) ? "" : date.toUTCString())),
      fc.date().map((date) => (Number.isNaN(date.getTime()) ? "" : date.toISOString())),
    );
    const name = fc.constantFrom(
      "retry-after",
      "retry-after-ms",
      "date",
      "x-ratelimit-reset",
      "x-ratelimit-reset-tokens",
      "x-ratelimit-remaining-tokens",
      "anthropic-ratelimit-tokens-reset",
    );
    fc.assert(
      fc.property(fc.dictionary(name, value), value, value, (headers, text, delay) => {
        const body = { error: { message: `try again in ${text}`, details: [{ retryDelay: delay }], resets_at: delay } };

        const hint = hintOf({ headers, body }) ?? 1;

        expect(Number.isInteger(hint)).toBe(true);
        expect(hint).toBeGreaterThan(0);
        expect(hint).toBeLessThanOrEqual(31 * 86_400_000);
      }),
      { numRuns: 500 },
    );
  });
});
