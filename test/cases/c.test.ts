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
import { poolOf, type PoolOptions, storedKey } from "../pooled-provider.ts";
import { callOnWire } from "../wire-client.ts";
import { afterAnswer, healthOf, noticeOf, noticesOf } from "./observed.ts";

let gateway: RunningGateway;
beforeAll(async () => {
  gateway = await runGateway();
  return () => gateway[Symbol.asyncDispose]();
});

const providerLevelKey = "sk-test-provider-level-0123456789abcdef";
const page = "<!DOCTYPE html><html><head><title>Just a moment...</title></head><body></body></html>";
const html = { "content-type": "text/html; charset=UTF-8" };
const noSuchKey = openAiError(401, {
  message: "Incorrect API key.",
  type: "invalid_request_error",
  code: "invalid_api_key",
});

/** An answer that says nothing about keys: one hit, given back as it came, every key as it was, and a notice. */
async function expectPassedThrough(answer: Reply, status: number, notice: string, options: PoolOptions = {}) {
  await using pool = await poolOf(gateway, { weights: [1, 1, 1], ...options });
  const script = pool.provider.on().always(answer);

  const response = await pool.send();
  const text = await response.text();

  expect([response.status, response.headers.get("x-keywheel-error")]).toEqual([status, null]);
  expect(pool.provider.picks()).toBe("A");
  expect(await healthOf(gateway, pool)).toEqual(["available 0", "available 0", "available 0"]);
  expect((await noticeOf(gateway, pool, notice)).message).toContain(new URL(pool.provider.origin).host);

  // It is over when the provider serves again.
  script.clear();
  await pool.turns(1);
  expect(await noticesOf(gateway, pool)).toEqual([]);
  return text;
}

describe("C. 401 and 403", () => {
  it.each<[string, number, Reply]>([
    ["a challenge page under 403", 403, reply.status(403, { ...html, "cf-mitigated": "challenge" }, page)],
    ["a page under 403", 403, reply.status(403, html, page)],
    ["a page under 401", 401, reply.status(401, html, page)],
    ["a challenge that is told by its header alone", 403, reply.status(403, { "cf-mitigated": "challenge" })],
    ["a page under 429", 429, reply.status(429, html, page)],
  ])("case 21: %s is a wall before the provider: no key is blamed", async (_, status, answer) => {
    const text = await expectPassedThrough(answer, status, "edge_block");

    expect(["", page]).toContain(text);
  });

  it("case 21: a client without a user agent is given one, since walls refuse those who have none", async () => {
    await using pool = await poolOf(gateway, { weights: [1] });

    await callOnWire(gateway.url, { path: `/${pool.record.slug}/v1/models` });
    await callOnWire(gateway.url, { path: `/${pool.record.slug}/v1/models`, headers: { "user-agent": "own/1" } });

    const agents = pool.provider.requests.map((request) => request.header("user-agent"));
    expect(agents).toEqual([expect.stringMatching(/^keywheel\/\d/), "own/1"]);
  });

  it.each<[string, number, Reply, PoolOptions]>([
    [
      "OpenAI's",
      403,
      openAiError(403, {
        message: "Country, region, or territory not supported",
        type: "request_forbidden",
        code: "unsupported_country_region_territory",
      }),
      {},
    ],
    [
      "Gemini's",
      400,
      geminiError(400, "FAILED_PRECONDITION", "User location is not supported for the API use."),
      { kind: "gemini" },
    ],
  ])("case 22: %s refusal of the place goes back in its own words", async (_, status, answer, options) => {
    const text = await expectPassedThrough(answer, status, "region_refused", options);

    expect(text).toMatch(/not supported/);
  });

  it.each<[string, Reply, PoolOptions, { status: number; picks: string; key: string }]>([
    [
      "a model that the key lacks: the next key, and nothing is disabled",
      anthropicError(403, "permission_error", "Your API key does not have permission to use model: claude-test."),
      { kind: "anthropic" },
      { status: 200, picks: "AB", key: "available" },
    ],
    [
      "flagged content: given back, and asked of nobody else",
      reply.json(403, {}, { error: { code: 403, message: "flagged", metadata: { reasons: ["violence"] } } }),
      { kind: "openai-compatible", preset: "openrouter" },
      { status: 403, picks: "A", key: "available" },
    ],
    [
      "anything else: disabled",
      anthropicError(403, "permission_error", "Not for you."),
      { kind: "anthropic" },
      { status: 200, picks: "AB", key: "disabled" },
    ],
  ])("case 24: a 403 about %s", async (_, answer, options, expected) => {
    const after = await afterAnswer(gateway, answer, options);

    expect({ status: after.status, picks: after.picks, key: after.key.status }).toEqual(expected);
  });

  it("case 24: a key that lacks one model goes on serving the others", async () => {
    await using pool = await poolOf(gateway, { kind: "anthropic" });
    const lacks = "Your API key does not have permission to use model: claude-large.";
    const ask = (model: string) => pool.send({ body: { model, max_tokens: 1, messages: [] } });
    pool.provider.forKey(pool.valueOf("A")).next(anthropicError(403, "permission_error", lacks));

    for (const model of ["claude-large", "claude-large", "claude-large"]) await (await ask(model)).arrayBuffer();
    const large = pool.provider.picks();
    pool.provider.forget();
    for (const model of ["claude-test", "claude-test"]) await (await ask(model)).arrayBuffer();

    expect(large).toBe("ABBB");
    expect(Array.from(pool.provider.picks()).sort().join("")).toBe("AB");
  });

  it("case 25: a key that one spurious 401 disabled comes back whole with one call", async () => {
    await using pool = await poolOf(gateway, { weights: [1] });
    pool.provider.forKey(pool.valueOf("A")).next(noSuchKey);
    await pool.turns(1);
    const disabled = await pool.key("A");
    expect(disabled).toMatchObject({
      status: "disabled",
      status_reason: { code: "authentication_failed", http_status: 401, message: "Incorrect API key." },
    });
    expect(Date.now() - Date.parse(disabled.status_reason?.at ?? "")).toBeLessThan(10_000);

    await gateway.api("PATCH", `/keys/${disabled.id}`, { enabled: true });
    const enabled = await pool.key("A");
    const response = await pool.send();

    expect(enabled).toMatchObject({ status: "available", status_reason: null, consecutive_failures: 0 });
    expect([response.status, pool.provider.picks()]).toEqual([200, "AA"]);
  });

  it("case 25: a 401 that names a model is no word about the key", async () => {
    const answer = openAiError(401, { message: "No such model for you.", type: "error", code: "model_not_found" });

    const after = await afterAnswer(gateway, answer);

    expect([after.status, after.picks, after.key.status]).toEqual([200, "AB", "available"]);
  });

  it("case 26: a wrong base URL refuses every key at once; a notice names the host, and one call brings them all back", async () => {
    await using pool = await poolOf(gateway, { weights: [1, 1, 1, 1] });
    await using wrong = await poolOf(gateway, { weights: [] });
    const pointAt = (baseUrl: string): Promise<unknown> =>
      gateway.api("PATCH", `/providers/${pool.record.id}`, { base_url: baseUrl, confirm_host_change: true });
    // A person's own switch, which nobody else may turn back.
    await gateway.api("PATCH", `/keys/${pool.keys[3]?.id}`, { enabled: false });
    await pointAt(wrong.provider.baseUrl);
    const refused = await pool.send();
    const disabled = await healthOf(gateway, pool);
    const suspicion = await noticeOf(gateway, pool, "all_keys_refused");

    await pointAt(pool.provider.baseUrl);
    const { action } = await noticeOf(gateway, pool, "base_url_changed");
    await gateway.api(action?.method ?? "", action?.path.replace(/^\/api/, "") ?? "", action?.body);

    expect([refused.status, refused.headers.get("x-keywheel-error")]).toEqual([503, "no_usable_key"]);
    expect(wrong.provider.requests).toHaveLength(3);
    expect(disabled).toEqual(["disabled 0", "disabled 0", "disabled 0", "disabled 0"]);
    expect(suspicion.message).toContain(new URL(wrong.provider.origin).host);
    expect(suspicion.action).toEqual(action);
    expect(action?.body).toEqual({ action: "enable", where: { reason: "authentication_failed" } });
    expect(await healthOf(gateway, pool)).toEqual(["available 0", "available 0", "available 0", "disabled 0"]);
    expect((await pool.send()).status).toBe(200);
    expect(await noticesOf(gateway, pool)).toEqual([]);
  });

  it("case 26: keys that were accepted here before are not taken for right ones at a wrong address", async () => {
    await using pool = await poolOf(gateway);
    await pool.turns(2);
    for (const letter of ["A", "B"]) pool.provider.revoke(pool.valueOf(letter));
    await pool.turns(1);

    const notice = await noticeOf(gateway, pool, "no_usable_key");

    expect(notice.message).not.toContain("never accepted");
    expect((await noticesOf(gateway, pool)).map(({ code }) => code)).not.toContain("all_keys_refused");
  });

  it("case 27: a key that is refused for ever is asked once, and twenty clients notice nothing", async () => {
    await using pool = await poolOf(gateway);
    pool.provider.forKey(pool.valueOf("A")).always(noSuchKey);

    const statuses: number[] = [];
    for (let request = 0; request < 20; request++) {
      const response = await pool.send();
      statuses.push(response.status);
      await response.arrayBuffer();
    }

    expect(statuses).toEqual(Array.from({ length: 20 }, () => 200));
    expect(pool.provider.counts()).toEqual({ A: 1, B: 20 });
  });

  it.each(["kept by the provider", "a session's", "a stream's"])(
    "case 27: no road to the key leads around its 401: %s",
    async (road) => {
      await using pool = await poolOf(gateway);
      const session = road === "a session's" ? "s" : undefined;
      await pool.turns(1, session === undefined ? {} : { session });
      pool.provider.revoke(pool.valueOf("A"));
      pool.provider.forget();

      const init = { ...(session === undefined ? {} : { session }), stream: road === "a stream's" };
      const turns = await pool.turns(4, init);

      expect(turns.replace("A", "")).toMatch(/^B{4}$/);
      expect((await pool.key("A")).status).toBe("disabled");
    },
  );

  it("case 28: a late success does not bring back what a person switched off", async () => {
    await using pool = await poolOf(gateway);
    const late = reply.live({ headers: { "content-type": "application/json" } });
    pool.provider.forKey(pool.valueOf("A")).next(late);
    const running = pool.send();
    await late.started;

    await gateway.api("PATCH", `/keys/${pool.keys[0]?.id}`, { enabled: false });
    await late.send(Buffer.from('{"object":"chat.completion","choices":[{"message":{"content":"Hi"}}]}'));
    await late.end();

    expect(await (await running).json()).toMatchObject({ object: "chat.completion" });
    expect(await pool.key("A")).toMatchObject({ status: "disabled", status_reason: { code: "disabled_by_operator" } });
    expect(storedKey(gateway, pool.keys[0]?.id ?? "").enabled).toBe(0);
    expect(await pool.turns(2)).toBe("BB");
  });

  it("case 28: what brings back refused keys leaves alone what a person switched off", async () => {
    await using pool = await poolOf(gateway, { weights: [1, 1, 1] });
    await gateway.api("PATCH", `/keys/${pool.keys[0]?.id}`, { enabled: false });
    pool.provider.revoke(pool.valueOf("B"));
    await pool.turns(1);

    const { ids } = await gateway.api<{ ids: string[] }>("POST", `/providers/${pool.record.id}/keys/bulk`, {
      action: "enable",
      where: { reason: "authentication_failed" },
    });

    expect(ids).toEqual([pool.keys[1]?.id]);
    expect(await healthOf(gateway, pool)).toEqual(["disabled 0", "available 0", "available 0"]);
  });

  it("case 28: any key can be tested, and the test changes nothing", async () => {
    await using pool = await poolOf(gateway, { weights: [1, 1, 1] });
    await gateway.api("PATCH", `/keys/${pool.keys[0]?.id}`, { enabled: false });
    pool.provider.forKey(pool.valueOf("B")).next(noSuchKey);
    pool.provider.forKey(pool.valueOf("C")).next(reply.status(429));
    await (await pool.send()).arrayBuffer();
    const before = await gateway.keys(pool.record);
    pool.provider.revoke(pool.valueOf("C"));

    const outcomes: unknown[] = [];
    for (const key of pool.keys) outcomes.push((await gateway.api<{ ok: boolean }>("POST", `/keys/${key.id}/test`)).ok);

    expect(before.map((key) => key.status)).toEqual(["disabled", "disabled", "cooling_down"]);
    expect(outcomes).toEqual([true, true, false]);
    const after = await gateway.keys(pool.record);
    expect(after).toEqual(before);
  });

  it.each<[string, (pool: Awaited<ReturnType<typeof poolOf>>) => Promise<unknown>, number]>([
    ["disabled by a person", (pool) => setAll(pool.keys, { enabled: false }), 503],
    [
      "refused by the provider",
      async (pool) => {
        for (const letter of ["A", "B"]) pool.provider.forKey(pool.valueOf(letter)).next(noSuchKey);
        await (await pool.send()).arrayBuffer();
      },
      503,
    ],
    [
      "resting",
      async (pool) => {
        for (const letter of ["A", "B"]) pool.provider.forKey(pool.valueOf(letter)).next(reply.status(429));
        await (await pool.send()).arrayBuffer();
      },
      429,
    ],
  ])("case 29: when all keys are %s nobody stands in, not the provider-level key either", async (_, act, status) => {
    await using pool = await poolOf(gateway, { apiKey: providerLevelKey });
    await act(pool);
    pool.provider.forget();

    const response = await pool.send();

    expect(response.status).toBe(status);
    expect(pool.provider.requests).toHaveLength(0);
  });

  it("case 29: a pool that a request has tried in full is not an empty one", async () => {
    await using pool = await poolOf(gateway, { apiKey: providerLevelKey });
    pool.provider.on().times(2, reply.status(429));

    const response = await pool.send();

    expect([response.status, pool.provider.picks()]).toEqual([429, "AB"]);
  });

  async function setAll(keys: readonly { readonly id: string }[], patch: object): Promise<void> {
    for (const { id } of keys) await gateway.api("PATCH", `/keys/${id}`, patch);
  }
});
