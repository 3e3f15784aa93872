import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { createFakeClock } from "@keywheel/testkit";
import { expect, it, onTestFinished } from "vitest";
import { aProviderRecord } from "../../../testkit/src/store-suite.ts";
import type { ActivityEvent } from "../activity/events.ts";
import { openStore } from "../store/open-store.ts";
import type { OpenedStore } from "../store/store.ts";
import { ExhaustedPools } from "./exhausted-pools.ts";
import type { PoolTold } from "./outbox.ts";

const provider = { id: "prv_1", slug: "openai", name: "OpenAI" };
type Notice = Extract<ActivityEvent, { readonly type: "notice" }>;

function aNotice(code: string, parts: Partial<Notice> = {}): Notice {
  const rest = { count: 1, resolvedAt: undefined, isDismissed: false, at: 1_750_000_000_000 };
  const facts = { resting: 2, total: 3 };
  return { type: "notice", noticeId: "ntc_1", code, providerId: "prv_1", message: "No key.", facts, ...rest, ...parts };
}

interface Gateway {
  readonly pools: ExhaustedPools;
  /** What it has told, as the store took it. */
  readonly told: PoolTold[];
  canServe: boolean;
}

async function openBench() {
  const dataDir = mkdtempSync(join(tmpdir(), "keywheel-exhausted-"));
  const store: OpenedStore = await openStore({ dataDir, masterKey: Buffer.alloc(32, "pools").toString("base64") });
  await store.insertProvider(aProviderRecord());
  const clock = createFakeClock();
  onTestFinished(async () => {
    await store.close();
    rmSync(dataDir, { recursive: true, force: true });
  });
  /** Another gateway, or another process, on the same store. */
  const start = (): Gateway => {
    const told: PoolTold[] = [];
    const gateway: Gateway = {
      told,
      canServe: false,
      pools: new ExhaustedPools({
        tell: (event) => void told.push(event),
        provider: (id) => (id === "prv_1" ? provider : undefined),
        canServe: async () => gateway.canServe,
        redact: (text) => text,
        store,
        clock,
      }),
    };
    return gateway;
  };
  /** As the outbox does. */
  const write = async ({ told }: Gateway) => {
    const taken: string[] = [];
    for (const { type, turn } of told.splice(0))
      if ((await store.insertPoolTurn(turn, [], 10)) !== undefined) taken.push(type);
    return taken;
  };
  return { start, write, clock, store };
}

it("tells once that a pool is exhausted, whatever is said of it, and once that it is not", async () => {
  const { start, write } = await openBench();
  const gateway = start();

  gateway.pools.notice(aNotice("pool_exhausted"));
  gateway.pools.notice(aNotice("pool_exhausted", { count: 9 }));
  gateway.pools.notice(aNotice("no_usable_key"));
  await gateway.pools.look();
  expect(gateway.told).toMatchObject([
    {
      type: "pool.exhausted",
      data: { provider, reason: "pool_exhausted", message: "No key.", keys: { total: 3, resting: 2 } },
    },
  ]);
  expect(await write(gateway)).toEqual(["pool.exhausted"]);

  gateway.canServe = true;
  await gateway.pools.look();
  await gateway.pools.look();
  expect(gateway.told).toMatchObject([{ type: "pool.recovered", data: { provider } }]);
  expect(await write(gateway)).toEqual(["pool.recovered"]);
});

it("takes a notice that was let go of for no recovery", async () => {
  const { start } = await openBench();
  const gateway = start();
  gateway.pools.notice(aNotice("pool_exhausted"));

  gateway.pools.notice(aNotice("pool_exhausted", { resolvedAt: 1_750_000_300_000 }));
  await gateway.pools.look();

  expect(gateway.told.map(({ type }) => type)).toEqual(["pool.exhausted"]);
});

it("leaves out what is no pool's", async () => {
  const { start } = await openBench();
  const gateway = start();

  gateway.pools.notice(aNotice("store_unavailable", { providerId: undefined }));
  gateway.pools.notice(aNotice("edge_block"));

  expect(gateway.told).toEqual([]);
});

it("is taken over by the process that comes next, once the former one is known to be gone", async () => {
  const { start, write, clock } = await openBench();
  const former = start();
  former.pools.notice(aNotice("pool_exhausted", { at: clock.now() }));
  await write(former);
  const next = start();
  next.canServe = true;

  await next.pools.look();
  expect(next.told).toEqual([]);
  clock.advance(16_000);
  await next.pools.look();
  await next.pools.look();

  expect(await write(next)).toEqual(["pool.recovered"]);
});

it("is left to the gateway that watches for it, as long as that one lives", async () => {
  const { start, write, clock } = await openBench();
  const [one, other] = [start(), start()];
  one.pools.notice(aNotice("pool_exhausted", { at: clock.now() }));
  await write(one);
  other.canServe = true;

  for (let second = 0; second < 40; second += 5) {
    clock.advance(5_000);
    await one.pools.look();
    await other.pools.look();
  }

  expect([...one.told, ...other.told]).toEqual([]);
});

it("is told by one of two gateways that see the same", async () => {
  const { start, write, clock } = await openBench();
  const [one, other] = [start(), start()];
  for (const { pools } of [one, other]) pools.notice(aNotice("pool_exhausted", { at: clock.now() }));
  expect([await write(one), await write(other)]).toEqual([["pool.exhausted"], []]);
  for (const gateway of [one, other]) gateway.canServe = true;

  await Promise.all([one.pools.look(), other.pools.look()]);

  expect([...(await write(other)), ...(await write(one))]).toEqual(["pool.recovered"]);
});

it("forgets a provider that is gone", async () => {
  const { start, write, store, clock } = await openBench();
  const gateway = start();
  gateway.pools.notice(aNotice("pool_exhausted", { at: clock.now() }));
  await write(gateway);

  await store.deleteProvider("prv_1");
  gateway.pools.catalogEvent({ type: "provider-deleted", providerId: "prv_1", at: clock.now() });
  gateway.canServe = true;
  clock.advance(60_000);
  await gateway.pools.look();

  expect(gateway.told).toEqual([]);
});
