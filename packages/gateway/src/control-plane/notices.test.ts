import { afterAll, beforeAll, beforeEach, describe, expect, it } from "vitest";
import type { RequestRecord } from "../data-plane/request-record.ts";
import { type ControlBench, load, openControlBench, sharing } from "./control-plane.test-bench.ts";

interface NoticeOnTheWire {
  readonly id: string;
  readonly code: string;
  readonly provider_id: string | null;
  readonly message: string;
  readonly action: { readonly path: string; readonly body: object } | null;
  readonly count: number;
  readonly resolved_at: string | null;
}

let bench: ControlBench;
let provider: string;
beforeAll(async () => {
  bench = await openControlBench({ variables: {} });
});
beforeEach(async () => {
  await bench.clean();
  provider = await bench.addProvider({ slug: "used", name: "Used", base_url: "http://127.0.0.1:9/v1" });
  bench.told.length = 0;
});
afterAll(() => bench.close());

async function notices(): Promise<NoticeOnTheWire[]> {
  return (await bench.call("GET", "/api/notices")).body.data as NoticeOnTheWire[];
}

async function holding(): Promise<string[]> {
  return (await notices()).filter((notice) => notice.resolved_at === null).map(({ code }) => code);
}

const standing = { total: 2, resting: 2, disabled: 0, unresolved: 0, tried: 0 };

function ended(parts: Partial<RequestRecord>): void {
  bench.room.requestEnded({
    requestId: "req",
    providerId: provider,
    slug: "used",
    method: "POST",
    path: "/v1/x",
    startedAt: bench.clock.now(),
    durationMs: 1,
    status: 200,
    attempts: [],
    ending: "completed",
    requestBytes: 1,
    ...parts,
  });
}

it("tells that Redis is away as long as it is, in every place where one would look, and stays ready", async () => {
  sharing.trouble = "connect ECONNREFUSED 127.0.0.1:6379";
  const [notice] = await notices();
  const status = await bench.call("GET", "/api/status");
  const ready = await bench.call("GET", "/readyz", undefined, {});
  sharing.trouble = undefined;
  expect(await holding()).toEqual([]);
  await bench.call("DELETE", `/api/notices/${notice?.id}`);

  expect(notice).toMatchObject({ code: "shared_state_unavailable", provider_id: null, resolved_at: null });
  expect(status.body.shared_state).toEqual({
    kind: "redis",
    ok: false,
    trouble: "connect ECONNREFUSED 127.0.0.1:6379",
  });
  expect(ready).toMatchObject({ status: 200, body: { status: "ready", detail: expect.stringContaining("Redis") } });
  expect((await bench.call("GET", "/readyz", undefined, {})).body).toEqual({ status: "ready" });
});

it("tells of an overload with its reason, as long as it lasts, and writes nothing down for every refusal", async () => {
  load.reason = "memory";
  bench.room.notices.check();
  ended({ status: 503, error: "overloaded" });
  bench.room.notices.check();
  const [notice] = await notices();
  expect(notice).toMatchObject({ code: "overloaded", provider_id: null, facts: { reason: "memory" }, count: 1 });
  expect(notice?.message).toContain("Memory runs out");
  expect((await bench.call("GET", "/api/requests")).body.data).toEqual([]);

  load.reason = undefined;
  bench.room.notices.check();

  expect(await holding()).toEqual([]);
  await bench.call("DELETE", `/api/notices/${notice?.id}`);
});

/** The pool refuses a key as the dispatcher does after a 401. */
async function refuse(keyId: string): Promise<RequestRecord["attempts"][number]> {
  const pool = bench.pool(provider);
  const choice = await pool.choose({ pinnedTo: keyId });
  if (choice.kind !== "key") throw new Error("the key cannot serve");
  const key = { kind: "disable", reason: "authentication_failed" } as const;
  await pool.settle(choice.ticket, { key, request: "next-key", code: "key_refused", message: "no", httpStatus: 401 });
  const attempt = { keyId, passedOver: [], durationMs: 1, startedAt: bench.clock.now() };
  return { ...attempt, why: "turn", status: 401, outcome: "key_refused" };
}

async function limit(keyId: string): Promise<void> {
  const pool = bench.pool(provider);
  const choice = await pool.choose({ pinnedTo: keyId });
  if (choice.kind !== "key") throw new Error("the key cannot serve");
  const key = { kind: "cool", reason: "rate_limited", scope: "key", failure: { rest: "ladder" } } as const;
  await pool.settle(choice.ticket, {
    key,
    request: "next-key",
    code: "rate_limited",
    message: "slow",
    httpStatus: 429,
  });
}

describe("notices", () => {
  it("tell of a pool that was exhausted, until a request is served again", async () => {
    ended({ status: 429, error: "pool_exhausted", standing });
    ended({ status: 429, error: "pool_exhausted", standing });

    expect(await notices()).toEqual([
      {
        id: expect.stringMatching(/^ntc_/),
        code: "pool_exhausted",
        provider_id: provider,
        message: "No key of Used could serve: 2 of 2 are cooling down.",
        hint: expect.any(String),
        facts: { resting: 2, total: 2 },
        action: null,
        at: new Date(bench.clock.now()).toISOString(),
        last_at: new Date(bench.clock.now()).toISOString(),
        count: 2,
        resolved_at: null,
      },
    ]);
    ended({ keyId: "key_a" });
    expect(await holding()).toEqual([]);
    expect(await notices()).toHaveLength(1);
  });

  it.each(["pool_exhausted", "no_usable_key"])("end %s as soon as there is a key that can serve", async (error) => {
    const key = await bench.addKey(provider, { enabled: false });
    ended({ status: 503, error, standing });
    expect(await holding()).toEqual([error]);
    expect(await holding()).toEqual([error]);
    bench.clock.advance(1_000);

    await bench.call("PATCH", `/api/keys/${key.id}`, { enabled: true });

    await expect.poll(holding).toEqual([]);
    // Told as of now, not as of when it was last met.
    const { data } = (await bench.call("GET", "/api/recent-events?limit=1")).body;
    expect(data).toMatchObject([{ type: "notice", code: error, at: new Date(bench.clock.now()).toISOString() }]);
  });

  it("forget an exhausted pool of which nothing was heard for five minutes", async () => {
    ended({ status: 429, error: "pool_exhausted", standing });
    bench.clock.advance(300_001);

    expect(await holding()).toEqual([]);
  });

  it("say to check the base URL when every key was refused and none ever accepted (case 26)", async () => {
    const keys = [await bench.addKey(provider), await bench.addKey(provider)];
    const attempts = [await refuse(keys[0]!.id), await refuse(keys[1]!.id)];
    ended({ status: 503, error: "no_usable_key", attempts });

    const [notice] = await notices();

    expect(notice).toMatchObject({
      code: "all_keys_refused",
      message: "127.0.0.1:9 has refused every key of Used, and never accepted one.",
      action: { method: "POST", path: `/api/providers/${provider}/keys/bulk` },
    });
    await bench.call("POST", notice!.action!.path, notice!.action!.body);
    const { body } = await bench.call("GET", `/api/providers/${provider}/keys`);
    expect(body.data.map(({ status }: { status: string }) => status)).toEqual(["available", "available"]);
    expect(await holding()).toEqual([]);
  });

  it("offer to enable refused keys again when the base URL has changed (D3)", async () => {
    const key = await bench.addKey(provider);
    ended({ status: 503, error: "no_usable_key", attempts: [await refuse(key.id)] });
    expect(await holding()).toEqual(["all_keys_refused"]);

    await bench.call("PATCH", `/api/providers/${provider}`, {
      base_url: "http://127.0.0.1:10/v1",
      confirm_host_change: true,
    });

    expect(await holding()).toEqual(["base_url_changed"]);
    await bench.call("POST", `/api/providers/${provider}/keys/bulk`, { action: "enable", ids: [key.id] });
    expect(await holding()).toEqual([]);
  });

  it("do not doubt a base URL at which a key was accepted", async () => {
    const key = await bench.addKey(provider);
    ended({ keyId: key.id });
    ended({ status: 503, error: "no_usable_key", attempts: [await refuse(key.id)] });

    expect(await holding()).toEqual(["no_usable_key"]);
  });

  it("tell when all keys are limited within a second (case 33), and not when they are one after the other", async () => {
    const keys = [await bench.addKey(provider), await bench.addKey(provider)];
    await limit(keys[0]!.id);
    bench.clock.advance(900);
    await limit(keys[1]!.id);
    ended({ status: 429, error: "pool_exhausted", standing });
    expect(await holding()).toContain("keys_limited_together");

    bench.clock.advance(3_600_000);
    ended({ keyId: keys[0]!.id });
    await limit(keys[0]!.id);
    bench.clock.advance(10_000);
    await limit(keys[1]!.id);
    ended({ status: 429, error: "pool_exhausted", standing });
    expect(await holding()).toEqual(["pool_exhausted"]);
  });

  it("tell of an unset variable until it is set", async () => {
    await bench.addKey(provider, { api_key: "$NOT_SET_YET" });

    expect(await notices()).toMatchObject([{ code: "keys_unresolved", provider_id: provider, count: 1 }]);
    expect((await notices())[0]?.message).toMatch(/^One key of Used cannot be used\. .*NOT_SET_YET/);
    await bench.call(
      "DELETE",
      `/api/keys/${(await bench.call("GET", `/api/providers/${provider}/keys`)).body.data[0].id}`,
    );
    expect(await holding()).toEqual([]);
  });

  it.each(["edge_block", "region_refused", "not_an_api"])("tell of %s", async (code) => {
    bench.room.poolEvent({ type: "notice", poolId: provider, code, message: "Sorry", at: bench.clock.now() });

    expect(await notices()).toMatchObject([
      { code, message: expect.stringMatching(/127\.0\.0\.1:9 .* It said: Sorry$/) },
    ]);
    ended({ keyId: "key_a" });
    expect(await holding()).toEqual([]);
  });

  it("go with their provider, and by being dismissed", async () => {
    ended({ status: 429, error: "pool_exhausted", standing });
    const [notice] = await notices();

    expect((await bench.call("DELETE", `/api/notices/${notice?.id}`)).status).toBe(204);
    expect((await bench.call("DELETE", `/api/notices/${notice?.id}`)).status).toBe(404);
    expect(await notices()).toEqual([]);
    ended({ status: 429, error: "pool_exhausted", standing });
    await bench.catalog.providers.remove(provider);
    expect(await notices()).toEqual([]);
  });

  it("stay away once dismissed for as long as their cause lasts, and come when it happens again", async () => {
    await bench.addKey(provider, { api_key: "$NOT_SET_HERE" });
    ended({ status: 429, error: "pool_exhausted", standing });
    for (const { id } of await notices()) await bench.call("DELETE", `/api/notices/${id}`);

    expect(await notices()).toEqual([]);
    ended({ status: 429, error: "pool_exhausted", standing });
    expect(await notices()).toMatchObject([{ code: "pool_exhausted", count: 1 }]);
    // What it tells has changed: there are two now.
    await bench.addKey(provider, { api_key: "$NOT_SET_HERE_EITHER" });
    expect((await notices()).map(({ code }) => code).sort()).toEqual(["keys_unresolved", "pool_exhausted"]);
  });

  it("are told as over also once they were dismissed: others hear of them who dismiss nothing", async () => {
    ended({ status: 429, error: "pool_exhausted", standing });
    for (const { id } of await notices()) await bench.call("DELETE", `/api/notices/${id}`);
    const told = (): number => bench.told.filter((type) => type === "notice").length;
    const before = told();

    ended({ keyId: "key_a" });

    expect(told()).toBe(before + 1);
    expect(await notices()).toEqual([]);
  });

  it("are told as events: when they begin, seldom while they go on, and when they are over", async () => {
    const told = (): number => bench.told.filter((type) => type === "notice").length;
    for (let n = 0; n < 100; n++) ended({ status: 429, error: "pool_exhausted", standing });
    expect(told()).toBe(1);
    bench.clock.advance(5_000);
    ended({ status: 429, error: "pool_exhausted", standing });
    expect(told()).toBe(2);
    ended({ keyId: "key_a" });
    expect(told()).toBe(3);
  });
});

describe("events of requests", () => {
  it("tell how each ended", () => {
    const seen: unknown[] = [];
    const { end } = bench.events.subscribe(undefined, {
      told: (numbered) => void seen.push(numbered.event),
      close: () => {},
    });

    ended({ keyId: "key_a" });
    end();

    expect(seen).toMatchObject([
      { type: "request-finished", requestId: "req", providerId: provider, keyId: "key_a", status: 200, attempts: 0 },
    ]);
  });
});

describe("GET /api/recent-events", () => {
  it("names the keys that events are about, as long as there are such", async () => {
    const key = await bench.addKey(provider, { label: "first" });
    await limit(key.id);

    const before = await bench.call("GET", "/api/recent-events?limit=2");
    await bench.catalog.keys.remove(key.id);
    const { body } = await bench.call("GET", "/api/recent-events?limit=3");

    expect(before.body.data).toMatchObject([
      { type: "key-cooled", key_id: key.id, label: "first", api_key: key.api_key, reason: "rate_limited" },
      { type: "key-created", key_ids: [key.id], label: "first" },
    ]);
    expect(body.data).toMatchObject([
      { type: "key-deleted", label: null },
      { type: "key-cooled", key_id: key.id, label: null, api_key: null },
      { type: "key-created" },
    ]);
  });

  it("refuses a limit that is out of range", async () => {
    expect((await bench.call("GET", "/api/recent-events?limit=0")).status).toBe(422);
  });
});
