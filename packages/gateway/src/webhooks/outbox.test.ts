import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { createFakeClock } from "@keywheel/testkit";
import { describe, expect, it, onTestFinished, vi } from "vitest";
import { aWebhookRecord } from "../../../testkit/src/store-suite.ts";
import { openStore } from "../store/open-store.ts";
import type { OpenedStore, WebhookRecord } from "../store/store.ts";
import { Outbox, type OutboxDeps, retryWaitsMs, type SentWebhook } from "./outbox.ts";

/** Every delivery is written to a disk that others use as well. */
function soon(check: () => void | Promise<void>): Promise<void> {
  return vi.waitFor(check, { timeout: 10_000, interval: 10 });
}

interface Bench {
  readonly outbox: Outbox;
  readonly store: OpenedStore;
  readonly clock: ReturnType<typeof createFakeClock>;
  /** What arrived: `webhook-id` and body. */
  readonly arrived: { readonly url: string; readonly id: string; readonly body: string }[];
  /** What the receiver answers; the last one lasts. */
  answers: SentWebhook[];
  readonly ends: string[];
  readonly hooks: Map<string, WebhookRecord>;
  restart(): Outbox;
  deliveries(): ReturnType<OpenedStore["listDeliveries"]>;
}

const ok: SentWebhook = { status: 204, retryAfterMs: undefined, problem: "" };
const down: SentWebhook = {
  status: undefined,
  retryAfterMs: undefined,
  problem: "The receiver's address refuses connections.",
};

/** A receiver that takes everything and answers nothing. */
function silence(signal: AbortSignal): Promise<SentWebhook> {
  return new Promise((resolve) => signal.addEventListener("abort", () => resolve(down)));
}

async function openBench(hooks: readonly WebhookRecord[] = [aWebhookRecord()]): Promise<Bench> {
  const dataDir = mkdtempSync(join(tmpdir(), "keywheel-outbox-"));
  const store = await openStore({ dataDir, masterKey: Buffer.alloc(32, "outbox").toString("base64") });
  for (const hook of hooks) await store.insertWebhook(hook);
  const clock = createFakeClock();
  const arrived: { url: string; id: string; body: string }[] = [];
  const ends: string[] = [];
  const byId = new Map(hooks.map((hook) => [hook.id, hook]));
  const opened: Outbox[] = [];
  const bench: Bench = {
    store,
    clock,
    arrived,
    ends,
    answers: [ok],
    hooks: byId,
    get outbox() {
      return opened.at(-1) as Outbox;
    },
    restart() {
      const deps: OutboxDeps = {
        store,
        clock,
        webhooks: {
          list: () => [...byId.values()],
          find: (id) => byId.get(id),
          switchOff: async (id) =>
            void byId.set(id, { ...(byId.get(id) as WebhookRecord), enabled: false, disabledReason: "gone" }),
        },
        random: () => 0.5,
        warn: () => {},
        onAttempt: (type, outcome) => void ends.push(`${type} ${outcome}`),
        send: async (url, { headers, body }, signal) => {
          if (url === "http://silent/") return await silence(signal);
          arrived.push({ url, id: headers[headers.indexOf("webhook-id") + 1] ?? "", body });
          return (bench.answers.length > 1 ? bench.answers.shift() : bench.answers[0]) ?? ok;
        },
      };
      const outbox = new Outbox(deps);
      opened.push(outbox);
      outbox.start();
      return outbox;
    },
    deliveries: () => store.listDeliveries("whk_1", 100),
  };
  bench.restart();
  onTestFinished(async () => {
    for (const outbox of opened) await outbox.close();
    await store.close();
    rmSync(dataDir, { recursive: true, force: true });
  });
  return bench;
}

function tell(bench: Bench, type = "key.disabled", mark?: string): void {
  bench.outbox.tell({
    type,
    data: { key: { id: "key_1" } },
    at: bench.clock.now(),
    ...(mark === undefined ? {} : { mark }),
  });
}

/** Lets time pass, and the outbox look again. */
function later(bench: Bench, ms: number): void {
  bench.clock.advance(ms);
  bench.outbox.start();
}

describe("the outbox", () => {
  it("sends what is told to each webhook that wants it, once", async () => {
    const bench = await openBench([
      aWebhookRecord(),
      aWebhookRecord({ id: "whk_2", url: "http://other/", events: ["pool.exhausted"] }),
      aWebhookRecord({ id: "whk_3", url: "http://off/", enabled: false }),
    ]);

    tell(bench, "key.disabled");
    tell(bench, "pool.exhausted");

    await soon(() => expect(bench.ends).toHaveLength(3));
    expect(bench.arrived.map(({ url }) => url).sort()).toEqual(
      [aWebhookRecord().url, aWebhookRecord().url, "http://other/"].sort(),
    );
    expect(JSON.parse(bench.arrived[0]?.body ?? "")).toEqual({
      type: "key.disabled",
      timestamp: new Date(bench.clock.now()).toISOString(),
      data: { key: { id: "key_1" } },
    });
    await soon(async () =>
      expect(await bench.deliveries()).toMatchObject([
        { type: "pool.exhausted", delivered: true, attempts: 1, lastStatus: 204, nextAt: null },
        { type: "key.disabled", delivered: true, attempts: 1, lastStatus: 204, nextAt: null },
      ]),
    );
  });

  it("keeps nobody waiting for a receiver that does not answer", async () => {
    const bench = await openBench([
      aWebhookRecord({ url: "http://silent/" }),
      aWebhookRecord({ id: "whk_2", url: "http://other/" }),
    ]);
    for (let n = 0; n < 40; n++) tell(bench);

    await soon(() => expect(bench.arrived).toHaveLength(40));
    expect(new Set(bench.arrived.map(({ url }) => url))).toEqual(new Set(["http://other/"]));
  });

  it("tries again with the same id, later and later, and then gives up", async () => {
    const bench = await openBench();
    bench.answers = [down];
    tell(bench);

    for (const [tries, waitMs] of retryWaitsMs.entries()) {
      await soon(() => expect(bench.ends).toHaveLength(tries + 1));
      await soon(async () => expect((await bench.deliveries())[0]?.nextAt).toBe(bench.clock.now() + waitMs));
      later(bench, waitMs - 1);
      await new Promise((resolve) => setTimeout(resolve, 20));
      expect(bench.arrived).toHaveLength(tries + 1);
      later(bench, 1);
    }

    await soon(() => expect(bench.ends.at(-1)).toBe("key.disabled failed"));
    expect(new Set(bench.arrived.map(({ id }) => id)).size).toBe(1);
    await soon(async () =>
      expect(await bench.deliveries()).toMatchObject([
        { attempts: retryWaitsMs.length + 1, nextAt: null, delivered: false, lastError: down.problem },
      ]),
    );
  });

  it("waits as long as the receiver asks for, within bounds", async () => {
    const bench = await openBench();
    bench.answers = [{ status: 429, retryAfterMs: 3_600_000, problem: "" }, ok];

    tell(bench);

    await soon(async () => expect((await bench.deliveries())[0]?.nextAt).toBe(bench.clock.now() + 3_600_000));
  });

  it.each([301, 400, 500])("takes an answer of %i for none", async (status) => {
    const bench = await openBench();
    bench.answers = [{ ...ok, status }];

    tell(bench);

    await soon(async () =>
      expect(await bench.deliveries()).toMatchObject([{ delivered: false, lastStatus: status, attempts: 1 }]),
    );
    expect((await bench.deliveries())[0]?.lastError).toContain(String(status));
  });

  it("switches a receiver off that says it is gone for good", async () => {
    const bench = await openBench();
    bench.answers = [{ ...ok, status: 410 }];

    tell(bench);
    await soon(() => expect(bench.hooks.get("whk_1")).toMatchObject({ enabled: false, disabledReason: "gone" }));
    tell(bench);

    expect(await bench.deliveries()).toMatchObject([{ nextAt: null, delivered: false, lastStatus: 410 }]);
    expect(bench.arrived).toHaveLength(1);
  });

  it("sends after a restart what was waiting, with the same id", async () => {
    const bench = await openBench();
    bench.answers = [down, ok];
    tell(bench);
    await soon(() => expect(bench.ends).toEqual(["key.disabled retried"]));
    await bench.outbox.close();

    bench.clock.advance(10_000);
    bench.restart();

    await soon(() => expect(bench.ends).toEqual(["key.disabled retried", "key.disabled delivered"]));
    expect(bench.arrived[1]).toEqual(bench.arrived[0]);
  });

  it("keeps what was told just before the end", async () => {
    const bench = await openBench();

    tell(bench);
    await bench.outbox.close();

    expect(await bench.deliveries()).toHaveLength(1);
    expect(bench.arrived).toEqual([]);
    bench.restart();
    await soon(() => expect(bench.arrived).toHaveLength(1));
  });

  it("sends an event once that two gateways tell of", async () => {
    const bench = await openBench();

    tell(bench, "key.disabled", "key_1 at 7");
    tell(bench, "key.disabled", "key_1 at 7");
    tell(bench, "key.disabled", "key_1 at 8");

    await soon(() => expect(bench.arrived).toHaveLength(2));
    expect(await bench.deliveries()).toHaveLength(2);
  });

  it("holds no more than a thousand for a receiver that is away", async () => {
    const bench = await openBench();
    bench.answers = [down];

    for (let told = 0; told < 1_200; told++) tell(bench);

    await soon(() => expect(bench.ends.filter((end) => end.endsWith("dropped"))).toHaveLength(200));
    await soon(async () => expect(await bench.store.listDeliveries("whk_1", 5_000)).toHaveLength(1_000));
  });

  it("sends a test at once, to one that is switched off as well, and tries it once", async () => {
    const bench = await openBench([aWebhookRecord({ enabled: false })]);
    bench.answers = [{ ...ok, status: 500 }];

    const outcome = await bench.outbox.test(aWebhookRecord({ enabled: false }), AbortSignal.timeout(1_000));

    expect(outcome).toMatchObject({ delivered: false, status: 500, problem: "The receiver answered 500." });
    expect(await bench.deliveries()).toMatchObject([
      { type: "webhook.test", nextAt: null, attempts: 1, lastStatus: 500 },
    ]);
  });

  it("says so where the secret cannot be read", async () => {
    const bench = await openBench();
    bench.hooks.set("whk_1", aWebhookRecord({ secret: { kind: "undecryptable", masked: "…" } }));

    tell(bench);

    await soon(async () => expect((await bench.deliveries())[0]?.lastError).toMatch(/another master key/));
    expect(bench.arrived).toEqual([]);
  });
});
