import {
  anthropicError,
  geminiError,
  openAiError,
  type Reply,
  reply,
  runGateway,
  type RunningGateway,
} from "@keywheel/testkit";
import { beforeAll, describe, expect, it } from "vitest";
import { poolOf, type PoolOptions } from "../pooled-provider.ts";
import { afterAnswer, healthOf, restMsOf } from "./observed.ts";

let gateway: RunningGateway;
beforeAll(async () => {
  gateway = await runGateway();
  return () => gateway[Symbol.asyncDispose]();
});

const capMs = 900_000;
const billing = (code: string | null, type: string, message = "You exceeded your current quota.") =>
  openAiError(429, { message, type, code });

/** The pool's answer to a spent quota: rests at the cap at once, stays enabled, another key serves. */
async function expectAtCap(answer: Reply, options: PoolOptions = {}): Promise<void> {
  const began = performance.now();
  const after = await afterAnswer(gateway, answer, options);

  expect([after.status, after.picks, after.restMs]).toEqual([200, "AB", capMs]);
  expect(after.key).toMatchObject({
    status: "cooling_down",
    enabled: true,
    status_reason: { code: "quota_exhausted", wait: "quota" },
  });
  expect(after.others.map((key) => key.consecutive_failures)).toEqual([0]);
  // No back-off: the next key is asked at once.
  expect(performance.now() - began).toBeLessThan(2_000);
}

describe("B. status codes that mean something else than they say", () => {
  it.each([
    ["insufficient_quota", "insufficient_quota"],
    [null, "insufficient_quota"],
    ["credit_balance_exhausted", "billing"],
    ["project_spend_limit_exceeded", "billing"],
    ["organization_spend_limit_exceeded", "billing"],
    ["billing_hard_limit_reached", "invalid_request_error"],
  ])("case 13: a 429 of the code %s and the type %s is billing: it rests at the cap", async (code, type) => {
    expect.hasAssertions();
    await expectAtCap(billing(code, type));
  });

  it("case 13: billing comes back by itself once it is topped up", async () => {
    const settings = { cooldown: { base_ms: 100, cap_ms: 200 } };
    await using pool = await poolOf(gateway, { weights: [1], settings });
    pool.provider.forKey(pool.valueOf("A")).next(billing("insufficient_quota", "insufficient_quota"));
    const first = await pool.send();
    await first.arrayBuffer();

    await pool.becomes("A", "available");

    expect([first.status, (await pool.send()).status]).toEqual([429, 200]);
    expect(await healthOf(gateway, pool)).toEqual(["available 0"]);
  });

  it.each([
    ["that speaks of a quota in prose", billing("rate_limit_exceeded", "requests", "insufficient_quota, said a blog.")],
    ["of a code that nobody has heard of", billing("quota_of_the_moon", "requests")],
    ["of a code that only begins so", billing("insufficient_quota_for_tier", "requests")],
  ])("case 13: a 429 %s stays an ordinary one", async (_, answer) => {
    const after = await afterAnswer(gateway, answer);

    expect([after.status, after.restMs, after.key.status_reason?.code]).toEqual([200, 60_000, "rate_limited"]);
  });

  it("case 14: out of credit, told by a header alone, whatever `x-should-retry` says", async () => {
    expect.hasAssertions();
    const headers = {
      "anthropic-ratelimit-unified-overage-disabled-reason": "out_of_credits",
      "x-should-retry": "true",
    };
    await expectAtCap(reply.status(429, headers), { kind: "anthropic" });
  });

  it("case 14: another reason in that header is an ordinary 429", async () => {
    const headers = { "anthropic-ratelimit-unified-overage-disabled-reason": "org_level_disabled" };

    const after = await afterAnswer(gateway, reply.status(429, headers), { kind: "anthropic" });

    expect([after.status, after.restMs, after.key.status_reason?.wait]).toEqual([200, 60_000, "ladder"]);
  });

  it.each<[string, Reply, PoolOptions]>([
    ["a bare 402", reply.status(402), {}],
    ["a 402 in words", reply.status(402, { "content-type": "text/plain" }, "Payment Required"), {}],
    ["a 402 with a wait that is none", reply.status(402, { "retry-after": "-1" }), {}],
    [
      "Anthropic's 400",
      anthropicError(400, "invalid_request_error", "Your credit balance is too low to access the Anthropic API."),
      { kind: "anthropic" },
    ],
    [
      "Gemini's 402",
      geminiError(402, "RESOURCE_EXHAUSTED", "Your prepayment credits are depleted."),
      { kind: "gemini" },
    ],
    [
      "xAI's 429",
      reply.json(
        429,
        {},
        { code: "x", error: "Your team has either used all available credits or reached its limit." },
      ),
      { kind: "openai-compatible", preset: "xai" },
    ],
  ])("case 16: %s is an empty purse", async (_, answer, options) => {
    expect.hasAssertions();
    await expectAtCap(answer, options);
  });

  it("case 16: a 402 that says when to come back is a cooldown like others", async () => {
    const after = await afterAnswer(gateway, reply.status(402, { "retry-after": "90" }));

    expect([after.status, after.picks, after.restMs]).toEqual([200, "AB", 90_000]);
    expect(after.key).toMatchObject({ enabled: true, status_reason: { code: "rate_limited", wait: "stated" } });
  });

  it("case 16: Anthropic's sentence in another provider's 400 is a bad request like others", async () => {
    const body = { error: { type: "invalid_request_error", message: "Your credit balance is too low" } };

    const after = await afterAnswer(gateway, reply.json(400, {}, body));

    expect([after.status, after.picks, after.key.status]).toEqual([400, "A", "available"]);
  });

  it("case 16: a key that was topped up can be called back by hand", async () => {
    await using pool = await poolOf(gateway);
    pool.provider.forKey(pool.valueOf("A")).next(reply.status(402));
    await pool.turns(1);
    const tested = await gateway.api<{ ok: boolean }>("POST", `/keys/${pool.keys[0]?.id}/test`);
    const still = await pool.key("A");

    await gateway.api("POST", `/keys/${pool.keys[0]?.id}/reset`);

    expect([tested.ok, still.status, restMsOf(still)]).toEqual([true, "cooling_down", capMs]);
    pool.provider.forget();
    expect(
      Array.from(await pool.turns(2))
        .sort()
        .join(""),
    ).toBe("AB");
  });

  const badKey = (message: string) =>
    geminiError(400, "INVALID_ARGUMENT", message, [
      { "@type": "type.googleapis.com/google.rpc.ErrorInfo", reason: "API_KEY_INVALID", domain: "googleapis.com" },
    ]);

  it.each(["API key not valid. Please pass a valid API key.", "API Key not found. Please pass a valid API key."])(
    "case 17: Gemini's bad key is told as a 400: %s",
    async (message) => {
      const after = await afterAnswer(gateway, badKey(message), { kind: "gemini" });

      expect([after.status, after.picks]).toEqual([200, "AB"]);
      expect(after.key).toMatchObject({
        status: "disabled",
        enabled: false,
        status_reason: { code: "authentication_failed", http_status: 400 },
      });
    },
  );

  it.each([
    ["the reason is missing", geminiError(400, "INVALID_ARGUMENT", "API key not valid.")],
    [
      "it is about the place",
      geminiError(400, "FAILED_PRECONDITION", "User location is not supported for the API use."),
    ],
    ["it is about the body", geminiError(400, "INVALID_ARGUMENT", "Invalid JSON payload received.")],
  ])("case 17: any other 400 of Gemini's goes back, and no other key is asked: %s", async (_, answer) => {
    const after = await afterAnswer(gateway, answer, { kind: "gemini" });

    expect([after.status, after.picks]).toEqual([400, "A"]);
    expect(after.key).toMatchObject({ status: "available", enabled: true, consecutive_failures: 0 });
  });

  it.each([400, 404, 405, 409, 413, 415, 422])(
    "case 18: a %i about the request is hit once and given back word for word",
    async (status) => {
      const body = {
        error: { message: "Invalid value for `temperature`.", type: "invalid_request_error", code: null },
      };

      const after = await afterAnswer(gateway, reply.json(status, { "x-request-id": "req_1" }, body));

      expect([after.status, after.picks]).toEqual([status, "A"]);
      expect([JSON.parse(after.text), after.headers.get("x-request-id")]).toEqual([body, "req_1"]);
      expect(after.key).toMatchObject({ status: "available", consecutive_failures: 0 });
    },
  );

  it("case 18: a missing model that may be this key's alone is tried with one other key, and nobody is blamed", async () => {
    await using pool = await poolOf(gateway, { weights: [1, 1, 1, 1] });
    pool.provider.on().always(
      openAiError(404, {
        message: "The model `gpt-test` does not exist or you do not have access to it.",
        type: "invalid_request_error",
        code: "model_not_found",
      }),
    );

    const response = await pool.send();

    expect(response.status).toBe(404);
    expect(await response.json()).toMatchObject({ error: { code: "model_not_found" } });
    expect(pool.provider.picks()).toBe("AB");
    expect(new Set(await healthOf(gateway, pool))).toEqual(new Set(["available 0"]));
  });

  it.each([
    ["/v1/nope", 404],
    ["/v1/models/nobodys", 405],
  ])("case 19: a hundred requests to %s, which is answered with %i, take no key away", async (path, status) => {
    await using pool = await poolOf(gateway, { weights: [1, 1, 1] });
    if (status === 405) pool.provider.on({ path }).always(reply.status(405, { allow: "GET" }));
    const before = await healthOf(gateway, pool);

    const statuses: number[] = [];
    for (let batch = 0; batch < 10; batch++) {
      const answers = await Promise.all(Array.from({ length: 10 }, () => pool.send({ path })));
      for (const answer of answers) {
        statuses.push(answer.status);
        await answer.arrayBuffer();
      }
    }

    expect([statuses.length, new Set(statuses)]).toEqual([100, new Set([status])]);
    expect(await healthOf(gateway, pool)).toEqual(before);
    expect(pool.provider.requests).toHaveLength(100);
  });

  it.each([
    ["429, without choices", { error: { code: 429, message: "Rate limit exceeded" } }, "cooling_down 1"],
    ["429, beside `choices: null`", { choices: null, error: { code: 429, message: "Slow" } }, "cooling_down 1"],
    ["a rate limit told by type", { error: { type: "rate_limit_error", message: "Slow" } }, "cooling_down 1"],
    ["402", { error: { code: 402, message: "No credits" } }, "cooling_down 1"],
    ["401", { error: { code: 401, message: "No such key" } }, "disabled 0"],
  ])(
    "case 20: a 200 that holds a %s is what it says: the client gets the next key's answer",
    async (_, body, health) => {
      await using pool = await poolOf(gateway);
      pool.provider.forKey(pool.valueOf("A")).next(reply.json(200, {}, body));

      const response = await pool.send();

      expect([response.status, response.headers.get("x-keywheel-attempts")]).toEqual([200, "2"]);
      expect(await response.json()).toMatchObject({ object: "chat.completion" });
      expect(await healthOf(gateway, pool)).toEqual([health, "available 0"]);
    },
  );

  it("case 20: with nobody else to ask the client is told that the pool rests, not that all went well", async () => {
    const answer = reply.json(200, {}, { error: { code: 429, message: "Rate limit exceeded" } });

    const after = await afterAnswer(gateway, answer, { weights: [1] });

    expect([after.status, after.headers.get("x-keywheel-error")]).toEqual([429, "pool_exhausted"]);
  });

  it.each([
    ["of a kind that nobody knows", { error: { type: "brand_new_error", message: "?" } }],
    ["about the request", { error: { code: 400, message: "Bad" } }],
    ["of the provider's own", { error: { code: 502, message: "Upstream died" } }],
  ])("case 20: an error %s inside a 200 goes back as it came, and is no success", async (_, body) => {
    const settings = { cooldown: { base_ms: 100, cap_ms: 100 } };
    await using pool = await poolOf(gateway, { weights: [1], settings });
    pool.provider.forKey(pool.valueOf("A")).next(reply.status(429), reply.json(200, {}, body));
    await pool.turns(1);
    await pool.becomes("A", "available");

    const response = await pool.send();

    expect([response.status, await response.json()]).toEqual([200, body]);
    expect(await healthOf(gateway, pool)).toEqual(["available 1"]);
  });
});
