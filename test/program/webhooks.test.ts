import { readdirSync, readFileSync } from "node:fs";
import { createServer, type IncomingMessage, type Server, type ServerResponse } from "node:http";
import { reply, runGateway, type RunningGateway } from "@keywheel/testkit";
import { Webhook } from "standardwebhooks";
import { afterAll, afterEach, beforeAll, describe, expect, it } from "vitest";
import { eventually, poolOf } from "../pooled-provider.ts";
import { aHome, runCommand } from "./run-command.ts";

let gateway: RunningGateway;
beforeAll(async () => {
  gateway = await runGateway();
});
afterAll(() => gateway[Symbol.asyncDispose]());
afterEach(async () => {
  const { data } = await gateway.api<{ data: { id: string }[] }>("GET", "/webhooks");
  for (const { id } of data) await gateway.api("DELETE", `/webhooks/${id}`);
});

interface Message {
  readonly type: string;
  readonly timestamp: string;
  readonly data: Readonly<Record<string, unknown>>;
}

/** Takes messages as a careful receiver does: none that is not signed with its secret. */
class Receiver implements AsyncDisposable {
  readonly messages: (Message & { readonly id: string })[] = [];
  readonly refused: string[] = [];
  /** What it answers next; the last one lasts. */
  statuses = [204];
  secret = "";
  url = "";
  #server: Server | undefined;

  static async open(): Promise<Receiver> {
    const receiver = new Receiver();
    receiver.#server = createServer((request, response) => void receiver.#take(request, response));
    await new Promise<void>((resolve) => receiver.#server?.listen(0, "127.0.0.1", resolve));
    const address = receiver.#server.address();
    receiver.url = `http://127.0.0.1:${typeof address === "object" ? address?.port : ""}/hook?team=1`;
    return receiver;
  }

  async #take(request: IncomingMessage, response: ServerResponse): Promise<void> {
    let body = "";
    for await (const piece of request) body += String(piece);
    try {
      const headers = request.headers as Record<string, string>;
      const message = new Webhook(this.secret).verify(body, headers) as Message;
      this.messages.push({ ...message, id: headers["webhook-id"] ?? "" });
    } catch (error) {
      this.refused.push(String(error));
    }
    const status = (this.statuses.length > 1 ? this.statuses.shift() : this.statuses[0]) ?? 204;
    response.writeHead(status, status === 302 ? { location: "http://127.0.0.1:1/" } : {}).end();
  }

  async arrives(type: string): Promise<Message & { readonly id: string }> {
    const found = () => this.messages.find((message) => message.type === type);
    return (await eventually(found, (message) => message !== undefined, {
      what: type,
      timeoutMs: 15_000,
    })) as Message & {
      readonly id: string;
    };
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.#server?.closeAllConnections();
    await new Promise((resolve) => this.#server?.close(resolve));
    if (this.refused.length > 0) throw new Error(`It refused messages: ${this.refused.join("; ")}`);
  }
}

async function hookTo(receiver: Receiver, parts: object = {}): Promise<string> {
  const made = await gateway.api<{ id: string; secret: string }>("POST", "/webhooks", { url: receiver.url, ...parts });
  receiver.secret = made.secret;
  return made.id;
}

interface DeliveryView {
  readonly id: string;
  readonly type: string;
  readonly state: string;
  readonly attempts: number;
  readonly last_status: number | null;
  readonly last_error: string | null;
}

async function deliveriesTo(id: string): Promise<readonly DeliveryView[]> {
  return (await gateway.api<{ data: readonly DeliveryView[] }>("GET", `/webhooks/${id}/deliveries`)).data;
}

describe("a webhook", () => {
  it("is told of a key that the provider refuses, of the pool that is empty then, and of their recovery", async () => {
    await using receiver = await Receiver.open();
    await hookTo(receiver);
    await using pool = await poolOf(gateway, { weights: [1] });
    const value = pool.valueOf("A");
    pool.provider.on().next(reply.json(401, {}, { error: { message: `Incorrect API key provided: ${value}` } }));

    await (await pool.send()).arrayBuffer();
    const disabled = await receiver.arrives("key.disabled");
    const exhausted = await receiver.arrives("pool.exhausted");
    await gateway.api("PATCH", `/keys/${pool.keys[0]?.id}`, { enabled: true });
    const recovered = await receiver.arrives("key.recovered");
    await (await pool.send()).arrayBuffer();
    await receiver.arrives("pool.recovered");

    const provider = { id: pool.record.id, slug: pool.record.slug, name: pool.record.name };
    const key = { id: pool.keys[0]?.id, label: "A" };
    expect(disabled.data).toMatchObject({ provider, key, reason: "authentication_failed", http_status: 401 });
    expect(Date.parse(disabled.timestamp)).toBeGreaterThan(Date.now() - 60_000);
    expect(exhausted.data).toMatchObject({ provider });
    expect(recovered.data).toEqual({ provider, key, after: "refusal" });
    expect(JSON.stringify(receiver.messages)).not.toContain(value);
  });

  it("is told of a key that serves again after its cooldown", async () => {
    await using receiver = await Receiver.open();
    await hookTo(receiver, { events: ["key.recovered"] });
    await using pool = await poolOf(gateway, { weights: [1], settings: { cooldown: { base_ms: 200, cap_ms: 200 } } });
    pool.provider.on().next(reply.status(429));

    await (await pool.send()).arrayBuffer();
    await pool.becomes("A", "available");
    await (await pool.send()).arrayBuffer();

    expect((await receiver.arrives("key.recovered")).data).toMatchObject({ after: "cooldown" });
    expect(receiver.messages.map(({ type }) => type)).toEqual(["key.recovered"]);
  });

  it("gets after kill -9 what it could not be told before, with the same id", async () => {
    await using receiver = await Receiver.open();
    receiver.statuses = [503, 204];
    const id = await hookTo(receiver, { events: ["key.disabled"] });
    await using pool = await poolOf(gateway, { weights: [1] });
    pool.provider.on().next(reply.status(401));
    await (await pool.send()).arrayBuffer();
    await eventually(
      () => receiver.messages.length,
      (count) => count === 1,
      { what: "the first attempt" },
    );
    await eventually(
      () => deliveriesTo(id),
      ([first]) => first?.attempts === 1,
      { what: "it to be written down" },
    );

    await gateway.kill();
    await gateway.restart();

    await eventually(
      () => receiver.messages.length,
      (count) => count === 2,
      { what: "the second", timeoutMs: 20_000 },
    );
    expect(receiver.messages[1]).toEqual(receiver.messages[0]);
  });

  it("is told after kill -9 that a pool has recovered which was exhausted before, and nothing twice", async () => {
    await using receiver = await Receiver.open();
    await hookTo(receiver, { events: ["pool.exhausted", "pool.recovered"] });
    const settings = { cooldown: { base_ms: 20_000, cap_ms: 20_000 } };
    await using pool = await poolOf(gateway, { weights: [1], settings });
    pool.provider.on().next(reply.status(429));
    for (let times = 0; times < 3; times++) await (await pool.send()).arrayBuffer();
    await receiver.arrives("pool.exhausted");

    await gateway.kill();
    await gateway.restart();
    await gateway.kill();
    await gateway.restart();
    const provider = { id: pool.record.id, slug: pool.record.slug, name: pool.record.name };
    // Pools of other tests may recover as well.
    const ofPool = () =>
      receiver.messages.filter(({ data }) => JSON.stringify(data["provider"]) === JSON.stringify(provider));
    const types = () => ofPool().map(({ type }) => type);
    expect(types()).toEqual(["pool.exhausted"]);
    await eventually(types, (seen) => seen.includes("pool.recovered"), { what: "the recovery", timeoutMs: 60_000 });

    await gateway.kill();
    await gateway.restart();
    await (await pool.send()).arrayBuffer();
    expect(types()).toEqual(["pool.exhausted", "pool.recovered"]);
    expect(ofPool()[1]?.data).toEqual({ provider });
  }, 90_000);

  it("is tried by the command line, which says what came of it, and shows what was sent", async () => {
    await using receiver = await Receiver.open();
    using home = aHome();
    const run = (...words: string[]) =>
      runCommand(["webhook", ...words, "--data-dir", gateway.dataDir], { home: home.home });

    const added = await run("add", receiver.url, "--name", "pager", "--event", "pool.exhausted");
    receiver.secret = added.stdout.trim();
    const good = await run("test", "pager");
    receiver.statuses = [302];
    const bad = await run("test", "pager");
    const list = await run("list");
    const deliveries = await run("deliveries", "pager", "--json");
    const removed = await run("remove", "pager", "--yes");

    expect(receiver.secret).toMatch(/^whsec_/);
    expect([good.code, good.stdout]).toEqual([
      0,
      expect.stringMatching(/^Delivered in \d+ ms: the receiver answered 204\.\n$/),
    ]);
    expect([bad.code, bad.stderr]).toEqual([1, expect.stringContaining("answered 302: redirects are not followed")]);
    expect(list.stdout).toMatch(/pager +http:\/\/127\.0\.0\.1:\d+\/hook\?team=1 +pool\.exhausted +enabled/);
    expect((JSON.parse(deliveries.stdout) as { data: DeliveryView[] }).data).toMatchObject([
      { type: "webhook.test", state: "failed", attempts: 1, last_status: 302 },
      { type: "webhook.test", state: "delivered", attempts: 1, last_status: 204, last_error: null },
    ]);
    expect(removed.code).toBe(0);
    expect([list, deliveries].map(({ stdout }) => stdout).join()).not.toContain(receiver.secret);
  });

  it("is sent a signature of each while its secret is made anew, and of the new one alone after an end of that", async () => {
    await using receiver = await Receiver.open();
    using home = aHome();
    const id = await hookTo(receiver, { name: "turning" });
    const former = receiver.secret;
    const run = (...words: string[]) =>
      runCommand(["webhook", ...words, "--data-dir", gateway.dataDir], { home: home.home });
    const isTaken = async (secret: string): Promise<boolean> => {
      receiver.secret = secret;
      await gateway.api("POST", `/webhooks/${id}/test`);
      return receiver.refused.splice(0).length === 0;
    };

    const rotated = await run("rotate", "turning");
    const next = rotated.stdout.trim();
    expect([rotated.code, rotated.stderr]).toEqual([0, expect.stringContaining("The former one signs as well until")]);
    expect(next).toMatch(/^whsec_/);
    expect([await isTaken(former), await isTaken(next)]).toEqual([true, true]);
    await gateway.kill();
    await gateway.restart();
    expect([await isTaken(former), await isTaken(next)]).toEqual([true, true]);

    const ended = await run("rotate", "turning", "--overlap", "0", "--yes");
    const last = ended.stdout.trim();
    expect([await isTaken(former), await isTaken(next), await isTaken(last)]).toEqual([false, false, true]);
    expect((await run("rotate", "turning", "--overlap", "8d")).code).toBe(2);
    expect(gateway.logs()).not.toContain(next.replace("whsec_", ""));
  }, 60_000);

  it("may lead to no address from which a machine gets its credentials, by whatever name", async () => {
    const refused = await gateway.apiResponse("POST", "/webhooks", { url: "http://169.254.169.254/latest/meta-data" });

    expect(refused.status).toBe(422);
    expect(await refused.json()).toMatchObject({ errors: [{ path: "url", code: "metadata_host" }] });
  });

  it("says why nothing arrives where nobody listens", async () => {
    const receiver = await Receiver.open();
    const id = await hookTo(receiver);
    await receiver[Symbol.asyncDispose]();

    const outcome = await gateway.api<object>("POST", `/webhooks/${id}/test`);

    expect(outcome).toMatchObject({
      delivered: false,
      http_status: null,
      message: "The receiver's address refuses connections.",
    });
    expect(await deliveriesTo(id)).toMatchObject([{ state: "failed", attempts: 1, last_status: null }]);
  });

  it("leaves its secret in no file, log line or metric in the clear", async () => {
    await using receiver = await Receiver.open();
    const id = await hookTo(receiver);
    await gateway.api("POST", `/webhooks/${id}/test`);

    const metrics = await (await fetch(`${gateway.url}/metrics`)).text();

    const files = readdirSync(gateway.dataDir).filter((file) => file.startsWith("keywheel.db"));
    const bytes = files.map((file) => readFileSync(`${gateway.dataDir}/${file}`, "latin1")).join("");
    const material = receiver.secret.replace("whsec_", "");
    for (const text of [metrics, gateway.logs(), bytes]) expect(text).not.toContain(material);
    expect(bytes).toContain(id);
  });
});
