import { randomBytes } from "node:crypto";
import { connect } from "node:net";
import { setTimeout as sleep } from "node:timers/promises";
import {
  chatChunks,
  reply,
  runGateway,
  type RunningGateway,
  runRedis,
  type RunningRedis,
  sha256,
  sseText,
  testAdminToken,
} from "@keywheel/testkit";
import { afterEach, beforeAll, beforeEach, describe, expect, it } from "vitest";
import { createTestDatabase } from "../../packages/testkit/src/postgres.ts";
import { inRows } from "../in-rows.ts";
import { eventually, type PooledProvider, poolOf } from "../pooled-provider.ts";
import { balancerConfiguration, checkConfiguration, runBalancer, type RunningBalancer } from "./run-haproxy.ts";

// The balancer that deploy/compose/ ships, in front of three gateways on one PostgreSQL and one Redis.

let redis: RunningRedis;
let databaseUrl: string;
beforeAll(async () => {
  [redis, databaseUrl] = await Promise.all([runRedis(), createTestDatabase()]);
  return () => redis.dispose();
});

let gateways: RunningGateway[];
let balancer: RunningBalancer;
let pool: PooledProvider;
beforeEach(async () => {
  const env = {
    KEYWHEEL_DATABASE_URL: databaseUrl,
    KEYWHEEL_REDIS_URL: redis.url,
    KEYWHEEL_MASTER_KEY: Buffer.alloc(32, 3).toString("base64"),
  };
  gateways = await Promise.all([1, 2, 3].map(() => runGateway({ env })));
  balancer = await runBalancer(gateways.map(({ url }) => Number(new URL(url).port)));
  pool = await poolOf(gateway(0), { weights: [3, 2, 1] });
  for (const one of gateways) {
    await eventually(
      async () => (await one.apiResponse("GET", `/providers/${pool.record.id}/keys`)).text(),
      (text) => pool.keys.every(({ id }) => text.includes(id)),
      { what: "the pool to be known everywhere" },
    );
  }
});
afterEach(async () => {
  await pool[Symbol.asyncDispose]();
  await balancer[Symbol.asyncDispose]();
  await Promise.all(gateways.map((one) => one[Symbol.asyncDispose]()));
});

function gateway(index: number): RunningGateway {
  const found = gateways[index];
  if (found === undefined) throw new Error(`no gateway ${index}`);
  return found;
}

const question = { model: "gpt-test", messages: [{ role: "user", content: "Hello" }] };

function ask(body: object = question, init: RequestInit = {}): Promise<Response> {
  return fetch(`${balancer.url}/${pool.record.slug}/v1/chat/completions`, {
    method: "POST",
    headers: { "content-type": "application/json", authorization: "Bearer sk-client-own" },
    body: JSON.stringify(body),
    ...init,
  });
}

/** @returns the status, or why there was no answer */
async function outcome(): Promise<string> {
  try {
    const response = await ask();
    await response.arrayBuffer();
    return String(response.status);
  } catch (error) {
    return String(error);
  }
}

/** The gateway that a request went to, as the balancer wrote it down. */
function served(name: string): number {
  return balancer.logs().split(`requests/${name} `).length - 1;
}

it("is a configuration that HAProxy takes as it stands", async () => {
  const { code, output } = await checkConfiguration(balancerConfiguration);

  const found = output.split("\n").filter((line) => /warning|alert/i.test(line) && line !== "Warnings were found.");
  // Their names are known where compose has made them.
  expect(found.filter((line) => !/could not resolve address 'gateway-\d'/.test(line))).toEqual([]);
  expect(code).toBe(0);
});

describe("behind the balancer", () => {
  it("requests reach every gateway, and come out by weight as at one", async () => {
    const answers = await inRows(60, 6, outcome);

    expect(answers.filter((status) => status !== "200")).toEqual([]);
    expect(pool.provider.counts()).toEqual({ A: 30, B: 20, C: 10 });
    await eventually(
      () => ["gateway-1", "gateway-2", "gateway-3"].map(served),
      (counts) => counts.every((count) => count >= 10),
      { what: "each gateway to have had its part" },
    );
  });

  it("a stream comes piece by piece", async () => {
    const live = reply.live();
    pool.provider.on().next(live);
    const [opening = "", first = "", second = "", third = ""] = chatChunks(
      { id: "chatcmpl-test", created: 1, model: "gpt-test" },
      "one two three",
    );
    const pending = ask({ ...question, stream: true });
    await live.send(opening);
    await live.send(first);
    const reader = (await pending).body?.getReader();
    const next = async (): Promise<string> => Buffer.from((await reader?.read())?.value ?? "").toString();

    let text = "";
    while (!text.includes(sseText(first))) text += await next();
    await live.send(second);
    const afterSecond = await next();
    await live.send(third);
    const afterThird = await next();
    await live.end();

    expect([afterSecond, afterThird]).toEqual([sseText(second), sseText(third)]);
  });

  it("a WebSocket carries frames both ways", async () => {
    const socket = connect(balancer.port, "127.0.0.1");
    const heard: Buffer[] = [];
    socket.on("data", (bytes: Buffer) => heard.push(bytes));
    socket.write(
      [
        `GET /${pool.record.slug}/v1/realtime?model=gpt-realtime HTTP/1.1`,
        `host: 127.0.0.1:${balancer.port}`,
        "connection: Upgrade",
        "upgrade: websocket",
        "sec-websocket-version: 13",
        `sec-websocket-key: ${randomBytes(16).toString("base64")}`,
        "authorization: Bearer sk-client-own",
        "\r\n",
      ].join("\r\n"),
    );
    const text = (): string => Buffer.concat(heard).toString("latin1");
    await eventually(text, (all) => all.includes("\r\n\r\n"), { what: "the handshake" });
    const handshake = text();
    // Masked with zeros (RFC 6455 §5.3).
    const frame = (words: string): Buffer =>
      Buffer.concat([Buffer.from([129, 128 | words.length, 0, 0, 0, 0]), Buffer.from(words)]);
    socket.write(frame("first"));
    await eventually(text, (all) => all.endsWith("first"), { what: "the first frame to come back" });
    await sleep(300);
    socket.write(frame("second"));
    await eventually(text, (all) => all.endsWith("second"), { what: "the second frame to come back" });
    socket.destroy();

    expect(handshake).toMatch(/^HTTP\/1\.1 101 /);
    expect(text().slice(handshake.length)).toMatch(/first.*second$/s);
  });

  it("a large body arrives as it was sent", async () => {
    const content = randomBytes(12 * 1024 * 1024).toString("hex");
    const body = JSON.stringify({ model: "gpt-test", messages: [{ role: "user", content }] });

    const response = await ask({}, { body });
    await response.arrayBuffer();

    expect(response.status).toBe(200);
    expect(pool.provider.requests.at(-1)?.bodyHash).toBe(sha256(body));
  });

  it("headers as long as a gateway takes them get through", async () => {
    const response = await ask(question, {
      headers: { "content-type": "application/json", authorization: "Bearer x", "x-long": "x".repeat(60_000) },
    });

    expect(response.status).toBe(200);
    expect(pool.provider.requests.at(-1)?.header("x-long")?.length).toBe(60_000);
  });

  it("a client that leaves ends its request at the provider", async () => {
    pool.provider.on().next(reply.hang());
    const leaving = new AbortController();
    const gone = ask(question, { signal: leaving.signal }).catch((error: unknown) => error);
    const request = await pool.provider.arrived(1);

    leaving.abort();
    await gone;
    await eventually(
      () => request.state,
      (state) => state === "aborted",
      { what: "the provider to see the client's leaving", timeoutMs: 3_000 },
    );

    expect(request.state).toBe("aborted");
  });

  it("a gateway that is killed costs the requests that it had, sent once, and none that follow", async () => {
    const rest = pool.provider.on();
    rest.next(reply.hang(), reply.hang(), reply.hang());
    const before = [1, 2, 3].map(() => outcome());
    await pool.provider.arrived(3);

    await gateway(1).kill("SIGKILL");
    const cut = await Promise.race(before);
    const after = await inRows(60, 6, outcome);

    // One of the three was there: least connections spread them.
    // HAProxy says so on a new connection, and closes one that has carried an answer: clients ask again then by themselves.
    expect(["502", "TypeError: fetch failed"]).toContain(cut);
    expect(after.filter((status) => status !== "200")).toEqual([]);
    expect(pool.provider.requests.length).toBe(3 + 60);
  });

  it("a gateway that is stopped ends what it has; what meets its closing port was sent to no provider", async () => {
    const over = new AbortController();
    const rows = Array.from({ length: 6 }, async () => {
      const answers: string[] = [];
      while (!over.signal.aborted) answers.push(await outcome());
      return answers;
    });
    pool.provider.on().next(reply.slowHeaders(700, reply.json(200, {}, { choices: [] })));
    const slow = outcome();
    await sleep(300);

    const codes = await Promise.all([gateway(0).stop(), gateway(2).stop()]);
    await sleep(500);
    over.abort();
    const answers = (await Promise.all(rows)).flat();
    const lost = answers.filter((status) => status !== "200").length;
    const asked = pool.provider.requests.length;
    const after = await inRows(30, 6, outcome);

    expect(codes).toEqual([0, 0]);
    expect(await slow).toBe("200");
    // A connection that was made and not yet taken up when the port closed: one for each row and gateway at the most.
    expect(lost).toBeLessThanOrEqual(12);
    expect(asked).toBe(answers.length - lost + 1);
    expect(after.filter((status) => status !== "200")).toEqual([]);
  });

  it("a browser stays with the gateway at which it signed in, until that one is gone", async () => {
    const jar = new Map<string, string>();
    const browse = async (path: string, init: { method?: string; body?: string } = {}): Promise<Response> => {
      const cookie = [...jar].map(([name, value]) => `${name}=${value}`).join("; ");
      const headers = { cookie, origin: balancer.url, "content-type": "application/json" };
      const response = await fetch(balancer.url + path, { ...init, headers, redirect: "manual" });
      for (const line of response.headers.getSetCookie()) {
        const [, name = "", value = ""] = /^([^=]+)=([^;]*)/.exec(line) ?? [];
        jar.set(name, value);
      }
      await response.arrayBuffer();
      return response;
    };
    const statuses = (times: number): Promise<number[]> =>
      inRows(times, 3, async () => (await browse("/api/status")).status);

    const page = await browse("/ui/");
    const signIn = await browse("/api/sign-in", { method: "POST", body: JSON.stringify({ token: testAdminToken }) });
    const signedIn = await statuses(12);
    const own = jar.get("keywheel_gateway");
    jar.delete("keywheel_gateway");
    const wandering = await statuses(9);
    jar.set("keywheel_gateway", own ?? "");
    await gateway(Number(own?.split("-")[1]) - 1).kill();
    const [orphaned] = await statuses(1);
    await browse("/api/sign-in", { method: "POST", body: JSON.stringify({ token: testAdminToken }) });
    const signedInAgain = await statuses(12);

    expect([page.status, signIn.status]).toEqual([200, 204]);
    expect(new Set(signedIn)).toEqual(new Set([200]));
    expect(own).toMatch(/^gateway-[123]$/);
    // So it is this cookie that keeps it there.
    expect(new Set(wandering)).toContain(401);
    expect(orphaned).toBe(401);
    expect(new Set(signedInAgain)).toEqual(new Set([200]));
  });

  it("says whether there is a gateway, and keeps their figures to each of them", async () => {
    const [alive, metrics] = await Promise.all([fetch(`${balancer.url}/healthz`), fetch(`${balancer.url}/metrics`)]);
    await Promise.all(gateways.map((one) => one.kill()));
    const dead = await eventually(
      async () => (await fetch(`${balancer.url}/healthz`)).status,
      (status) => status === 503,
      { what: "the balancer to see that nobody is there", timeoutMs: 8_000 },
    );

    expect([alive.status, metrics.status, dead]).toEqual([200, 404, 503]);
  });

  it("believes no client that says it came by TLS", async () => {
    const response = await fetch(`${balancer.url}/api/sign-in`, {
      method: "POST",
      headers: { "content-type": "application/json", "x-forwarded-proto": "https" },
      body: JSON.stringify({ token: testAdminToken }),
    });
    const cookies = response.headers.getSetCookie();
    await response.arrayBuffer();
    const [own = ""] = cookies.filter((line) => line.startsWith("keywheel_session"));

    expect(response.status).toBe(204);
    expect(own).toMatch(/HttpOnly/i);
    expect(own).not.toMatch(/Secure/i);
  });
});
