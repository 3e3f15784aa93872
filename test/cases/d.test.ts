import { createServer } from "node:net";
import {
  openAiError,
  reply,
  runGateway,
  type RunningGateway,
  type ScriptedKind,
  startScriptedProvider,
} from "@keywheel/testkit";
import { beforeAll, describe, expect, it } from "vitest";
import { poolOf, type PooledProvider } from "../pooled-provider.ts";
import { healthOf, noticesOf } from "./observed.ts";

let gateway: RunningGateway;
beforeAll(async () => {
  gateway = await runGateway();
  return () => gateway[Symbol.asyncDispose]();
});

const short = { cooldown: { base_ms: 100, cap_ms: 100 } };
/** Cut as the first byte of the request comes, before any of it was read. */
const resetAtOnce = { ...reply.cutBeforeHeaders("rst"), readsBody: false };

async function statusesOf(pending: readonly Promise<Response>[]): Promise<number[]> {
  const responses = await Promise.all(pending);
  await Promise.all(responses.map((response) => response.arrayBuffer()));
  return responses.map((response) => response.status);
}

function timesOf<T>(count: number, make: () => T): T[] {
  return Array.from({ length: count }, make);
}

describe("D. overload, server errors, network", () => {
  it.each([500, 502, 503, 504, 520, 598])(
    "case 30: a %i goes to the client as it is and counts for nothing",
    async (status) => {
      await using pool = await poolOf(gateway);
      pool.provider.on().times(3, reply.json(status, { "x-from": "provider" }, { error: { message: "Oops" } }));

      for (let request = 0; request < 3; request++) {
        const response = await pool.send();
        expect([response.status, response.headers.get("x-from")]).toEqual([status, "provider"]);
        expect(await response.json()).toEqual({ error: { message: "Oops" } });
      }

      expect(pool.provider.requests).toHaveLength(3);
      expect(await healthOf(gateway, pool)).toEqual(["available 0", "available 0"]);
    },
  );

  it("case 30: where it is asked for, another key is tried as often as the settings say, and nobody is blamed", async () => {
    await using pool = await poolOf(gateway, { weights: [1, 1, 1], settings: { retry: { provider_errors: 1 } } });
    pool.provider.on().next(reply.status(503));
    const cured = await pool.send();
    const first = pool.provider.picks();
    pool.provider.on().times(2, reply.status(500));
    const lasting = await pool.send();

    expect([cured.status, first, lasting.status]).toEqual([200, "AB", 500]);
    expect(pool.provider.requests).toHaveLength(4);
    expect(new Set(await healthOf(gateway, pool))).toEqual(new Set(["available 0"]));
  });

  it("case 30: a server error between two limits neither lengthens the ladder nor resets it", async () => {
    await using pool = await poolOf(gateway, { weights: [1], settings: short });
    pool.provider.on().next(reply.status(429), reply.status(500), reply.status(429));
    for (let request = 0; request < 3; request++) {
      await pool.becomes("A", "available");
      await pool.turns(1);
    }

    expect((await pool.key("A")).consecutive_failures).toBe(2);
  });

  it("case 31: a dead network is fifty 502 and no cooled key; the first request after it is served", async () => {
    await using pool = await poolOf(gateway, { weights: [1, 1, 1] });
    await pool.turns(3);
    const { port } = pool.provider;
    await pool.provider.close();

    const down = await statusesOf(timesOf(50, () => pool.send()));
    const health = await healthOf(gateway, pool);
    await using back = await startScriptedProvider({ keys: pool.values, port });
    const up = await pool.send();

    expect(new Set(down)).toEqual(new Set([502]));
    expect(health).toEqual(["available 0", "available 0", "available 0"]);
    expect([up.status, back.requests.length]).toEqual([200, 1]);
  });

  it("case 31: a host that nobody knows, and one that does not speak TLS, are 502 with a code, and blame no key", async () => {
    const refuser = createServer((socket) => socket.end("HTTP/1.1 400 Bad Request\r\n\r\n"));
    await new Promise<void>((resolve) => refuser.listen(0, "127.0.0.1", resolve));
    const { port } = refuser.address() as { port: number };
    const answers: unknown[] = [];
    for (const [slug, baseUrl] of [
      ["unknown-host", "http://provider.invalid/v1"],
      ["no-tls", `https://127.0.0.1:${port}/v1`],
    ] as const) {
      const provider = await gateway.addProvider({ slug, baseUrl });
      await gateway.addKeys(provider, [`sk-test-${slug}-0123456789abcdef`]);

      const response = await fetch(`${gateway.baseUrlOf(provider)}/models`);

      answers.push([response.status, response.headers.get("x-keywheel-error")]);
      answers.push((await gateway.keys(provider)).map((key) => key.status));
    }
    refuser.close();

    const expected = [[502, "upstream_unreachable"], ["available"]];
    expect(answers).toEqual([...expected, ...expected]);
  });

  it.each<[ScriptedKind, number]>([
    ["anthropic", 529],
    ["openai", 503],
    ["gemini", 503],
  ])("case 32: overload everywhere is told as overload to clients of %s: %i", async (kind, status) => {
    await using pool = await poolOf(gateway, { kind, weights: [1, 1, 1], settings: short });
    pool.provider.on().always(reply.status(529));

    const first = await pool.send();
    const hits = pool.provider.requests.length;
    const second = await pool.send();

    expect([first.status, second.status, hits]).toEqual([status, status, 3]);
    for (const response of [first, second]) {
      expect(response.headers.get("x-keywheel-error")).toBe("pool_exhausted");
      expect(response.headers.get("retry-after")).toBe("1");
    }
  });

  it("case 32: overload that meets many requests at once is one episode a key, and ends with it", async () => {
    await using pool = await poolOf(gateway, { weights: [1, 1, 1], settings: { cooldown: { base_ms: 1_000 } } });
    const gate = Promise.withResolvers<void>();
    const script = pool.provider.on().always(reply.after(gate.promise, reply.status(529)));
    const crowd = timesOf(30, () => pool.send());
    await pool.provider.arrived(30);

    gate.resolve();
    const statuses = await statusesOf(crowd);
    const health = await healthOf(gateway, pool);
    const hits = pool.provider.requests.length;
    script.clear();
    for (const letter of ["A", "B", "C"]) await pool.becomes(letter, "available");
    const after = await statusesOf(timesOf(6, () => pool.send()));

    expect(after).toEqual(timesOf(6, () => 200));
    expect(new Set(statuses)).toEqual(new Set([503]));
    expect(health).toEqual(["cooling_down 1", "cooling_down 1", "cooling_down 1"]);
    // Each request tries each key once at the most.
    expect(hits).toBeLessThanOrEqual(90);
  });

  it("case 33: a limit of the address that meets twenty requests brings every key to step one, hides none, and is told as one", async () => {
    await using pool = await poolOf(gateway, { weights: [1, 1, 1, 1] });
    pool.provider.on().always(openAiError(429, { message: "Too many requests", type: "requests", code: null }));

    const statuses = await statusesOf(timesOf(20, () => pool.send()));
    const notices = await noticesOf(gateway, pool);

    expect(new Set(statuses)).toEqual(new Set([429]));
    expect(await healthOf(gateway, pool)).toEqual(timesOf(4, () => "cooling_down 1"));
    expect(notices.map(({ code }) => code).sort()).toEqual(["keys_limited_together", "pool_exhausted"]);
  });

  it("case 33: keys that are limited one after the other are no sign of it", async () => {
    await using pool = await poolOf(gateway, { weights: [1, 1] });
    pool.provider.forKey(pool.valueOf("A")).next(reply.status(429));
    await pool.turns(1);
    // Real time: what comes within a second of each other is taken for one limit.
    await new Promise((resolve) => setTimeout(resolve, 1_100));
    pool.provider.forKey(pool.valueOf("B")).next(reply.status(429));
    await pool.turns(1);

    expect((await noticesOf(gateway, pool)).map(({ code }) => code)).toEqual(["pool_exhausted"]);
  });

  it("case 34: an answer that is slower than one limit and faster than another: 504, then 200", async () => {
    await using pool = await poolOf(gateway, { settings: { timeouts: { headers_ms: 200, idle_ms: 200 } } });
    // Limits are looked at twice a second or so, hence an answer that is much later than the limit.
    const slow = reply.slowHeaders(1_800, reply.json(200, {}, { ok: true }));
    pool.provider.on().times(2, slow);

    const hasty = await pool.send();
    await gateway.api("PATCH", `/providers/${pool.record.id}`, { settings: { timeouts: { headers_ms: 10_000 } } });
    const patient = await pool.send();

    expect([hasty.status, hasty.headers.get("x-keywheel-error"), patient.status]).toEqual([
      504,
      "upstream_timeout",
      200,
    ]);
    expect(pool.provider.requests).toHaveLength(2);
    expect(await healthOf(gateway, pool)).toEqual(["available 0", "available 0"]);
  });

  it("case 34: a stream that falls silent for longer than the limit is cut, and blames nobody", async () => {
    await using pool = await poolOf(gateway, { settings: { timeouts: { idle_ms: 150 } } });
    const word = 'data: {"choices":[{"delta":{"content":"Hi"}}]}\n\n';
    pool.provider.on().next(reply.sse([word], { end: "hang" }));

    const response = await pool.send({ stream: true });

    await expect(response.text()).rejects.toThrow("terminated");
    expect(pool.provider.requests).toHaveLength(1);
    expect(await healthOf(gateway, pool)).toEqual(["available 0", "available 0"]);
  });

  it("case 34: by default nothing is given up before a quarter of an hour", async () => {
    const provider = await gateway.addProvider({ slug: "patient", baseUrl: "http://127.0.0.1:9/v1" });

    expect(provider.settings).toMatchObject({ timeouts: { headers_ms: 900_000, idle_ms: 900_000 } });
  });

  it("case 34: an upload that takes its time is not the gateway's to cut", async () => {
    await using pool = await poolOf(gateway, { settings: { timeouts: { headers_ms: 150, idle_ms: 150 } } });
    const pieces = new ReadableStream<Uint8Array>({
      async start(controller) {
        for (let piece = 0; piece < 5; piece++) {
          controller.enqueue(new Uint8Array(1_000));
          // Real time: what is tested is that the limits above are not the upload's.
          await new Promise((resolve) => setTimeout(resolve, 100));
        }
        controller.close();
      },
    });
    pool.provider.on().next(reply.json(200, {}, {}));

    const response = await fetch(`${pool.baseUrl}/v1/files`, { method: "POST", body: pieces, duplex: "half" });

    expect([response.status, pool.provider.requests[0]?.body.length]).toEqual([200, 5_000]);
  });

  it.each<[string, (pool: PooledProvider) => Parameters<PooledProvider["send"]>[0]]>([
    ["without a session", () => ({})],
    ["of a session that was bound", () => ({ session: "s" })],
    ["with a stream", () => ({ stream: true })],
  ])("case 35: while all keys rest a request %s is answered at once, never held", async (_, init) => {
    await using pool = await poolOf(gateway);
    await pool.turns(1, { session: "s" });
    pool.provider.on().times(2, reply.status(429));
    await pool.turns(1);

    const taken: number[] = [];
    for (let request = 0; request < 5; request++) {
      const began = performance.now();
      const response = await pool.send(init(pool));
      await response.arrayBuffer();
      taken.push(performance.now() - began);
      expect(response.status).toBe(429);
    }

    // The fastest of five: what is measured is the gateway, not a busy machine.
    expect(Math.min(...taken)).toBeLessThan(100);
  });

  it("case 36: an idle connection that is reset under the next request is replaced: same key, two connections", async () => {
    await using pool = await poolOf(gateway, { weights: [1, 1] });
    pool.provider
      .forKey(pool.valueOf("A"))
      .next(reply.json(200, {}, { n: 1 }), resetAtOnce, reply.json(200, {}, { n: 2 }));
    await (await pool.send({ session: "s" })).arrayBuffer();

    const response = await pool.send({ session: "s" });

    expect(await response.json()).toEqual({ n: 2 });
    expect([pool.provider.connections.opened, pool.provider.picks()]).toEqual([2, "AAA"]);
    expect(await healthOf(gateway, pool)).toEqual(["available 0", "available 0"]);
  });

  it("case 36: one retry, not more: a second reset is told to the client", async () => {
    await using pool = await poolOf(gateway, { weights: [1, 1] });
    await pool.turns(1, { session: "s" });
    pool.provider.forKey(pool.valueOf("A")).times(2, resetAtOnce);

    const response = await pool.send({ session: "s" });

    expect([response.status, response.headers.get("x-keywheel-error")]).toEqual([502, "upstream_unreachable"]);
    expect(pool.provider.picks()).toBe("AAA");
    expect(await healthOf(gateway, pool)).toEqual(["available 0", "available 0"]);
  });

  it("case 37: a POST that the provider took and then reset is not sent twice", async () => {
    await using pool = await poolOf(gateway, { settings: { retry: { provider_errors: 0 } } });
    pool.provider.on().always(reply.slowHeaders(50, reply.cutBeforeHeaders("rst")));

    const response = await pool.send();

    expect([response.status, response.headers.get("x-keywheel-error")]).toEqual([502, "upstream_unreachable"]);
    expect(pool.provider.requests).toHaveLength(1);
    expect(pool.provider.requests[0]?.bodyComplete).toBe(true);
  });

  it("case 37: nor is one on a connection that served before, once it is too late for an idle close", async () => {
    await using pool = await poolOf(gateway, { weights: [1] });
    await pool.turns(1);
    pool.provider.on().next(reply.slowHeaders(1_100, reply.cutBeforeHeaders("rst")));

    const response = await pool.send();

    expect(response.status).toBe(502);
    expect([pool.provider.requests.length, pool.provider.connections.opened]).toEqual([2, 1]);
  });

  it("case 37: nor one that was answered with 200 and then broke off", async () => {
    await using pool = await poolOf(gateway);
    pool.provider.on().next(reply.cutInBody("rst", { sent: '{"choices":[{"message":', length: 500 }));

    const response = await pool.send();

    expect(response.status).toBe(200);
    await expect(response.text()).rejects.toThrow("terminated");
    expect(pool.provider.requests).toHaveLength(1);
    expect(await healthOf(gateway, pool)).toEqual(["available 0", "available 0"]);
  });

  it("case 37: the client's own mark of idempotency, and its count of retries, go on to the provider untouched", async () => {
    await using pool = await poolOf(gateway);
    pool.provider.on().next(reply.status(429));

    await (await pool.send({ headers: { "idempotency-key": "i-1", "x-stainless-retry-count": "2" } })).arrayBuffer();

    for (const request of pool.provider.requests) {
      expect(request.headerValues("idempotency-key")).toEqual(["i-1"]);
      expect(request.headerValues("x-stainless-retry-count")).toEqual(["2"]);
    }
    expect(pool.provider.requests).toHaveLength(2);
  });

  it("case 38: refusals whose bodies never end leak no connection, though five hundred requests meet them", async () => {
    await using pool = await poolOf(gateway, { settings: short });
    const body = "x".repeat(200_000);
    const endless = reply.sse([body], { status: 429, headers: { "content-type": "application/json" }, end: "hang" });
    pool.provider.forKey(pool.valueOf("A")).always(endless);

    let most = 0;
    const statuses: number[] = [];
    for (let batch = 0; batch < 25; batch++) {
      statuses.push(...(await statusesOf(timesOf(20, () => pool.send()))));
      most = Math.max(most, pool.provider.connections.open);
    }

    expect([statuses.length, new Set(statuses)]).toEqual([500, new Set([200])]);
    expect(pool.provider.counts().A).toBeGreaterThan(1);
    expect(most).toBeLessThanOrEqual(60);
    await pool.provider.until(() => pool.provider.openRequests.length === 0, "the refusals to be let go");
  });

  it("case 38: a refusal that trickles is given up on, and its connection closed", async () => {
    await using pool = await poolOf(gateway);
    pool.provider.forKey(pool.valueOf("A")).next(reply.endless("x", { status: 429, delayMs: 20 }));

    const response = await pool.send();

    expect([response.status, pool.provider.picks()]).toEqual([200, "AB"]);
    await pool.provider.until(() => pool.provider.openRequests.length === 0, "the refusal to be let go");
  });
});
