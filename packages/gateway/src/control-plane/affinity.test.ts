import { afterAll, beforeAll, beforeEach, describe, expect, it } from "vitest";
import type { RequestRecord } from "../data-plane/request-record.ts";
import { type ControlBench, openControlBench } from "./control-plane.test-bench.ts";

type Attempt = RequestRecord["attempts"][number];

const hourMs = 3_600_000;
let bench: ControlBench;
let provider: string;
let [a, b] = ["", ""];
beforeAll(async () => {
  bench = await openControlBench();
});
beforeEach(async () => {
  // Sums stay when their provider goes: each test has one of its own.
  await bench.clean();
  provider = await bench.addProvider({ slug: "tied" });
  [a, b] = [(await bench.addKey(provider, { label: "first" })).id, (await bench.addKey(provider)).id];
});
afterAll(() => bench.close());

function anAttempt(keyId: string, why: Attempt["why"], parts: Partial<Attempt> = {}): Attempt {
  return { keyId, why, passedOver: [], startedAt: 0, durationMs: 1, status: 200, outcome: "succeeded", ...parts };
}

function record(id: string, attempts: readonly Attempt[], parts: Partial<RequestRecord> = {}, session = "chat"): void {
  const keyId = attempts.at(-1)?.keyId ?? "";
  bench.activity.record({
    requestId: id,
    providerId: provider,
    slug: "tied",
    method: "POST",
    path: "/v1/x",
    startedAt: bench.clock.now(),
    durationMs: 1,
    status: 200,
    keyId,
    ...(session === "" ? {} : { sessionId: session }),
    attempts,
    ending: "completed",
    requestBytes: 1,
    ...parts,
  });
}

function tokens(inputTokens: number, cacheReadTokens: number, cacheWriteTokens = 0): Pick<RequestRecord, "usage"> {
  return { usage: { inputTokens, cacheReadTokens, cacheWriteTokens, outputTokens: 9, reasoningTokens: 0 } };
}

/** A session that begins on A, stays there twice, and then has to go to B. */
function recordSession(): void {
  record("r1", [anAttempt(a, "turn")], tokens(0, 0, 100));
  record("r2", [anAttempt(a, "session")], tokens(20, 80));
  record("r3", [anAttempt(a, "session")], tokens(20, 180));
  const refused = anAttempt(a, "session", { status: 429, outcome: "rate_limited" });
  const after = anAttempt(b, "turn", { left: { keyId: a, because: "rate_limited" } });
  record("r4", [refused, after], tokens(300, 0));
}

// oxlint-disable-next-line typescript/no-explicit-any -- tests look into answers of every shape
async function read(path: string): Promise<any> {
  const { status, body } = await bench.call("GET", path);
  expect(status).toBe(200);
  return body;
}

describe("GET /api/affinity", () => {
  it("sets what came from the cache on the session's key against what did not elsewhere", async () => {
    recordSession();
    record("r5", [anAttempt(b, "turn")], tokens(50, 0), "");

    const { data, total } = await read(`/api/affinity?provider=${provider}`);

    expect(data).toHaveLength(1);
    const [pool] = data;
    expect(pool).toMatchObject({ provider_id: provider, provider: "tied", kept_share: 2 / 3, left_share: 1 / 5 });
    expect(pool.kept).toEqual({
      requests: 2,
      input_tokens: 40,
      cache_read_tokens: 260,
      cache_write_tokens: 0,
      cached_share: 260 / 300,
    });
    expect(pool.new).toMatchObject({ requests: 1, cache_write_tokens: 100, cached_share: 0 });
    expect(pool.left).toMatchObject({ requests: 1, input_tokens: 300, cached_share: 0 });
    expect(pool.untied).toMatchObject({ requests: 1, input_tokens: 50 });
    expect(pool.total).toEqual(total);
    expect(total).toMatchObject({ requests: 5, cached_share: 260 / 750 });
    expect(pool.sources).toMatchObject([
      { source: "session", requests: 4, kept: 2, new: 1, left: 1 },
      { source: "none", requests: 1, kept: 0, new: 0, left: 0 },
    ]);
    expect(pool.reasons).toMatchObject([{ reason: "rate_limited", requests: 1, input_tokens: 300 }]);
  });

  it("tells no share where there is nothing to take a part of", async () => {
    record("r1", [anAttempt(a, "turn")]);

    const { data } = await read(`/api/affinity?provider=${provider}`);

    expect(data[0]).toMatchObject({ kept_share: null, left_share: 0, total: { requests: 1, cached_share: null } });
  });

  it("is of the time that was asked for, the last day unless one was, and outlives a restart", async () => {
    recordSession();
    bench.clock.advance(25 * hourMs);
    record("later", [anAttempt(a, "session")], tokens(1, 1));

    const from = new Date(bench.clock.now() - 26 * hourMs).toISOString();
    const count = async (query: string): Promise<number> =>
      (await read(`/api/affinity?provider=${provider}&${query}`)).total.requests;
    expect(await count("")).toBe(1);
    expect(await count(`from=${from}`)).toBe(5);
    await bench.restart();
    expect(await count(`from=${from}`)).toBe(5);
  });

  it("has no row for a pool without requests, and refuses what it does not know", async () => {
    expect((await read(`/api/affinity?provider=${provider}`)).data).toEqual([]);
    expect((await bench.call("GET", "/api/affinity?provider=nobody")).status).toBe(404);
    expect((await bench.call("GET", "/api/affinity?by=key")).status).toBe(422);
    expect((await bench.call("GET", "/api/affinity?from=yesterday")).status).toBe(422);
    expect((await bench.call("GET", "/api/affinity", undefined, { authorization: "" })).status).toBe(401);
  });
});

describe("GET /api/sessions/{id}/affinity", () => {
  it("tells request by request which key served, what was cached, and where it had to leave", async () => {
    recordSession();

    const session = await read(`/api/sessions/chat/affinity?provider=${provider}`);

    expect(session).toMatchObject({ id: "chat", is_whole: true, total: { requests: 4, cached_share: 260 / 700 } });
    expect(session.kept.cached_share).toBeCloseTo(0.867, 3);
    expect(session.left.cached_share).toBe(0);
    expect(session.keys).toMatchObject([
      { key_id: b, requests: 1, cached_share: 0 },
      { key_id: a, label: "first", requests: 3, cached_share: 260 / 400 },
    ]);
    expect(session.steps.map(({ request_id: id, fate }: Record<string, string>) => `${id} ${fate}`)).toEqual([
      "r4 rate_limited",
      "r3 kept",
      "r2 kept",
      "r1 new",
    ]);
    expect(session.steps[0]).toMatchObject({ key_id: b, left: { key_id: a, label: "first" }, input_tokens: 300 });
    expect(session.steps[1].left).toBeNull();
  });

  it("says so when there are more requests than it looks at", async () => {
    for (let n = 0; n < 2_001; n++) record(`r${n}`, [anAttempt(a, "session")], tokens(1, 1));

    const session = await read(`/api/sessions/chat/affinity?provider=${provider}`);

    expect(session.is_whole).toBe(false);
    expect(session.total.requests).toBe(2_000);
    expect(session.steps).toHaveLength(100);
  });

  it("answers 404 for a session of which no request is kept", async () => {
    expect((await bench.call("GET", "/api/sessions/nobody/affinity")).status).toBe(404);
  });
});
