import { readdirSync, readFileSync } from "node:fs";
import { Agent, request as httpRequest } from "node:http";
import { setTimeout as pause } from "node:timers/promises";
import { expect, it } from "vitest";
import { type Reply, reply, runGateway, type RunningGateway } from "@keywheel/testkit";
import { type PooledProvider, poolOf } from "../pooled-provider.ts";

/** A short one, unless told more: `npm run soak -- --minutes 30 --rate 500`. */
const minutes = Number(process.env["KEYWHEEL_SOAK_MINUTES"] ?? 0.4);
/** Requests a second. */
const rate = Number(process.env["KEYWHEEL_SOAK_RATE"] ?? 100);
const wholeMs = minutes * 60_000;
const sampleEveryMs = Math.max(500, Math.min(10_000, wholeMs / 60));
const mib = 1024 * 1024;

interface Sample {
  readonly atMs: number;
  readonly memoryMib: number;
  readonly handles: number;
}

function sampleOf({ pid }: RunningGateway, atMs: number): Sample {
  const kib = /^VmRSS:\s+(\d+) kB/m.exec(readFileSync(`/proc/${pid}/status`, "utf8"))?.[1];
  return { atMs, memoryMib: (Number(kib) * 1024) / mib, handles: readdirSync(`/proc/${pid}/fd`).length };
}

const textOf = (request: { json(): unknown }): string =>
  (request.json() as { messages: { content: string }[] }).messages.at(-1)?.content ?? "";

const event = (content: string): object => ({ data: { choices: [{ delta: { content } }] } });

/** How the provider answers, by the last digits of what it is asked: one request in ten meets a failure at its first try. */
function answerTo(text: string, isRetry: boolean): Reply {
  // Multiplied so that no burst of failures comes of neighbours.
  const dice = (Number(/(\d+)$/.exec(text)?.[1] ?? 0) * 617) % 1_000;
  if (dice < 90 && isRetry) return reply.json(200, {}, { choices: [{ message: { content: text } }] });
  if (dice < 40) return reply.status(429);
  if (dice < 45) return reply.status(429, { "retry-after": "1" });
  if (dice < 50) return reply.status(529);
  if (dice < 52) return reply.status(401);
  if (dice < 70) return reply.status(500, {}, { error: { message: text } });
  if (dice < 80) return reply.cutBeforeHeaders("rst");
  if (dice < 90)
    return reply.cutInBody("fin", {
      sent: '{"choices":[',
      length: 500,
      headers: { "content-type": "application/json" },
    });
  if (dice < 300) {
    const events = [event("a"), event(text), event("b")] as { data: unknown }[];
    return reply.sse([...events, { data: "[DONE]" }], { delayMs: dice % 20 });
  }
  return reply.slowHeaders(
    dice % 50,
    reply.json(
      200,
      {},
      { choices: [{ message: { content: text } }], usage: { prompt_tokens: 10, completion_tokens: 5 } },
    ),
  );
}

/** What clients got, by status and the gateway's own code; an answer that is not the request's own is a fault. */
class Clients {
  readonly outcomes = new Map<string, number>();
  readonly faults: string[] = [];
  running = 0;
  sent = 0;
  readonly #agent = new Agent({ keepAlive: true, maxSockets: 2_000, keepAliveMsecs: 1_000 });
  readonly #pool: PooledProvider;

  constructor(pool: PooledProvider) {
    this.#pool = pool;
  }

  /** Every second one is of a session that there was before, of the last thousand. */
  send(): void {
    const number = this.sent++;
    const session = number % 2 === 0 ? number : Math.max(0, number - 1 - 2 * (number % 500));
    const mark = `q ${number}`;
    const isStream = number % 1_000 < 300;
    const body = JSON.stringify({ model: "m", messages: [{ role: "user", content: mark }], stream: isStream });
    this.running++;
    const headers = {
      "content-type": "application/json",
      "content-length": body.length,
      "x-keywheel-session": `soak-${session}`,
    };
    const request = httpRequest(`${this.#pool.baseUrl}/chat/completions`, {
      method: "POST",
      agent: this.#agent,
      headers,
    });
    let isSettled = false;
    const settle = (outcome: string): void => {
      if (isSettled) return;
      isSettled = true;
      this.running--;
      this.outcomes.set(outcome, (this.outcomes.get(outcome) ?? 0) + 1);
    };
    request.on("error", () => settle("no answer"));
    request.on("response", (response) => {
      let text = "";
      response.setEncoding("utf8").on("data", (piece: string) => (text += piece));
      response.on("end", () => {
        const own = response.headers["x-keywheel-error"];
        if (response.statusCode === 200 && !text.includes(JSON.stringify(mark)))
          this.faults.push(`${mark}: ${text.slice(0, 200)}`);
        settle(`${response.statusCode}${own === undefined ? "" : ` ${String(own)}`}`);
      });
      response.on("error", () => settle("cut"));
    });
    // One in two hundred changes its mind.
    if (number % 200 === 7) setTimeout(() => request.destroy(), 10);
    request.end(body);
  }

  close(): void {
    this.#agent.destroy();
  }
}

/** An operator who changes things all the time, and a page that looks on. */
async function operate(gateway: RunningGateway, pool: PooledProvider, isOver: () => boolean): Promise<void> {
  for (let round = 0; !isOver(); round++) {
    const [added] = await gateway.addKeys(pool.record, [{ api_key: `sk-test-soak-${1_000_000 + round}`, weight: 1 }]);
    await gateway.api("PATCH", `/keys/${pool.keys[round % pool.keys.length]?.id}`, { weight: 1 + (round % 3) });
    await gateway.api("GET", "/status");
    await gateway.api("GET", "/requests?limit=50");
    await gateway.api("GET", "/usage");
    await gateway.api("DELETE", `/keys/${added?.id}`);
    await gateway.api("POST", `/providers/${pool.record.id}/keys/bulk`, {
      action: "enable",
      where: { status: "disabled" },
    });
    await pause(500);
  }
}

const median = (numbers: readonly number[]): number =>
  numbers.toSorted((one, other) => one - other)[numbers.length >> 1] ?? NaN;

/** The median over a part of the run, from and to as shares of it. */
function over(samples: readonly Sample[], name: "memoryMib" | "handles", from: number, to: number): number {
  return median(
    samples.filter(({ atMs }) => atMs >= from * wholeMs && atMs <= to * wholeMs).map((sample) => sample[name]),
  );
}

it(
  `at ${rate} requests a second for ${minutes} minutes, with failures, memory and handles stay flat`,
  { timeout: wholeMs + 120_000 },
  async () => {
    await using gateway = await runGateway({ flags: ["--log-level", "error"] });
    await using pool = await poolOf(gateway, {
      weights: Array.from({ length: 12 }, () => 1),
      settings: { cooldown: { base_ms: 200, cap_ms: 800 }, retry: { provider_errors: 1 } },
      // It does not know those that the operator adds.
      faultsAreExpected: true,
    });
    let tried = new Set<string>();
    const answer = (text: string): Reply => {
      const isRetry = tried.has(text);
      tried.add(text);
      return answerTo(text, isRetry);
    };
    pool.provider.on().always(reply.by((request) => answer(textOf(request))));
    const clients = new Clients(pool);
    const samples: Sample[] = [];
    const beganAt = performance.now();
    const elapsed = (): number => performance.now() - beganAt;
    const page = new AbortController();
    const events = await fetch(`${gateway.url}/api/events`, {
      headers: { authorization: `Bearer ${gateway.adminToken}` },
      signal: page.signal,
    });
    const reading = (async () => {
      for await (const _ of events.body ?? []);
    })().catch(() => {});

    const operating = operate(gateway, pool, () => elapsed() >= wholeMs);
    let nextSampleMs = 0;
    while (elapsed() < wholeMs) {
      for (const due = (elapsed() / 1_000) * rate; clients.sent < due && clients.running < 4 * rate + 100;)
        clients.send();
      if (elapsed() >= nextSampleMs) {
        samples.push(sampleOf(gateway, elapsed()));
        nextSampleMs += sampleEveryMs;
        pool.provider.forget();
        tried = new Set();
      }
      await pause(10);
    }
    await operating;
    page.abort();
    await reading;
    for (let waited = 0; clients.running > 0 && waited < 20_000; waited += 100) await pause(100);

    const settled = minutes >= 20 ? 5 / minutes : 1 / 3;
    const figures = {
      sent: clients.sent,
      outcomes: Object.fromEntries(clients.outcomes),
      memoryMib: {
        settled: over(samples, "memoryMib", settled, settled + 0.2),
        end: over(samples, "memoryMib", 0.8, 1),
        most: Math.max(...samples.map(({ memoryMib }) => memoryMib)),
      },
      handles: {
        settled: over(samples, "handles", settled, settled + 0.2),
        end: over(samples, "handles", 0.8, 1),
        most: Math.max(...samples.map(({ handles }) => handles)),
      },
    };
    process.stdout.write(`${JSON.stringify(figures, undefined, 2)}\n`);
    if (process.env["KEYWHEEL_SOAK_SAMPLES"] !== undefined) process.stdout.write(`${JSON.stringify(samples)}\n`);

    expect(clients.faults).toEqual([]);
    expect(clients.running).toBe(0);
    expect(clients.sent).toBeGreaterThan((wholeMs / 1_000) * rate * 0.8);
    const served = (clients.outcomes.get("200") ?? 0) / clients.sent;
    expect(served).toBeGreaterThan(0.9);
    expect(
      [...clients.outcomes.keys()].filter(
        (outcome) => !/^(200|500|no answer|cut|429 pool_exhausted|502 upstream_unreachable)$/.test(outcome),
      ),
    ).toEqual([]);
    expect(gateway.logs()).not.toMatch(/"level":"(error|fatal)"/);
    // A short run is still warming up, and on a busy machine a pause leaves the connections of a burst behind for a minute; a
    // handle lost with one request in ten would show in either.
    const slack = minutes >= 20 ? { memory: 1.1, handles: 25 } : { memory: 1.35, handles: 150 };
    expect(figures.memoryMib.end).toBeLessThan(figures.memoryMib.settled * slack.memory + 10);
    expect(figures.handles.end).toBeLessThan(figures.handles.settled * 1.25 + slack.handles);
  },
);
