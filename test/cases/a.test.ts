import {
  anthropicError,
  geminiError,
  openAiError,
  reply,
  runGateway,
  type RunningGateway,
  type ScriptedKind,
} from "@keywheel/testkit";
import { beforeAll, describe, expect, it } from "vitest";
import { poolOf } from "../pooled-provider.ts";
import { afterAnswer, restMsOf } from "./observed.ts";

let gateway: RunningGateway;
beforeAll(async () => {
  gateway = await runGateway();
  return () => gateway[Symbol.asyncDispose]();
});

const minuteMs = 60_000;
/** A cap that no wait of these cases reaches, to see what was read. */
const uncapped = { cooldown: { base_ms: 100, cap_ms: 86_400_000 } };

function limited(headers: Record<string, string>, body: object = {}) {
  return reply.json(429, headers, body);
}

describe("A. 429 with a hint about how long to wait", () => {
  it.each([
    ["longer than the ladder, extends", { "Retry-After": "300" }, 300_000, "stated"],
    ["in any case of letters", { "RETRY-AFTER": "300" }, 300_000, "stated"],
    ["shorter, does not shorten", { "Retry-After": "5" }, minuteMs, "ladder"],
    ["of nought", { "Retry-After": "0" }, minuteMs, "ladder"],
    ["negative", { "Retry-After": "-300" }, minuteMs, "ladder"],
    ["that is no number", { "Retry-After": "soon" }, minuteMs, "ladder"],
    ["of centuries", { "Retry-After": "99999999999" }, minuteMs, "ladder"],
  ])("case 1: a wait in the answer %s: the key that earned it rests, no other", async (_, headers, restMs, wait) => {
    const after = await afterAnswer(gateway, limited(headers));

    expect([after.status, after.picks]).toEqual([200, "AB"]);
    expect([after.restMs, after.key.status_reason?.wait]).toEqual([restMs, wait]);
    expect(after.others).toMatchObject([{ status: "available", consecutive_failures: 0 }]);
  });

  it("case 1: one key's wait is not the next one's", async () => {
    await using pool = await poolOf(gateway, { weights: [1, 1, 1] });
    pool.provider.forKey(pool.valueOf("A")).next(limited({ "retry-after": "300" }));
    pool.provider.forKey(pool.valueOf("B")).next(limited({}));

    await pool.turns(1);

    expect((await gateway.keys(pool.record)).slice(0, 2).map(restMsOf)).toEqual([300_000, minuteMs]);
  });

  it.each([
    ["two minutes after a `Date` that is ten minutes ahead", 600_000, 120_000, 120_000],
    ["two minutes after a `Date` that is ten minutes behind", -600_000, 120_000, 120_000],
    ["before its own `Date`", 0, -120_000, minuteMs],
    ["before a `Date` ahead of our clock, though after our clock", 600_000, -120_000, minuteMs],
  ])("case 3: a date %s", async (_, skewMs, waitMs, restMs) => {
    const now = Math.floor(Date.now() / 1000) * 1000 + skewMs;
    const date = new Date(now).toUTCString();

    const after = await afterAnswer(gateway, limited({ date, "retry-after": new Date(now + waitMs).toUTCString() }));

    expect([after.status, after.restMs]).toEqual([200, restMs]);
  });

  it("case 3: a date years ago is no hint", async () => {
    const after = await afterAnswer(gateway, limited({ "retry-after": "Wed, 21 Oct 2015 07:28:00 GMT" }));

    expect([after.status, after.restMs, after.key.status_reason?.wait]).toEqual([200, minuteMs, "ladder"]);
  });

  it.each([
    ["without a `Date`", ""],
    ["with a `Date` that no clock shows", "date: Thu, 01 Jan 1970 00:00:00 GMT\r\n"],
  ])("case 3: %s our own clock has to do", async (_, date) => {
    const answer = reply.by(() => {
      const until = new Date(Date.now() + 300_000).toUTCString();
      const head = `HTTP/1.1 429 Slow\r\n${date}retry-after: ${until}\r\nconnection: close\r\n`;
      return reply.raw([`${head}content-length: 0\r\n\r\n`], { end: "fin" });
    });

    const { restMs } = await afterAnswer(gateway, answer);

    expect(restMs).toBeGreaterThan(295_000);
    expect(restMs).toBeLessThanOrEqual(300_000);
  });

  it.each([
    ["alone", { "retry-after-ms": "250000" }, 250_000],
    ["before seconds that disagree", { "retry-after-ms": "250000", "retry-after": "2" }, 250_000],
    ["with seconds that say the same less exactly", { "retry-after-ms": "1500", "retry-after": "2" }, 1_500],
    ["small, not taken for seconds", { "retry-after-ms": "150" }, 150],
    ["that are none: the seconds count", { "retry-after-ms": "soon", "retry-after": "2" }, 2_000],
  ])("case 4: milliseconds %s", async (_, headers, restMs) => {
    const after = await afterAnswer(gateway, limited(headers), { settings: uncapped });

    expect([after.status, after.restMs]).toEqual([200, restMs]);
  });

  it("case 4: what the gateway tells its own client is rounded up to whole seconds", async () => {
    const after = await afterAnswer(gateway, limited({ "retry-after-ms": "1500" }), {
      weights: [1],
      settings: uncapped,
    });

    expect([after.status, after.headers.get("retry-after")]).toEqual([429, "2"]);
  });

  it.each([
    ["6m0s", "1h30m0s", "0", "5", 360_000],
    ["6m0s", "1h30m0s", "5", "0", 5_400_000],
    ["6m0s", "1h30m0s", undefined, undefined, 5_400_000],
    ["7m12.5s", "1s", "0", "0", 432_500],
    ["20ms", "1s", "0", "5", 100],
    ["1s", "20ms", "0", "5", 1_000],
    ["1s elevenish", "1m nonsense", "0", "0", 100],
  ])(
    "case 5: resets of %s for requests and %s for tokens, with %s and %s left",
    async (requests, tokens, requestsLeft, tokensLeft, restMs) => {
      const headers = {
        "x-ratelimit-reset-requests": requests,
        "x-ratelimit-reset-tokens": tokens,
        ...(requestsLeft === undefined ? {} : { "x-ratelimit-remaining-requests": requestsLeft }),
        ...(tokensLeft === undefined ? {} : { "x-ratelimit-remaining-tokens": tokensLeft }),
      };

      expect((await afterAnswer(gateway, limited(headers), { settings: uncapped })).restMs).toBe(restMs);
    },
  );

  it.each([200, 400, 500])("case 5: the same headers on a %i cool nothing", async (status) => {
    const headers = { "x-ratelimit-reset-requests": "6m0s", "x-ratelimit-remaining-requests": "0" };

    const after = await afterAnswer(gateway, reply.json(status, headers, { id: "x" }));

    expect([after.status, after.picks, after.headers.get("x-ratelimit-reset-requests")]).toEqual([status, "A", "6m0s"]);
    expect(after.key).toMatchObject({ status: "available", cooldown_until: null, consecutive_failures: 0 });
  });

  /** 90 s from now, in every spelling that was met. */
  const spellings: [string, ScriptedKind, () => ReturnType<typeof limited>][] = [
    ["milliseconds of the epoch", "openai", () => limited({ "x-ratelimit-reset": String(Date.now() + 90_000) })],
    [
      "seconds of the epoch",
      "openai",
      () => limited({ "x-ratelimit-reset": String(Math.round(Date.now() / 1000) + 90) }),
    ],
    ["seconds from now", "openai", () => limited({ "x-ratelimit-reset": "90" })],
    [
      "a date of RFC 3339",
      "anthropic",
      () =>
        limited({
          "anthropic-ratelimit-requests-remaining": "0",
          "anthropic-ratelimit-requests-reset": new Date(Date.now() + 90_000).toISOString().replace(/\.\d+/, ""),
        }),
    ],
    [
      "milliseconds of the epoch among headers in the body",
      "openai-compatible",
      () =>
        limited(
          {},
          {
            error: {
              code: 429,
              message: "Rate limit exceeded",
              metadata: { headers: { "X-RateLimit-Remaining": "0", "X-RateLimit-Reset": String(Date.now() + 90_000) } },
            },
          },
        ),
    ],
  ];
  it.each(spellings)("case 6: a reset in 90 s told as %s", async (_, kind, answer) => {
    const { restMs, status } = await afterAnswer(gateway, reply.by(answer), { kind });

    expect(status).toBe(200);
    // The provider's clock shows whole seconds.
    expect(restMs).toBeGreaterThan(88_000);
    expect(restMs).toBeLessThan(92_000);
  });

  it.each(["1741305600000", "1741305600", "99999999999999999", "-30", "0x1f"])(
    "case 6: a reset of %s, which is sensible under no reading, is no hint",
    async (value) => {
      const after = await afterAnswer(gateway, limited({ "x-ratelimit-reset": value }), { settings: uncapped });

      expect([after.restMs, after.key.status_reason?.wait]).toEqual([100, "ladder"]);
    },
  );

  const quotaExceeded = "Quota exceeded for quota metric 'Generate requests'.";
  const retryInfo = (retryDelay: string): object[] => [
    { "@type": "type.googleapis.com/google.rpc.Help", links: [] },
    { "@type": "type.googleapis.com/google.rpc.RetryInfo", retryDelay },
  ];
  const geminiBody = (message: string, details: object[]): object => ({
    error: { code: 429, message, status: "RESOURCE_EXHAUSTED", details },
  });

  it("case 7: Gemini's wait in a gzipped body is shorter than the ladder, and does not shorten it", async () => {
    const answer = reply.encoded("gzip", 429, {}, geminiBody(quotaExceeded, retryInfo("45.837906927s")));

    const after = await afterAnswer(gateway, answer, { kind: "gemini" });

    expect([after.status, after.picks, after.restMs]).toEqual([200, "AB", minuteMs]);
  });

  it.each([
    ["in RetryInfo", geminiBody(quotaExceeded, retryInfo("45.837906927s")), 45_838],
    ["in RetryInfo, inside an array", [geminiBody(quotaExceeded, retryInfo("45.837906927s"))], 45_838],
    [
      "in ErrorInfo",
      geminiBody(quotaExceeded, [
        {
          "@type": "type.googleapis.com/google.rpc.ErrorInfo",
          reason: "RATE_LIMIT_EXCEEDED",
          metadata: { quotaResetDelay: "373.801628ms" },
        },
      ]),
      374,
    ],
    ["in prose alone", geminiBody(`${quotaExceeded} Please retry in 45.8s.`, []), 45_800],
    ["of nought", geminiBody(quotaExceeded, retryInfo("0s")), 100],
    ["nowhere", geminiBody(quotaExceeded, []), 100],
  ])("case 7: Gemini's wait %s is read from a compressed body", async (_, body, restMs) => {
    for (const coding of ["gzip", "br"] as const) {
      const after = await afterAnswer(gateway, reply.encoded(coding, 429, {}, body), {
        kind: "gemini",
        settings: uncapped,
      });

      expect([after.status, after.restMs]).toEqual([200, restMs]);
    }
  });

  it("case 7: a refusal larger than what is read of it is no obstacle", async () => {
    const body = geminiBody("x".repeat(300_000), retryInfo("45.8s"));

    const after = await afterAnswer(gateway, limited({}, body), { kind: "gemini" });

    expect([after.status, after.picks, after.key.status]).toEqual([200, "AB", "cooling_down"]);
  });

  it("case 9: a wait of six days is capped at 900 s", async () => {
    const after = await afterAnswer(gateway, limited({ "retry-after": String(6 * 86_400) }));

    expect([after.restMs, after.key.status_reason?.wait]).toEqual([900_000, "stated"]);
  });

  it("case 9: the next request after the cap is the probe", async () => {
    const settings = { cooldown: { base_ms: 100, cap_ms: 150 } };
    await using pool = await poolOf(gateway, { weights: [1], settings });
    pool.provider.forKey(pool.valueOf("A")).next(limited({ "retry-after": String(6 * 86_400) }));
    await pool.turns(1);

    await pool.becomes("A", "available");

    expect((await pool.send()).status).toBe(200);
  });

  it("case 9: a cooldown can be cleared, for one key and for all, at once", async () => {
    await using pool = await poolOf(gateway, { weights: [1, 1, 1] });
    pool.provider.on().times(3, limited({ "retry-after": String(6 * 86_400) }));
    const before = await pool.send();
    await before.arrayBuffer();

    await gateway.api("POST", `/keys/${pool.keys[1]?.id}/reset`);
    const one = await pool.turns(2);
    await gateway.api("POST", `/providers/${pool.record.id}/keys/bulk`, {
      action: "reset",
      where: { status: "cooling_down" },
    });
    const all = await pool.turns(3);

    expect([before.status, one]).toEqual([429, "BB"]);
    expect(Array.from(all).sort().join("")).toBe("ABC");
    expect((await gateway.keys(pool.record)).map((key) => key.consecutive_failures)).toEqual([0, 0, 0]);
  });

  it.each([
    ["requests are left", { "x-ratelimit-remaining-requests": "57", "x-ratelimit-reset-requests": "432000" }, minuteMs],
    [
      "tokens are left, requests are not",
      {
        "x-ratelimit-remaining-requests": "0",
        "x-ratelimit-reset-requests": "90",
        "x-ratelimit-remaining-tokens": "57",
        "x-ratelimit-reset-tokens": "432000",
      },
      90_000,
    ],
    [
      "a window is used to 41 %",
      { "x-codex-primary-used-percent": "41", "x-codex-primary-reset-after-seconds": "432000" },
      minuteMs,
    ],
    [
      "a window is used up",
      { "x-codex-primary-used-percent": "100", "x-codex-primary-reset-after-seconds": "300" },
      300_000,
    ],
    [
      "a plan's window is open",
      {
        "anthropic-ratelimit-unified-5h-status": "allowed",
        "anthropic-ratelimit-unified-5h-reset": String(Math.round(Date.now() / 1000) + 432_000),
      },
      minuteMs,
    ],
  ])("case 10: a reset counts for its own window alone: %s", async (_, headers, restMs) => {
    expect((await afterAnswer(gateway, limited(headers))).restMs).toBe(restMs);
  });

  it("case 11: a bare 429 among nine streams cools the key by one step and cuts none of them", async () => {
    await using pool = await poolOf(gateway, { weights: [100, 1] });
    const gate = Promise.withResolvers<void>();
    const slowStream = reply.after(
      gate.promise,
      reply.sse([
        { data: { choices: [{ index: 0, delta: { content: "Hi" } }] } },
        { data: { choices: [{ index: 0, delta: {}, finish_reason: "stop" }] } },
        { data: "[DONE]" },
      ]),
    );
    pool.provider
      .forKey(pool.valueOf("A"))
      .times(9, slowStream)
      .next(reply.status(429, { "x-should-retry": "true" }));
    const streams = Array.from({ length: 9 }, () => pool.send({ stream: true }));
    await pool.provider.arrived(9);

    const tenth = await pool.send();
    gate.resolve();
    const texts = await Promise.all(streams.map(async (stream) => (await stream).text()));

    expect(tenth.status).toBe(200);
    expect(new Set(texts.map((text) => text.endsWith("data: [DONE]\n\n")))).toEqual(new Set([true]));
    const key = await pool.key("A");
    expect(key).toMatchObject({ status: "cooling_down", consecutive_failures: 1, status_reason: { wait: "ladder" } });
    expect(restMsOf(key)).toBe(minuteMs);
    expect(pool.provider.picks()).toBe("AAAAAAAAAAB");
  });

  it.each<[ScriptedKind, ReturnType<typeof limited>]>([
    ["openai", openAiError(429, { message: "Slow down", type: "requests", code: null })],
    ["anthropic", anthropicError(429, "rate_limit_error", "Slow down")],
    ["gemini", geminiError(429, "RESOURCE_EXHAUSTED", "Slow down")],
    ["azure-openai", limited({}, { error: { code: "429", message: "Slow down" } })],
    ["openai-compatible", reply.status(429)],
  ])("case 12: a 429 without any hint is enough to switch, for kind %s", async (kind, answer) => {
    for (const stream of [false, true]) {
      const after = await afterAnswer(gateway, answer, { kind, stream });

      expect([after.status, after.picks, after.key.status]).toEqual([200, "AB", "cooling_down"]);
      expect([after.restMs, after.key.consecutive_failures]).toEqual([minuteMs, 1]);
    }
  });
});
