import { readFileSync } from "node:fs";
import { setTimeout as pause } from "node:timers/promises";
import { afterEach, describe, expect, it } from "vitest";
import { type Reply, reply, runGateway, type RunGatewayOptions, type RunningGateway, sseText } from "@keywheel/testkit";
import { inRows } from "../in-rows.ts";
import { eventually, poolOf } from "../pooled-provider.ts";
import { chatHead, RawClient } from "./sockets.ts";

const mib = 1024 * 1024;
const clients: RawClient[] = [];
afterEach(() => {
  for (const client of clients.splice(0)) client.leave();
});

async function aClient({ url }: RunningGateway): Promise<RawClient> {
  const client = await RawClient.open(url);
  clients.push(client);
  return client;
}

const aGateway = (options: RunGatewayOptions = {}): Promise<RunningGateway> =>
  runGateway({ flags: ["--log-level", "warn"], ...options });

/** What the process takes, in bytes. */
function memoryOf({ pid }: RunningGateway): number {
  const kib = /^VmRSS:\s+(\d+) kB/m.exec(readFileSync(`/proc/${pid}/status`, "utf8"))?.[1];
  return Number(kib) * 1024;
}

/** Of this process: the scripted provider is in it, and so are its clients. */
function openFiles(): number {
  return Number(/^Max open files\s+(\d+)/m.exec(readFileSync("/proc/self/limits", "utf8"))?.[1] ?? 1_024);
}

interface Load {
  readonly requests_running: number;
  readonly requests_limit: number;
  readonly refused_share: number;
  readonly reason: string | null;
}
const loadOf = async (gateway: RunningGateway): Promise<Load> =>
  (await gateway.api<{ load: Load }>("GET", "/status")).load;

const runningIs = (gateway: RunningGateway, count: number): Promise<Load> =>
  eventually(
    () => loadOf(gateway),
    ({ requests_running: running }) => running === count,
    { what: `${count} requests to run`, timeoutMs: 30_000 },
  );

/** Streams that begin at once and go on when told to. */
class HeldStreams {
  readonly #begun: ((event: string) => Promise<void>)[] = [];

  readonly reply: Reply = {
    readsBody: true,
    play: async (exchange) => {
      exchange.head(200, { "content-type": "text/event-stream" });
      await exchange.write(sseText({ data: { choices: [{ delta: { content: "one" } }] } }));
      this.#begun.push((event) => exchange.write(event));
      await exchange.request.ended;
    },
  };

  get count(): number {
    return this.#begun.length;
  }

  tell(word: string): Promise<unknown> {
    const event = sseText({ data: { choices: [{ delta: { content: word } }] } });
    return Promise.all(this.#begun.map((write) => write(event)));
  }
}

describe("a gateway on Linux", () => {
  it("holds as many open streams as open files allow, up to 10,000: none stalls, little memory each, all end", async () => {
    const many = Math.min(10_000, Math.floor((openFiles() - 1_000) / 2));
    await using gateway = await aGateway();
    await using pool = await poolOf(gateway, { weights: [1, 1, 1] });
    const streams = new HeldStreams();
    pool.provider.on().always(streams.reply);
    const atRest = memoryOf(gateway);
    const body = JSON.stringify({ model: "m", messages: [], stream: true });

    const opened = await inRows(many, 50, async () => {
      const client = await aClient(gateway);
      client.say(chatHead(pool.record.slug, body.length) + body);
      return client;
    });
    await eventually(
      async () => opened.filter(({ heard }) => heard.includes('"one"')).length,
      (count) => count === many,
      { what: `${many} streams to begin`, timeoutMs: 60_000 },
    );
    const perStream = (memoryOf(gateway) - atRest) / many;
    await streams.tell("two");
    await eventually(
      async () => opened.filter(({ heard }) => heard.includes('"two"')).length,
      (count) => count === many,
      { what: `${many} streams to go on`, timeoutMs: 30_000 },
    );

    expect(opened.filter(({ heard }) => !heard.startsWith("HTTP/1.1 200 "))).toEqual([]);
    expect(perStream).toBeLessThan(120 * 1024);
    for (const client of opened) client.leave();
    await runningIs(gateway, 0);
    expect(gateway.logs()).not.toMatch(/"level":"(error|fatal)"/);
  }, 180_000);

  it("holds little for clients that do not read endless answers", async () => {
    await using gateway = await aGateway();
    await using pool = await poolOf(gateway);
    pool.provider
      .on()
      .always(
        reply.endless(`data: {"x":"${"x".repeat(16_000)}"}\n\n`, { headers: { "content-type": "text/event-stream" } }),
      );
    const atRest = memoryOf(gateway);

    await inRows(200, 50, async () => {
      const client = await aClient(gateway);
      client.stopsReading();
      client.say(`${chatHead(pool.record.slug, 2)}{}`);
    });
    await runningIs(gateway, 200);
    await pause(1_500);

    expect((memoryOf(gateway) - atRest) / 200).toBeLessThan(1 * mib);
    expect((await fetch(`${gateway.url}/healthz`)).status).toBe(200);
  }, 60_000);

  it("holds of big uploads what its budget allows, streams the rest, and loses none", async () => {
    await using gateway = await aGateway({ flags: ["--log-level", "warn", "--max-memory-mb", "512"] });
    await using pool = await poolOf(gateway);
    let most = 0;
    const watch = setInterval(() => (most = Math.max(most, memoryOf(gateway))), 20);
    const body = JSON.stringify({ model: "m", messages: [{ role: "user", content: "x".repeat(10 * mib) }] });

    const statuses = await inRows(80, 40, async () => (await pool.send({ body })).status);
    clearInterval(watch);

    // What is let in is served; what memory is too short for is told to come again.
    expect(statuses.filter((status) => status !== 200 && status !== 503)).toEqual([]);
    expect(statuses.filter((status) => status === 200).length).toBeGreaterThan(30);
    expect(most).toBeLessThan(800 * mib);
    expect((await pool.send()).status).toBe(200);
  }, 120_000);

  it("closes on whoever sends headers without end, and goes on serving", async () => {
    await using gateway = await aGateway();
    await using pool = await poolOf(gateway);
    const atRest = memoryOf(gateway);

    const floods = await inRows(200, 50, async () => {
      const client = await aClient(gateway);
      client.say(`POST /${pool.record.slug}/v1/x HTTP/1.1\r\nhost: x\r\n`);
      for (let line = 0; line < 200 && !client.isClosed; line++) {
        client.say(`x-flood-${line}: ${"y".repeat(8_000)}\r\n`);
        await new Promise((resolve) => setImmediate(resolve));
      }
      return client;
    });
    await eventually(
      async () => floods.filter(({ isClosed }) => !isClosed).length,
      (open) => open === 0,
      { what: "all floods to be cut" },
    );

    expect(floods.filter(({ heard }) => heard !== "" && !heard.startsWith("HTTP/1.1 431 "))).toEqual([]);
    expect(memoryOf(gateway) - atRest).toBeLessThan(150 * mib);
    expect((await pool.send()).status).toBe(200);
  }, 60_000);

  it("serves on while more clients than it has room for open connections and say little", async () => {
    await using gateway = await aGateway({ openFiles: 400 });
    await using pool = await poolOf(gateway);

    const slow = await inRows(500, 25, async (number) => {
      const client = await aClient(gateway);
      if (number % 2 === 0) client.say("POST /openai/v1/x HTTP/1.1\r\nhost: x\r\nx-a: ");
      return client;
    });
    const dripping = setInterval(() => slow.forEach((client) => client.say("b")), 50);
    const statuses = await inRows(60, 6, async () => (await pool.send()).status);
    clearInterval(dripping);

    expect(new Set(statuses)).toEqual(new Set([200]));
    expect(slow.filter(({ isClosed }) => !isClosed).length).toBeLessThan(200);
    expect(gateway.isRunning).toBe(true);
  }, 60_000);

  it("refuses what is over the requests under way with 503 and when to come again, and says so everywhere", async () => {
    await using gateway = await aGateway({ flags: ["--log-level", "warn", "--max-requests", "20"] });
    await using pool = await poolOf(gateway);
    const gate = Promise.withResolvers<void>();
    pool.provider.on().always(reply.after(gate.promise, reply.json(200, {}, {})));
    const held = Array.from({ length: 20 }, () => pool.send());
    await runningIs(gateway, 20);

    const refused = await Promise.all(Array.from({ length: 40 }, () => pool.send()));
    const load = await loadOf(gateway);
    const { data: notices } = await eventually(
      () => gateway.api<{ data: { code: string; facts: object }[] }>("GET", "/notices"),
      ({ data }) => data.length > 0,
      { what: "a notice" },
    );
    const metrics = await (await fetch(`${gateway.url}/metrics`)).text();
    gate.resolve();

    expect(refused.map(({ status }) => status)).toEqual(Array.from({ length: 40 }, () => 503));
    expect(
      new Set(refused.map(({ headers }) => `${headers.get("x-keywheel-error")} ${headers.get("retry-after")}`)),
    ).toEqual(new Set(["overloaded 1"]));
    expect(load).toMatchObject({ requests_running: 20, requests_limit: 20, refused_share: 1, reason: "open_requests" });
    expect(notices[0]).toMatchObject({ code: "overloaded", facts: { reason: "open_requests" } });
    expect(metrics).toContain("keywheel_requests_limit 20");
    expect(metrics).toMatch(/keywheel_requests_total\{[^}]*status="503",error="overloaded"[^}]*\} 40/);
    expect(new Set((await Promise.all(held)).map(({ status }) => status))).toEqual(new Set([200]));
    await eventually(
      async () => gateway.logs(),
      (logs) => logs.includes("No longer overloaded"),
      { what: "the log to say that it is over" },
    );
    expect(gateway.logs()).toContain('"refused":40');
    expect((await pool.send()).status).toBe(200);
  }, 60_000);

  it("answers requests that come on one connection without waiting, in their order, and bounds them too", async () => {
    await using gateway = await aGateway({ flags: ["--log-level", "warn", "--max-requests", "50"] });
    await using pool = await poolOf(gateway);
    const client = await aClient(gateway);
    const request = `${chatHead(pool.record.slug, 28)}{"model":"m","messages":[] }`;

    client.say(request.repeat(2_000));
    await eventually(
      async () => client.heard.match(/HTTP\/1\.1 /g)?.length ?? 0,
      (count) => count === 2_000,
      { what: "2,000 answers", timeoutMs: 30_000 },
    );

    const statuses = client.heard.match(/HTTP\/1\.1 \d+/g) ?? [];
    expect(new Set(statuses)).toEqual(new Set(["HTTP/1.1 200", "HTTP/1.1 503"]));
    expect(pool.provider.requests.length).toBe(statuses.filter((line) => line.endsWith("200")).length);
    expect(pool.provider.requests.length).toBeGreaterThanOrEqual(50);
  }, 60_000);

  it("serves a pool of 10,000 keys: each its turn, little memory, no slower for it", async () => {
    await using gateway = await aGateway();
    await using few = await poolOf(gateway, { weights: [1, 1, 1] });
    const values = Array.from({ length: 10_000 }, (_, number) => `sk-test-many-${String(number).padStart(8, "0")}`);
    await using many = await poolOf(gateway, { weights: [], provider: { keys: values } });
    await few.turns(50);
    const atRest = memoryOf(gateway);
    await gateway.api("POST", `/providers/${many.record.id}/keys/import`, { text: values.join("\n") });
    const msFor = async (pool: typeof few, count: number): Promise<number> => {
      const began = performance.now();
      await inRows(count, 8, async () => (await pool.send()).arrayBuffer());
      return performance.now() - began;
    };
    // By turns, so that the machine is as busy for the one as for the other.
    let [withFew, withMany] = [0, 0];
    for (let round = 0; round < 5; round++) {
      withFew += await msFor(few, 200);
      withMany += await msFor(many, 200);
    }

    expect(Object.keys(many.provider.counts()).length).toBe(1_000);
    expect(Object.values(many.provider.counts())).toEqual(Array.from({ length: 1_000 }, () => 1));
    // Most of it is the room that the heap takes under any load.
    expect(memoryOf(gateway) - atRest).toBeLessThan(300 * mib);
    // Looking for a free one among all of them would cost many times as much; the rest is the machine's noise.
    expect(withMany / withFew).toBeLessThan(2.5);
  }, 60_000);
});
