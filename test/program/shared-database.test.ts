import { setTimeout as sleep } from "node:timers/promises";
import { type KeyView, reply, runGateway, type RunningGateway, startScriptedProvider } from "@keywheel/testkit";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { migrations } from "../../packages/gateway/src/store/migrations.ts";
import { createTestDatabase, queryPostgres } from "../../packages/testkit/src/postgres.ts";
import { poolOf } from "../pooled-provider.ts";

const masterKey = Buffer.alloc(32, 7).toString("base64");

let databaseUrl: string;
let one: RunningGateway;
let other: RunningGateway;
beforeAll(async () => {
  databaseUrl = await createTestDatabase();
  [one, other] = await Promise.all([startOn(databaseUrl), startOn(databaseUrl)]);
});
afterAll(async () => {
  await Promise.all([one, other].map((gateway) => gateway[Symbol.asyncDispose]()));
});

function startOn(url: string, env: Readonly<Record<string, string>> = {}): Promise<RunningGateway> {
  return runGateway({ env: { KEYWHEEL_DATABASE_URL: url, KEYWHEEL_MASTER_KEY: masterKey, ...env } });
}

/** Asks until the answer is the expected one. @returns how long that took, ms */
async function untilSeen<T>(ask: () => Promise<T>, expected: (answer: T) => boolean): Promise<number> {
  const begun = performance.now();
  for (;;) {
    const answer = await ask();
    const tookMs = performance.now() - begun;
    if (expected(answer)) return tookMs;
    if (tookMs > 5000) throw new Error(`not seen after 5 s: ${JSON.stringify(answer)}`);
    await sleep(10);
  }
}

async function keyOn(gateway: RunningGateway, id: string): Promise<KeyView | undefined> {
  const response = await gateway.apiResponse("GET", `/keys/${id}`);
  return response.ok ? ((await response.json()) as KeyView) : undefined;
}

describe("two gateways on one database", () => {
  it("see each other's providers, keys, settings and tokens within a second", async () => {
    await using pool = await poolOf(one);
    const { id, slug } = pool.record;
    const [first, second] = pool.keys;
    const took: Record<string, number> = {};

    took["keys"] = await untilSeen(
      () => keyOn(other, second!.id),
      (key) => key?.status === "available",
    );
    const served = await fetch(`${other.baseUrlOf({ slug })}/models`);
    await other.api("PATCH", `/keys/${first!.id}`, { weight: 9, enabled: false });
    took["change"] = await untilSeen(
      () => one.key(first!.id),
      ({ weight, status }) => weight === 9 && status === "disabled",
    );
    await one.api("PATCH", `/providers/${id}`, { slug: `${slug}-x`, settings: { cooldown: { base_ms: 777 } } });
    took["slug"] = await untilSeen(
      () => other.apiResponse("GET", `/providers/${slug}-x`),
      ({ ok }) => ok,
    );
    const token = await other.api<{ id: string }>("POST", "/tokens", { name: "ci" });
    took["token"] = await untilSeen(
      () => one.api<{ data: { id: string }[] }>("GET", "/tokens"),
      ({ data }) => data.some((held) => held.id === token.id),
    );
    await other.api("DELETE", `/tokens/${token.id}`);
    await other.api("DELETE", `/providers/${id}`);
    took["deletion"] = await untilSeen(
      () => one.apiResponse("GET", `/providers/${id}`),
      ({ status }) => status === 404,
    );

    expect(served.status).toBe(200);
    expect(Object.entries(took).filter(([, ms]) => ms >= 1000)).toEqual([]);
  });

  it("disable a refused key in the database before the retry, and in each other", async () => {
    await using pool = await poolOf(one);
    await untilSeen(
      () => keyOn(other, pool.keys[1]!.id),
      (key) => key !== undefined,
    );
    pool.provider.forKey(pool.valueOf("A")).always(reply.json(401, {}, {}));

    const answer = await pool.send();
    const stored = await queryPostgres(databaseUrl, "select enabled, disabled_code from keys where id = $1", [
      pool.keys[0]!.id,
    ]);
    const seenAfterMs = await untilSeen(
      () => other.key(pool.keys[0]!.id),
      ({ status }) => status === "disabled",
    );

    expect(answer.status).toBe(200);
    expect(stored).toEqual([{ enabled: 0, disabled_code: "authentication_failed" }]);
    expect(seenAfterMs).toBeLessThan(1000);
    expect((await other.key(pool.keys[0]!.id)).status_reason).toMatchObject({ code: "authentication_failed" });

    // Brought back on the other one, it serves here as well: what this one had learnt of it is forgotten.
    pool.provider.forKey(pool.valueOf("A")).clear();
    await other.api("PATCH", `/keys/${pool.keys[0]!.id}`, { enabled: true });
    await pool.becomes("A", "available");
    expect(await pool.turns(4)).toContain("A");
  });

  it("lose no change when both are edited at once", async () => {
    await using pool = await poolOf(one, { weights: [1, 1, 1, 1] });
    const { id } = pool.record;
    await untilSeen(
      () => keyOn(other, pool.keys[3]!.id),
      (key) => key !== undefined,
    );
    const patches = [
      { retry: { provider_errors: 2 } },
      { cooldown: { base_ms: 5000 } },
      { affinity: { idle_ttl_ms: 7_200_000 } },
      { timeouts: { connect_ms: 4321 } },
    ];

    const edits = patches.flatMap((settings, at) => {
      const gateway = at % 2 === 0 ? one : other;
      const key = pool.keys[at]!;
      return [
        gateway.api("PATCH", `/providers/${id}`, { settings }),
        gateway.api("PATCH", `/keys/${key.id}`, { label: `label ${at}` }),
        (gateway === one ? other : one).api("PATCH", `/keys/${key.id}`, { weight: at + 2 }),
        gateway.api("POST", `/providers/${id}/keys`, { api_key: `sk-invented-${id}-${at}-0123456789`, order: at }),
      ];
    });
    await Promise.all(edits);
    await untilSeen(
      async () => [await one.keys({ id }), await other.keys({ id })],
      ([mine, theirs]) => mine!.length === 8 && theirs!.length === 8,
    );

    const [mine, theirs] = await Promise.all([one, other].map((gateway) => gateway.api("GET", `/providers/${id}`)));
    const [myKeys, theirKeys] = await Promise.all([one, other].map((gateway) => gateway.keys({ id })));
    expect(mine).toMatchObject({ settings: Object.assign({}, ...patches) });
    expect(theirs).toEqual(mine);
    expect(myKeys!.filter(({ label }) => label !== "").map(({ label, weight }) => [label, weight])).toEqual(
      patches.map((_, at) => [`label ${at}`, at + 2]),
    );
    expect(theirKeys!.map(({ id: keyId }) => keyId)).toEqual(myKeys!.map(({ id: keyId }) => keyId));
  });

  it("add a value once, whoever comes first", async () => {
    await using pool = await poolOf(one);
    const add = (gateway: RunningGateway): Promise<Response> =>
      gateway.apiResponse("POST", `/providers/${pool.record.id}/keys`, { api_key: "sk-invented-once-0123456789" });
    await untilSeen(
      () => other.apiResponse("GET", `/providers/${pool.record.id}`),
      ({ ok }) => ok,
    );

    const answers = await Promise.all([add(one), add(other)]);

    expect(answers.map(({ status }) => status).sort((a, b) => a - b)).toEqual([201, 409]);
  });

  it("list the requests of both, newest first", async () => {
    await using pool = await poolOf(one);
    await untilSeen(
      () => keyOn(other, pool.keys[1]!.id),
      (key) => key !== undefined,
    );
    await Promise.all(
      Array.from({ length: 20 }, async (_, at) => {
        const gateway = at % 2 === 0 ? one : other;
        await (await fetch(`${gateway.baseUrlOf(pool.record)}/models`)).arrayBuffer();
      }),
    );

    const path = `/requests?provider=${pool.record.id}&limit=50`;
    const list = async (gateway: RunningGateway): Promise<string[]> =>
      (await gateway.api<{ data: { id: string }[] }>("GET", path)).data.map(({ id }) => id);
    for (const gateway of [one, other]) {
      await untilSeen(
        () => list(gateway),
        (ids) => ids.length === 20,
      );
    }
    expect(await list(other)).toEqual(await list(one));
  });

  it("resolve a reference each for itself, and the one that cannot says so", async () => {
    await using provider = await startScriptedProvider({ kind: "openai", keys: ["sk-invented-of-env-0123456789"] });
    await using third = await startOn(databaseUrl, { ONLY_HERE: "sk-invented-of-env-0123456789" });
    const record = await third.addProvider({ slug: "by-reference", baseUrl: provider.baseUrl });

    const [key] = await third.addKeys(record, ["$ONLY_HERE"]);
    await untilSeen(
      () => keyOn(one, key!.id),
      (seen) => seen?.status === "unresolved",
    );

    expect((await third.key(key!.id)).status).toBe("available");
    expect((await one.key(key!.id)).status_reason?.message).toContain("ONLY_HERE is not set");
  });

  it("refuse to seal with another master key, and say which is wrong", async () => {
    const stranger = await startOn(databaseUrl, { KEYWHEEL_MASTER_KEY: Buffer.alloc(32, 8).toString("base64") });
    await using _ = stranger;
    await using pool = await poolOf(one);
    await untilSeen(
      () => keyOn(stranger, pool.keys[1]!.id),
      (key) => key !== undefined,
    );

    const refused = await stranger.apiResponse("POST", `/providers/${pool.record.id}/keys`, {
      api_key: "sk-invented-sealed-0123456789",
    });

    expect(refused.status).toBe(503);
    expect(await refused.text()).toContain("another master key");
    expect(await stranger.api("GET", "/status")).toMatchObject({ master_key_ok: false });
    expect(await one.api("GET", "/status")).toMatchObject({ master_key_ok: true });
  });

  it("say at the start that they share the configuration, not the wheel", () => {
    expect(one.logs()).toMatch(/share.*configuration/);
    expect(one.logs()).not.toContain("Something went wrong");
  });

  it("migrate a new database once when several start at once", async () => {
    const url = await createTestDatabase();

    const gateways = await Promise.all(Array.from({ length: 3 }, () => startOn(url)));
    const applied = await queryPostgres(url, "select name from migrations order by name");
    await Promise.all(gateways.map((gateway) => gateway[Symbol.asyncDispose]()));

    expect(applied).toEqual(migrations.map(({ name }) => ({ name })));
  });
});
