import { createServer, type IncomingMessage, type ServerResponse } from "node:http";
import { setTimeout as sleep } from "node:timers/promises";
import { reply, runGateway, type RunningGateway } from "@keywheel/testkit";
import { afterAll, beforeAll, expect, it } from "vitest";
import { createTestDatabase } from "../../packages/testkit/src/postgres.ts";
import { eventually, type PooledProvider, poolOf } from "../pooled-provider.ts";

// Webhooks of gateways that share a PostgreSQL database: what several of them see is told once.

let one: RunningGateway;
let other: RunningGateway;
let databaseUrl: string;
beforeAll(async () => {
  databaseUrl = await createTestDatabase();
  [one, other] = await Promise.all([start(), start()]);
});
afterAll(async () => {
  await Promise.all([one, other].map((gateway) => gateway[Symbol.asyncDispose]()));
});

function start(): Promise<RunningGateway> {
  const masterKey = Buffer.alloc(32, 7).toString("base64");
  return runGateway({ env: { KEYWHEEL_DATABASE_URL: databaseUrl, KEYWHEEL_MASTER_KEY: masterKey } });
}

interface Arrival {
  readonly id: string;
  readonly type: string;
}

/** Notes what arrives, and what arrives while the same is still being taken. */
class Receiver implements AsyncDisposable {
  readonly arrived: Arrival[] = [];
  readonly twiceAtOnce: string[] = [];
  /** How long it takes for each, ms; Infinity never answers. */
  delayMs = 0;
  url = "";
  readonly #taking = new Set<string>();
  readonly #server = createServer((request, response) => void this.#take(request, response));

  static async open(): Promise<Receiver> {
    const receiver = new Receiver();
    await new Promise<void>((resolve) => receiver.#server.listen(0, "127.0.0.1", resolve));
    const address = receiver.#server.address();
    receiver.url = `http://127.0.0.1:${typeof address === "object" ? address?.port : ""}/`;
    return receiver;
  }

  async #take(request: IncomingMessage, response: ServerResponse): Promise<void> {
    const id = String(request.headers["webhook-id"]);
    let body = "";
    for await (const piece of request) body += String(piece);
    if (this.#taking.has(id)) this.twiceAtOnce.push(id);
    this.#taking.add(id);
    request.socket.once("close", () => this.#taking.delete(id));
    this.arrived.push({ id, type: (JSON.parse(body) as { type: string }).type });
    if (this.delayMs === Infinity) return;
    await sleep(this.delayMs);
    this.#taking.delete(id);
    response.writeHead(204).end();
  }

  /** Waits for so many, and some longer for what would be too many. */
  async settles(count: number, timeoutMs = 20_000): Promise<readonly string[]> {
    await eventually(
      () => this.arrived.length,
      (arrived) => arrived >= count,
      { what: `${count} messages, after ${JSON.stringify(this.arrived)}`, timeoutMs },
    );
    await sleep(2_500);
    return this.arrived.map(({ type }) => type).sort();
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.#server.closeAllConnections();
    await new Promise((resolve) => this.#server.close(resolve));
  }
}

/** Known to both gateways. */
async function hookTo({ url }: Receiver, events?: readonly string[]): Promise<AsyncDisposable> {
  const { id } = await one.api<{ id: string }>("POST", "/webhooks", { url, ...(events && { events }) });
  await eventually(
    () => other.api<{ data: { id: string }[] }>("GET", "/webhooks"),
    ({ data }) => data.some((hook) => hook.id === id),
    { what: "the other gateway to know the webhook" },
  );
  return { [Symbol.asyncDispose]: async () => void (await one.api("DELETE", `/webhooks/${id}`)) };
}

async function isKnownToBoth({ keys }: PooledProvider): Promise<void> {
  await eventually(
    () => other.apiResponse("GET", `/keys/${keys.at(-1)?.id}`),
    ({ ok }) => ok,
    { what: "the other gateway to know the pool" },
  );
}

async function askBoth(pool: PooledProvider): Promise<readonly number[]> {
  const responses = await Promise.all([one, other].map((through) => pool.send({ through })));
  await Promise.all(responses.map((response) => response.arrayBuffer()));
  return responses.map(({ status }) => status);
}

it("tell once of a refusal and an exhausted pool that both meet, and once of the recovery of each, time and again", async () => {
  await using receiver = await Receiver.open();
  await using _hook = await hookTo(receiver);
  await using pool = await poolOf(one, { weights: [1], faultsAreExpected: true });
  await isKnownToBoth(pool);
  const [key] = pool.keys;

  const rounds: (readonly string[])[] = [];
  for (let round = 0; round < 3; round++) {
    receiver.arrived.length = 0;
    // Both are under way before either is refused.
    const refused = pool.provider.on().always({
      readsBody: true,
      play: async (exchange) => {
        await sleep(300);
        await reply.status(401).play(exchange);
      },
    });
    expect(await askBoth(pool)).toEqual([503, 503]);
    await receiver.settles(2);
    refused.clear();
    await other.api("PATCH", `/keys/${key?.id}`, { enabled: true });
    await pool.becomes("A", "available");
    expect(await askBoth(pool)).toEqual([200, 200]);
    rounds.push(await receiver.settles(4));
  }

  const all = ["key.disabled", "key.recovered", "pool.exhausted", "pool.recovered"];
  expect(rounds).toEqual([all, all, all]);
  expect(receiver.twiceAtOnce).toEqual([]);
}, 90_000);

it("send nothing twice or at once, whichever of them has time", async () => {
  await using receiver = await Receiver.open();
  await using _hook = await hookTo(receiver, ["key.disabled"]);
  receiver.delayMs = 200;
  const weights = Array.from({ length: 12 }, () => 1);
  await using pool = await poolOf(one, { weights, faultsAreExpected: true });
  await isKnownToBoth(pool);
  pool.provider.on().always(reply.status(401));

  await askBoth(pool);
  await receiver.settles(12);

  expect(receiver.arrived).toHaveLength(12);
  expect(new Set(receiver.arrived.map(({ id }) => id)).size).toBe(12);
  expect(receiver.twiceAtOnce).toEqual([]);
}, 60_000);

it("send what one of them was sending when it was killed, with the same id", async () => {
  await using receiver = await Receiver.open();
  await using _hook = await hookTo(receiver, ["key.disabled"]);
  const third = await start();
  await using pool = await poolOf(one, { weights: [1], faultsAreExpected: true });
  await using _third = third;
  await eventually(
    () => third.apiResponse("GET", `/keys/${pool.keys[0]?.id}`),
    ({ ok }) => ok,
    { what: "the third gateway to know the pool" },
  );
  receiver.delayMs = Infinity;
  pool.provider.on().next(reply.status(401));
  await pool.send({ through: third }).then((response) => response.arrayBuffer());
  await eventually(
    () => receiver.arrived.length,
    (count) => count === 1,
    { what: "the first attempt" },
  );

  await third.kill();
  receiver.delayMs = 0;
  expect(await receiver.settles(2, 75_000)).toEqual(["key.disabled", "key.disabled"]);
  expect(new Set(receiver.arrived.map(({ id }) => id)).size).toBe(1);
}, 120_000);

it("tell of a recovery that the one which had met the exhaustion does not live to see", async () => {
  await using receiver = await Receiver.open();
  await using _hook = await hookTo(receiver, ["pool.exhausted", "pool.recovered"]);
  const third = await start();
  const settings = { cooldown: { base_ms: 60_000, cap_ms: 60_000 } };
  await using pool = await poolOf(one, { weights: [1], settings });
  await using _third = third;
  await eventually(
    () => third.apiResponse("GET", `/keys/${pool.keys[0]?.id}`),
    ({ ok }) => ok,
    { what: "the third gateway to know the pool" },
  );
  pool.provider.on().next(reply.status(429));
  expect((await pool.send({ through: third })).status).toBe(429);
  await eventually(
    () => receiver.arrived.map(({ type }) => type),
    (types) => types.includes("pool.exhausted"),
    { what: "the exhaustion" },
  );

  await third.kill();

  expect(await receiver.settles(2, 75_000)).toEqual(["pool.exhausted", "pool.recovered"]);
}, 120_000);
