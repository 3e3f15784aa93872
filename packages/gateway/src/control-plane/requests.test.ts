import { afterAll, beforeAll, beforeEach, describe, expect, it } from "vitest";
import type { RequestRecord } from "../data-plane/request-record.ts";
import { type ControlBench, openControlBench } from "./control-plane.test-bench.ts";

let bench: ControlBench;
let made = 0;
beforeAll(async () => {
  bench = await openControlBench();
});
beforeEach(() => bench.clean());
afterAll(() => bench.close());

/** Takes up a request that has ended; it is the only one of its session unless it is given another. */
function record(parts: Partial<RequestRecord> = {}): string {
  const requestId = `req_${++made}`;
  const sessionId = parts.sessionId ?? requestId;
  bench.activity.record({
    requestId,
    providerId: "prv_gone",
    slug: "openai",
    method: "POST",
    path: "/v1/chat/completions",
    startedAt: bench.clock.now(),
    durationMs: 12.5,
    status: 200,
    attempts: [],
    ending: "completed",
    requestBytes: 10,
    sessionId,
    ...parts,
  });
  return requestId;
}

async function idsOf(query: string): Promise<string[]> {
  const { body } = await bench.call("GET", `/api/requests?${query}`);
  return (body as { data: { id: string }[] }).data.map(({ id }) => id);
}

describe("GET /api/requests", () => {
  it("explains a failover: each attempt, why that key, and who was passed over", async () => {
    const provider = await bench.addProvider({ slug: "explained" });
    const a = await bench.addKey(provider, { label: "first" });
    const b = await bench.addKey(provider);
    const startedAt = bench.clock.now();
    const id = record({
      providerId: provider,
      slug: "explained",
      model: "gpt-test",
      tokenId: "tok_1",
      keyId: b.id,
      firstByteMs: 5,
      responseBytes: 20,
      attempts: [
        {
          keyId: a.id,
          why: "session",
          passedOver: [],
          startedAt,
          durationMs: 2,
          status: 429,
          outcome: "rate_limited",
          message: "Slow down",
        },
        {
          keyId: b.id,
          why: "turn",
          passedOver: [{ keyId: a.id, because: "rate_limited" }],
          left: { keyId: a.id, because: "rate_limited" },
          startedAt,
          durationMs: 3,
          status: 200,
          outcome: "succeeded",
        },
      ],
      usage: { inputTokens: 5, cacheReadTokens: 4, cacheWriteTokens: 3, outputTokens: 2, reasoningTokens: 1 },
    });

    const { status, body } = await bench.call("GET", `/api/requests/${id}`);

    expect(status).toBe(200);
    const at = new Date(startedAt).toISOString();
    expect(body).toEqual({
      id,
      started_at: at,
      ended_at: at,
      provider_id: provider,
      provider: "explained",
      method: "POST",
      path: "/v1/chat/completions",
      model: "gpt-test",
      session_id: id,
      token_id: "tok_1",
      status: 200,
      error: null,
      ending: "completed",
      key_id: b.id,
      label: "",
      api_key: b.api_key,
      decision: `first is the key of its session: rate_limited. ${b.id} had its turn, past first (rate_limited): succeeded.`,
      attempts: [
        {
          key_id: a.id,
          label: "first",
          api_key: a.api_key,
          why: "session",
          passed_over: [],
          left: null,
          started_at: at,
          duration_ms: 2,
          http_status: 429,
          outcome: "rate_limited",
          message: "Slow down",
        },
        {
          key_id: b.id,
          label: "",
          api_key: b.api_key,
          why: "turn",
          passed_over: [{ key_id: a.id, label: "first", api_key: a.api_key, because: "rate_limited" }],
          left: { key_id: a.id, label: "first", api_key: a.api_key, because: "rate_limited" },
          started_at: at,
          duration_ms: 3,
          http_status: 200,
          outcome: "succeeded",
          message: null,
        },
      ],
      standing: null,
      first_byte_ms: 5,
      duration_ms: 12.5,
      request_bytes: 10,
      response_bytes: 20,
      usage: {
        input_tokens: 5,
        cache_read_tokens: 4,
        cache_write_tokens: 3,
        output_tokens: 2,
        reasoning_tokens: 1,
      },
    });
    expect(await idsOf("provider=explained")).toEqual([id]);
    expect(await idsOf(`key=${a.id}`)).toEqual([id]);
  });

  it("says how the pool stood when no key was left", async () => {
    const standing = { total: 3, resting: 2, disabled: 1, unresolved: 0, tried: 0 };
    const id = record({ status: 429, error: "pool_exhausted", standing });

    const { body } = await bench.call("GET", `/api/requests/${id}`);

    expect(body).toMatchObject({ standing, decision: "No key was left: of 3, 2 cooling down, 1 disabled." });
  });

  it("lists the newest first, the same from memory and from the store", async () => {
    const ids = Array.from({ length: 5 }, () => record({ sessionId: "list" })).reverse();

    expect(await idsOf("session=list")).toEqual(ids);
    await bench.restart();
    expect(await idsOf("session=list")).toEqual(ids);
    const newer = record({ sessionId: "list" });
    expect(await idsOf("session=list")).toEqual([newer, ...ids]);
  });

  it("pages without a gap or a repetition while requests go on ending", async () => {
    const old = Array.from({ length: 7 }, () => record({ sessionId: "pages" }));
    await bench.restart();
    const fresh = Array.from({ length: 3 }, () => record({ sessionId: "pages" }));
    const seen: string[] = [];
    let cursor: string | null = null;

    do {
      const next: string = cursor === null ? "" : `&cursor=${cursor}`;
      const { body } = await bench.call("GET", `/api/requests?session=pages&limit=4${next}`);
      seen.push(...(body as { data: { id: string }[] }).data.map(({ id }) => id));
      cursor = (body as { next_cursor: string | null }).next_cursor;
      record({ sessionId: "pages" });
    } while (cursor !== null);

    expect(seen).toEqual([...old, ...fresh].reverse());
  });

  it("filters by status, its class, and by what failed", async () => {
    const sessionId = "filter";
    const [ok, limited, cut, down] = [
      record({ sessionId }),
      record({ sessionId, status: 429 }),
      record({ sessionId, ending: "truncated" }),
      record({ sessionId, status: 502 }),
    ];
    for (const again of [false, true]) {
      if (again) await bench.restart();

      expect(await idsOf("session=filter&status=429")).toEqual([limited]);
      expect(await idsOf("session=filter&status=5xx")).toEqual([down]);
      expect(await idsOf("session=filter&status=2xx")).toEqual([cut, ok]);
      expect(await idsOf("session=filter&status=failed")).toEqual([down, cut, limited]);
      expect(await idsOf("session=filter&status=succeeded")).toEqual([ok]);
    }
  });

  it("finds those that a key failed, whether or not another one served them", async () => {
    const sessionId = "failover";
    const attempt = { why: "turn", passedOver: [], startedAt: bench.clock.now(), durationMs: 1 } as const;
    const limited = { ...attempt, keyId: "key_a", status: 429, outcome: "rate_limited" };
    const served = { ...attempt, keyId: "key_b", status: 200, outcome: "succeeded" };
    record({ sessionId, keyId: "key_b", attempts: [served] });
    const rescued = record({ sessionId, keyId: "key_b", attempts: [limited, served] });
    const lost = record({ sessionId, status: 429, error: "pool_exhausted", attempts: [limited] });
    for (const again of [false, true]) {
      if (again) await bench.restart();

      expect(await idsOf("session=failover&status=failover")).toEqual([lost, rescued]);
    }
  });

  it("shows no secret that a client has put into a path or a model", async () => {
    const id = record({ path: "/v1/sk-secret", model: "sk-secret" });
    for (const again of [false, true]) {
      if (again) await bench.restart();

      expect(await bench.call("GET", `/api/requests/${id}`)).toMatchObject({
        body: { path: "/v1/[redacted]", model: "[redacted]" },
      });
    }
  });

  it("keeps what went through a provider and a key that are gone", async () => {
    const provider = await bench.addProvider();
    const key = await bench.addKey(provider, { label: "kept" });
    const id = record({ providerId: provider, keyId: key.id });
    await bench.restart();
    await bench.catalog.providers.remove(provider);

    expect(await idsOf(`provider=${provider}&key=${key.id}`)).toEqual([id]);
    expect(await bench.call("GET", `/api/requests/${id}`)).toMatchObject({ body: { key_id: key.id, label: null } });
  });

  it.each([
    ["status=600", 422],
    ["status=9xx", 422],
    ["limit=0", 422],
    ["limit=1001", 422],
    ["cursor=-1", 422],
    ["nonsense=1", 422],
    ["provider=nobody", 404],
  ])("refuses ?%s with %i", async (query, status) => {
    expect((await bench.call("GET", `/api/requests?${query}`)).status).toBe(status);
  });

  it("answers 404 for a request that it does not know", async () => {
    expect((await bench.call("GET", "/api/requests/req_nobody")).status).toBe(404);
  });

  it("is for operators", async () => {
    expect((await bench.call("GET", "/api/requests", undefined, {})).status).toBe(401);
  });

  it("shows what is in memory while the database cannot be read", async () => {
    const ids = Array.from({ length: 3 }, () => record({ sessionId: "trouble" })).reverse();
    bench.breakStore("listRequests");

    expect(await idsOf("session=trouble&limit=2")).toEqual(ids.slice(0, 2));
    bench.breakStore(undefined);
  });
});
