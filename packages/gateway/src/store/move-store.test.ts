import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { healthy, Secret } from "@keywheel/pool";
import { afterEach, beforeAll, beforeEach, expect, it } from "vitest";
import { createTestDatabase, queryPostgres } from "../../../testkit/src/postgres.ts";
import { aKeyRecord, aProviderRecord, aTokenRecord } from "../../../testkit/src/store-suite.ts";
import { toBlocks } from "../requests/request-blocks.ts";
import { moveStore } from "./move-store.ts";
import { openStore } from "./open-store.ts";
import type { Store, UsageQuery } from "./store.ts";

let to: string;
let dataDir: string;
beforeAll(async () => {
  to = await createTestDatabase();
});
beforeEach(async () => {
  dataDir = await mkdtemp(join(tmpdir(), "keywheel-store-"));
  await queryPostgres(to, "drop schema public cascade; create schema public");
});
afterEach(() => rm(dataDir, { recursive: true }));

const name = "한국어 ' \" \0 \x1A0 🔑";
const usageOf = (label: string) => ({
  span: "hour" as const,
  at: 3_600_000,
  providerId: "prv_1",
  keyId: "key_1",
  label,
  tokenId: "",
  model: `gpt\0${label}`,
  requests: 3,
  errors: 1,
  failovers: 1,
  inputTokens: 9_007_199_254_740_000,
  cacheReadTokens: 0,
  cacheWriteTokens: 0,
  outputTokens: 7,
  reasoningTokens: 0,
});
const usageQuery: UsageQuery = { span: "hour", from: 0, to: 1e15, by: ["time", "key", "model"], limit: 100 };

async function fill(store: Store): Promise<void> {
  await store.insertProvider(
    aProviderRecord({ name, apiKey: { kind: "literal", value: new Secret("sk-provider-0123") } }),
  );
  await store.insertKeys([
    ...Array.from({ length: 1200 }, (_, at) => aKeyRecord({ id: `key_${at + 1}`, label: name, order: at % 7 })),
    aKeyRecord({ id: "by_name", secret: { kind: "reference", name: "OPENAI_KEY" }, enabled: false }),
  ]);
  await store.insertToken(aTokenRecord({ providerIds: ["prv_1"], maxConcurrent: 3 }));
  await store.saveOutcomes([
    {
      kind: "health",
      record: {
        poolId: "prv_1",
        keyId: "key_2",
        secretVersion: 1,
        model: "",
        health: { ...healthy, failures: 3, cooldowns: 3, failuresSeen: 4, cooledAt: 5000, coolUntil: 9e15 },
        reason: { code: "rate_limited", httpStatus: 429, message: name, at: 5000 },
      },
    },
    {
      kind: "disable",
      record: {
        poolId: "prv_1",
        keyId: "key_3",
        secretVersion: 1,
        reason: { code: "authentication_failed", httpStatus: 401, message: null, at: 6000 },
      },
    },
  ]);
  await store.saveSessions(
    Array.from({ length: 700 }, (_, at) => ({
      poolId: "prv_1",
      keyId: `key_${(at % 9) + 1}`,
      session: { id: `s${at}\0`, valueHash: `h${at}`, carrier: "x", fingerprint: { high: at, low: 2 ** 52 - at } },
      boundAt: 10_000 + at,
      lastUsedAt: 20_000 + at,
      requests: at,
    })),
  );
  await store.savePins([
    { poolId: "prv_1", keyId: "key_1", kind: "object", fingerprint: { high: 1, low: 2 }, at: 7 },
    { poolId: "prv_1", keyId: "key_1", kind: "conversation", fingerprint: { high: 1, low: 2 }, at: 7 },
  ]);
  await store.saveActivity({
    requests: toBlocks(
      Array.from({ length: 600 }, (_, at) => ({
        seq: 3_500_000_000_000_000 + at,
        id: `req_${at}`,
        providerId: "prv_1",
        keyId: "key_1",
        otherKeyIds: ["key_2"],
        sessionId: null,
        status: 200,
        failed: false,
        startedAt: 1_700_000_000_000,
        detail: JSON.stringify({ model: name }),
      })),
    ),
    usage: [usageOf("a"), usageOf("b")],
    totals: [{ keyId: "key_1", requests: 5, successes: 4, failures: 1, lastUsedAt: 99 }],
  });
  await store.setMeta("admin_token_sha256", "00ff");
}

/** Everything that a store answers, for comparison. */
async function contentsOf(store: Store): Promise<object> {
  const reveal = (_: string, value: unknown): unknown => (value instanceof Secret ? value.reveal() : value);
  const bindings = [];
  for await (const some of store.readBindings(() => 0)) bindings.push(...some);
  return {
    state: JSON.parse(JSON.stringify(await store.load(), reveal)) as unknown,
    bindings,
    sessions: (await store.listSessions({ limit: 1000 })).sessions,
    pins: [await store.readPins("object", 10), await store.readPins("conversation", 10)],
    requests: await store.listRequests({ limit: 1000, keyId: "key_2" }),
    usage: await store.readUsage(usageQuery),
    activity: { ...(await store.loadActivity()), lane: undefined },
    admin: await store.getMeta("admin_token_sha256"),
  };
}

it("carries over everything, sealed values too, and what is added after goes on from there", async () => {
  const source = await openStore({ dataDir });
  await fill(source);
  const before = await contentsOf(source);
  await source.close();

  const outcome = await moveStore({ dataDir, to });

  const target = await openStore({ dataDir, databaseUrl: to });
  try {
    expect(outcome).toMatchObject({
      wasDone: false,
      rows: { providers: 1, keys: 1201, sessions: 700, request_blocks: 1 },
    });
    expect(await contentsOf(target)).toEqual(before);
    expect(target.masterKeyMatches).toBe(true);
    await target.insertProvider(aProviderRecord({ id: "prv_2", slug: "two" }));
    await target.insertKeys([aKeyRecord({ id: "key_last", providerId: "prv_2" })]);
    expect((await target.load()).providers.map(({ id }) => id)).toEqual(["prv_1", "prv_2"]);
  } finally {
    await target.close();
  }
});

it("has done nothing when it is cut off, and is done again", async () => {
  const source = await openStore({ dataDir });
  await fill(source);
  await source.close();
  const cutOff = moveStore({
    dataDir,
    to,
    beforeCommit: () => {
      throw new Error("cut off");
    },
  });

  await expect(cutOff).rejects.toMatchObject({ message: "cut off" });
  const left = await queryPostgres(to, "select 1 from pg_tables where schemaname = 'public'");
  const outcome = await moveStore({ dataDir, to });
  const again = await moveStore({ dataDir, to });

  expect(left).toEqual([]);
  expect(outcome.wasDone).toBe(false);
  // Said once more, for whoever did not see the end of the first.
  expect(again).toEqual({ ...outcome, wasDone: true });
});

it("refuses a database that holds anything else, and changes nothing there", async () => {
  const source = await openStore({ dataDir });
  await fill(source);
  await source.close();
  const other = await openStore({ dataDir: join(dataDir, "other"), databaseUrl: to });
  await other.insertProvider(aProviderRecord({ id: "prv_x", slug: "theirs" }));
  await other.close();

  await expect(moveStore({ dataDir, to })).rejects.toMatchObject({
    code: "conflict",
    message: expect.stringContaining("is not empty") as string,
  });

  expect(await queryPostgres(to, "select id from providers")).toEqual([{ id: "prv_x" }]);
});

it("refuses a data directory that a gateway has, or that holds no database", async () => {
  const source = await openStore({ dataDir });

  await expect(moveStore({ dataDir, to })).rejects.toMatchObject({ code: "conflict" });
  await source.close();
  await expect(moveStore({ dataDir: join(dataDir, "none"), to })).rejects.toMatchObject({ code: "not_found" });
});

it("keeps nothing of a copy that comes out different", async () => {
  const source = await openStore({ dataDir });
  await fill(source);
  await source.close();
  // A server that alters what is written to it, for whatever reason.
  await (await openStore({ dataDir: join(dataDir, "other"), databaseUrl: to })).close();
  await queryPostgres(
    to,
    `truncate meta;
     create function alter_label() returns trigger language plpgsql as $$ begin new.label := 'x'; return new; end $$;
     create trigger altering before insert on keys for each row execute function alter_label()`,
  );

  await expect(moveStore({ dataDir, to })).rejects.toMatchObject({
    code: "store_unavailable",
    message: expect.stringContaining("The copy of keys is not what was copied") as string,
  });

  expect(await queryPostgres(to, "select id from providers")).toEqual([]);
});
