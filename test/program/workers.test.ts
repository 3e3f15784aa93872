import { request as httpRequest } from "node:http";
import { existsSync, mkdirSync, readdirSync, readFileSync, rmSync, statSync } from "node:fs";
import { join } from "node:path";
import { setTimeout as pause } from "node:timers/promises";
import { reply, runGateway, type RunningGateway, runRedis } from "@keywheel/testkit";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { createTestDatabase } from "../../packages/testkit/src/postgres.ts";
import { inRows } from "../in-rows.ts";
import { eventually, type PooledProvider, poolOf, storedKey } from "../pooled-provider.ts";
import { aHome, runCommand } from "./run-command.ts";

// Several processes on one port, with nothing but the embedded database: one wheel, one configuration, one gateway.

const count = 3;
let gateway: RunningGateway;
beforeAll(async () => {
  gateway = await runGateway({ flags: ["--workers", String(count)] });
});
afterAll(() => gateway[Symbol.asyncDispose]());

/** The processes that a gateway has started, by what the system tells. */
function workersOf({ pid }: { readonly pid: number }): number[] {
  return readdirSync("/proc")
    .filter((name) => /^\d+$/.test(name) && parentOf(name) === pid)
    .map(Number);
}

function parentOf(pid: string): number | undefined {
  try {
    return Number(/^PPid:\s+(\d+)/m.exec(readFileSync(`/proc/${pid}/status`, "utf8"))?.[1]);
  } catch {
    return undefined;
  }
}

/** A plain request over a connection of its own, so that it may reach any of the processes. @returns status and key */
async function ask(pool: PooledProvider, headers: Readonly<Record<string, string>> = {}): Promise<string> {
  const response = await pool.send({ headers: { connection: "close", ...headers } });
  await response.arrayBuffer();
  return `${response.status} ${response.headers.get("x-keywheel-key")}`;
}

/** The same over a connection that was not there before. @returns the status */
function askAnew(pool: PooledProvider): Promise<number | undefined> {
  return new Promise((resolve, reject) => {
    const request = httpRequest(`${pool.baseUrl}/v1/chat/completions`, { method: "POST", agent: false });
    request.on("response", (response) => {
      response.resume();
      response.on("end", () => resolve(response.statusCode));
    });
    request.on("error", reject);
    request.setHeader("content-type", "application/json");
    request.end(JSON.stringify({ model: "gpt-test", messages: [{ role: "user", content: "Hello" }] }));
  });
}

describe("workers", () => {
  it("are as many as were asked for, and one gateway to whoever looks", async () => {
    expect(workersOf(gateway)).toHaveLength(count);

    const metrics = await (await fetch(`${gateway.url}/metrics`)).text();
    expect(/^keywheel_workers .*$/m.exec(metrics)?.[0]).toBe(`keywheel_workers ${count}`);
    const status = await gateway.api<{ urls: string[] }>("GET", "/status");
    expect(status.urls).toEqual([gateway.url]);
    expect((await fetch(`${gateway.url}/healthz`)).status).toBe(200);
    expect((await fetch(`${gateway.url}/ui/`)).headers.get("content-type")).toMatch(/html/);
  });

  it("serve by weight as one process would, with exact totals", async () => {
    await using pool = await poolOf(gateway, { weights: [3, 2, 1] });

    const answers = await inRows(1_200, 24, () => ask(pool));

    expect(answers.filter((answer) => !answer.startsWith("200 "))).toEqual([]);
    expect(pool.provider.counts()).toEqual({ A: 600, B: 400, C: 200 });
  }, 60_000);

  it("all serve, and each tells of what it did", async () => {
    await using pool = await poolOf(gateway, { weights: [1, 1] });

    await inRows(90, 6, () => ask(pool));
    const { data } = await gateway.api<{ data: { id: string; status: number }[] }>(
      "GET",
      `/requests?provider=${pool.record.id}&limit=100`,
    );
    const keys = await gateway.keys(pool.record);

    expect(data.filter(({ status }) => status === 200)).toHaveLength(90);
    expect(new Set(data.map(({ id }) => id))).toHaveLength(90);
    // Ids name the process.
    expect(new Set(data.map(({ id }) => /w\dx/.exec(id)?.[0]))).toHaveLength(count);
    expect(keys.map((key) => (key as unknown as { stats: { requests: number } }).stats.requests)).toEqual([45, 45]);
  });

  it("bind a session once, though its first requests meet", async () => {
    await using pool = await poolOf(gateway, { weights: [1, 1, 1] });

    const raced = await inRows(100, 4, (index) =>
      Promise.all([1, 2, 3].map(() => ask(pool, { "x-keywheel-session": `raced-${index}` }))),
    );
    await pause(20);
    const later = await inRows(100, 4, (index) => ask(pool, { "x-keywheel-session": `raced-${index}` }));

    expect(raced.filter((answers) => new Set(answers).size !== 1)).toEqual([]);
    expect(later).toEqual(raced.map(([answer]) => answer));
    const sessions = await gateway.api<{ data: unknown[] }>("GET", `/sessions?provider=${pool.record.id}&limit=500`);
    expect(sessions.data).toHaveLength(100);
  }, 30_000);

  it("leave a limited key alone at once, and a refused one for good, in the database too", async () => {
    await using pool = await poolOf(gateway, { weights: [1, 1, 1] });
    pool.provider.on({ key: pool.valueOf("A") }).always(reply.status(429));
    pool.provider.on({ key: pool.valueOf("B") }).always(reply.status(401));

    const first = await inRows(6, 1, () => ask(pool));
    await pause(50);
    const asked = pool.provider.counts();
    const later = await inRows(30, 6, () => ask(pool));

    expect(new Set([...first, ...later])).toEqual(new Set([`200 ${pool.keys[2]?.id}`]));
    expect(pool.provider.counts()).toEqual({ ...asked, C: (asked["C"] ?? 0) + 30 });
    expect([asked["A"], asked["B"]]).toEqual([1, 1]);
    expect((await pool.key("A")).status).toBe("cooling_down");
    expect((await pool.key("B")).status).toBe("disabled");
    expect(storedKey(gateway, pool.keys[1]?.id ?? "")).toEqual({ enabled: 0, disabled_http_status: 401 });
  });

  it("know of every change before it is answered", async () => {
    await using pool = await poolOf(gateway, { weights: [1, 1] });
    const [one, other] = pool.keys;

    await gateway.api("PATCH", `/keys/${one?.id}`, { enabled: false });
    expect(new Set(await inRows(12, 6, () => ask(pool)))).toEqual(new Set([`200 ${other?.id}`]));
    await gateway.api("PATCH", `/keys/${one?.id}`, { enabled: true });
    await gateway.api("DELETE", `/keys/${other?.id}`);
    expect(new Set(await inRows(12, 6, () => ask(pool)))).toEqual(new Set([`200 ${one?.id}`]));

    const { token } = await gateway.api<{ token: string }>("POST", "/tokens", { name: "now" });
    const shown = { authorization: `Bearer ${token}` };
    expect(new Set(await inRows(12, 6, () => ask(pool, shown)))).toEqual(new Set([`200 ${one?.id}`]));
    await gateway.api("DELETE", `/providers/${pool.record.id}`);
    expect(new Set(await inRows(12, 6, () => ask(pool)))).toEqual(new Set(["404 null"]));
  });

  it("hold a token to its limits together", async () => {
    await using pool = await poolOf(gateway, { weights: [1] });
    const limits = { name: "limited", max_requests_per_minute: 7, max_concurrent: null };
    const { token, id } = await gateway.api<{ token: string; id: string }>("POST", "/tokens", limits);
    const shown = { authorization: `Bearer ${token}` };

    const answers = await inRows(20, 10, () => ask(pool, shown));
    expect(answers.filter((answer) => answer.startsWith("200 "))).toHaveLength(7);
    expect(answers.filter((answer) => answer.startsWith("429 "))).toHaveLength(13);

    await gateway.api("PATCH", `/tokens/${id}`, { max_requests_per_minute: null, max_concurrent: 2 });
    pool.provider.on().always(reply.slowHeaders(300, reply.json(200, {}, {})));
    const crowd = await inRows(8, 8, () => ask(pool, shown));
    expect(crowd.filter((answer) => answer.startsWith("200 "))).toHaveLength(2);
    expect((await ask(pool, shown)).slice(0, 3)).toBe("200");
  });

  it("let a browser stay signed in, whichever of them it reaches", async () => {
    const close = { connection: "close" };
    const signedIn = await fetch(`${gateway.url}/api/sign-in`, {
      method: "POST",
      headers: { "content-type": "application/json", ...close },
      body: JSON.stringify({ token: gateway.adminToken }),
    });
    const [cookie = ""] = (signedIn.headers.get("set-cookie") ?? "").split(";");
    await using pool = await poolOf(gateway, { weights: [1] });

    const calls = await inRows(12, 6, async () => {
      const answer = await fetch(`${gateway.url}/api/status`, { headers: { cookie, ...close } });
      await answer.arrayBuffer();
      return answer.status;
    });
    const chats = await inRows(6, 3, () =>
      ask(pool, { cookie, "x-keywheel-page": "1", "sec-fetch-site": "same-origin" }),
    );

    expect(new Set(calls)).toEqual(new Set([200]));
    expect(new Set(chats)).toEqual(new Set([`200 ${pool.keys[0]?.id}`]));
  });

  it("pass streams on piece by piece, and WebSockets", async () => {
    await using pool = await poolOf(gateway, { weights: [1] });
    pool.provider.on().always(reply.sse([{ data: "one" }, { data: "two" }], { delayMs: 400 }));
    const began = performance.now();
    const response = await pool.send({ stream: true });
    const reader = response.body?.getReader();
    const first = await reader?.read();
    const afterMs = performance.now() - began;
    await reader?.cancel();

    expect(Buffer.from(first?.value ?? []).toString()).toContain("one");
    expect(afterMs).toBeLessThan(390);

    await using realtime = await poolOf(gateway, { weights: [1] });
    const socket = new WebSocket(`${realtime.baseUrl.replace("http", "ws")}/v1/realtime?model=gpt-test`, ["realtime"]);
    const echoed = new Promise((resolve, reject) => {
      socket.addEventListener("message", ({ data }) => resolve(data));
      socket.addEventListener("error", () => reject(new Error("the socket failed")));
    });
    socket.addEventListener("open", () => socket.send("hello"));
    expect(await echoed).toBe("hello");
    socket.close();
  });
});

describe("workers on PostgreSQL and Redis", () => {
  it("take turns with those of another gateway, and everybody knows what is changed at one", async () => {
    const [redis, databaseUrl] = await Promise.all([runRedis(), createTestDatabase()]);
    try {
      const env = {
        KEYWHEEL_DATABASE_URL: databaseUrl,
        KEYWHEEL_REDIS_URL: redis.url,
        KEYWHEEL_MASTER_KEY: Buffer.alloc(32, 9).toString("base64"),
        KEYWHEEL_WORKERS: "2",
      };
      await using one = await runGateway({ env });
      await using other = await runGateway({ env });
      await using pool = await poolOf(one, { weights: [3, 2, 1] });
      await eventually(
        async () => (await other.apiResponse("GET", `/providers/${pool.record.id}/keys`)).text(),
        (text) => pool.keys.every(({ id }) => text.includes(id)),
        { what: "the pool to be known at the other gateway" },
      );
      const askAt = async (gateways: RunningGateway, session?: string): Promise<string> => {
        const response = await fetch(`${gateways.baseUrlOf(pool.record)}/v1/chat/completions`, {
          method: "POST",
          headers: {
            "content-type": "application/json",
            connection: "close",
            ...(session === undefined ? {} : { "x-keywheel-session": session }),
          },
          body: JSON.stringify({ model: "gpt-test", messages: [{ role: "user", content: "Hello" }] }),
        });
        await response.arrayBuffer();
        return `${response.status} ${response.headers.get("x-keywheel-key")}`;
      };

      const answers = await inRows(600, 12, (index) => askAt(index % 2 === 0 ? one : other));
      const raced = await inRows(50, 4, (index) =>
        Promise.all([one, other, one].map((gateways) => askAt(gateways, `raced-${index}`))),
      );

      expect(answers.filter((answer) => !answer.startsWith("200 "))).toEqual([]);
      expect(raced.filter((keys) => new Set(keys).size !== 1)).toEqual([]);
      const turns = answers.map((answer) => pool.keys.findIndex(({ id }) => answer.endsWith(id)));
      expect([0, 1, 2].map((key) => turns.filter((turn) => turn === key).length)).toEqual([300, 200, 100]);
    } finally {
      await redis.dispose();
    }
  }, 60_000);
});

describe("a worker that dies", () => {
  it("takes only its own requests with it, and another one takes its place", async () => {
    await using own = await runGateway({ flags: ["--workers", "2"] });
    await using pool = await poolOf(own, { weights: [1, 1] });
    const bound = await ask(pool, { "x-keywheel-session": "s" });
    const before = workersOf(own);

    process.kill(before[0] ?? 0, "SIGKILL");
    const answers = await inRows(40, 4, () => ask(pool).catch(() => "cut"));
    await eventually(
      () => workersOf(own),
      (pids) => pids.length === 2 && !pids.includes(before[0] ?? 0),
      { what: "a new worker" },
    );
    await eventually(
      async () => (await fetch(`${own.url}/metrics`)).text(),
      (text) => text.includes("keywheel_workers 2"),
      { what: "it to serve" },
    );

    // At most those that had been handed to it already.
    expect(answers.filter((answer) => answer === "cut").length).toBeLessThanOrEqual(2);
    expect(new Set(await inRows(12, 6, () => ask(pool, { "x-keywheel-session": "s" })))).toEqual(new Set([bound]));
    expect(own.logs()).toContain("A worker process has ended");
  }, 30_000);
});

describe("a gateway whose workers have all died", () => {
  it("serves by new ones, and stops when it is told to", async () => {
    await using own = await runGateway({ flags: ["--workers", "2"] });
    await using pool = await poolOf(own, { weights: [1] });
    await inRows(8, 4, () => askAnew(pool));
    const before = workersOf(own);

    for (const pid of before) process.kill(pid, "SIGKILL");
    await eventually(
      () => workersOf(own).filter((pid) => !before.includes(pid)),
      (pids) => pids.length === 2,
      { what: "new workers" },
    );

    // No connection since: those that were sent to the dead must not be waited for.
    expect(await own.stop()).toBe(0);
  }, 30_000);

  it("tries again until they can begin", async () => {
    await using own = await runGateway({ flags: ["--workers", "2"] });
    await using pool = await poolOf(own, { weights: [1] });
    const sockets = join(own.dataDir, "workers");
    rmSync(sockets, { recursive: true });
    for (const pid of workersOf(own)) process.kill(pid, "SIGKILL");
    await eventually(
      () => own.logs(),
      (logs) => logs.includes("A worker process could not begin"),
      { what: "a start that fails" },
    );

    const waiting = askAnew(pool);
    mkdirSync(sockets, { mode: 0o700 });

    expect(await waiting).toBe(200);
    expect(own.logs()).toContain(`The socket ${sockets}`);
  }, 30_000);
});

describe("changes under load", () => {
  it("are answered when they have taken effect, and wait for nothing else", async () => {
    await using own = await runGateway({ flags: ["--workers", "2"] });
    await using pool = await poolOf(own, { weights: [1, 1] });
    const over = new AbortController();
    // New conversations all the time: each is something to be written down.
    const load = inRows(6, 6, async (row) => {
      for (let turn = 0; !over.signal.aborted; turn++) {
        const messages = [{ role: "user", content: `talk ${row} ${turn}` }];
        await (await pool.send({ body: { model: "gpt-test", messages } })).arrayBuffer();
      }
    });
    const took: number[] = [];
    for (let change = 0; change < 5; change++) {
      const began = performance.now();
      await own.api("PATCH", `/keys/${pool.keys[0]?.id}`, { weight: 1 + (change % 2) });
      took.push(performance.now() - began);
      await pause(100);
    }
    over.abort();
    await load;

    // Two seconds are what a worker that does not answer is waited for.
    expect(took.toSorted((one, other) => one - other)[2]).toBeLessThan(1_500);
  }, 30_000);
});

describe("a worker that hangs", () => {
  it("gets no new connections, and is ended when it has hung for long", async () => {
    await using own = await runGateway({ flags: ["--workers", "2"] });
    await using pool = await poolOf(own, { weights: [1, 1] });
    const [hung = 0] = workersOf(own);

    process.kill(hung, "SIGSTOP");
    await pause(2_500);
    const answers = await inRows(20, 4, () => askAnew(pool));
    await eventually(
      () => workersOf(own),
      (pids) => pids.length === 2 && !pids.includes(hung),
      { what: "it to be replaced", timeoutMs: 25_000 },
    );

    expect(new Set(answers)).toEqual(new Set([200]));
    await eventually(
      () => own.logs(),
      (logs) => logs.includes("A worker process hangs"),
      { what: "the log to say so" },
    );
  }, 60_000);
});

describe("a gateway with workers", () => {
  it("goes on after kill -9 where it was, and leaves no process behind", async () => {
    await using own = await runGateway({ flags: ["--workers", "2"] });
    await using pool = await poolOf(own, { weights: [1, 1] });
    pool.provider.on({ key: pool.valueOf("A") }).next(reply.status(429));
    await inRows(4, 1, () => ask(pool));
    const bound = await ask(pool, { "x-keywheel-session": "s" });
    await pause(1_500);
    const pids = workersOf(own);

    await own.kill();
    await eventually(
      () => pids.filter((pid) => parentOf(String(pid)) !== undefined),
      (alive) => alive.length === 0,
      { what: "the workers to end" },
    );
    await own.restart();

    expect((await pool.key("A")).status).toBe("cooling_down");
    expect(await ask(pool, { "x-keywheel-session": "s" })).toBe(bound);
    const sockets = join(own.dataDir, "workers");
    expect(statSync(sockets).mode & 0o777).toBe(0o700);
    await own.stop();
    expect(existsSync(sockets)).toBe(false);
  }, 30_000);

  it("lets running answers end when it stops, and is gone then", async () => {
    await using own = await runGateway({ flags: ["--workers", "2"] });
    await using pool = await poolOf(own, { weights: [1] });
    pool.provider.on().always(reply.sse([{ data: "one" }, { data: "two" }], { delayMs: 500 }));
    const running = await Promise.all([1, 2, 3, 4].map(() => pool.send({ stream: true })));
    const pids = workersOf(own);

    const stopped = own.stop();
    const texts = await Promise.all(running.map((response) => response.text()));

    expect(texts.filter((text) => text.includes("two"))).toHaveLength(4);
    expect(await stopped).toBe(0);
    expect(pids.filter((pid) => parentOf(String(pid)) !== undefined)).toEqual([]);
    expect(own.logs()).not.toMatch(/"level":"error"/);
  }, 30_000);

  it("says what is wrong with its address, or with the words of the call", async () => {
    const port = new URL(gateway.url).port;
    using home = aHome();
    const [taken, none, many, few, little] = await Promise.all([
      runCommand(["start", "--workers", "2", "--port", port], home),
      runCommand(["start", "--workers", "0"], home),
      runCommand(["start", "--workers", "some"], home),
      runCommand(["start", "--workers", "4", "--max-requests", "3"], home),
      runCommand(["start", "--workers", "3", "--max-memory-mb", "256"], home),
    ]);

    expect([taken.code, taken.stderr]).toEqual([1, expect.stringContaining(`Port ${port} on 127.0.0.1 is in use`)]);
    expect([none.code, none.stderr]).toEqual([2, expect.stringContaining("an integer from 1 to 64, or auto")]);
    expect(many.code).toBe(2);
    expect([few.code, few.stderr]).toEqual([2, expect.stringContaining("at least 4 with 4 workers")]);
    expect([little.code, little.stderr]).toEqual([2, expect.stringContaining("3 workers need at least 600 MiB")]);
  }, 30_000);
});
