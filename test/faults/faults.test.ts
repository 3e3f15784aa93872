import { writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { type AbsenceEntry, type Cut, type CutOff, type History, violationsOf } from "@keywheel/testkit";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { inRows } from "../in-rows.ts";
import { now, Observer } from "../observer.ts";
import { eventually, type PooledProvider, poolOf } from "../pooled-provider.ts";
import { saidAlone, seesDatabase, sharesState } from "./absences.ts";
import { Clients, operate } from "./load.ts";
import { isolated, mortal, type Stack, startStack } from "./stack.ts";
import { type Letter, letters, Weather, weights } from "./weather.ts";

// Three gateways on one PostgreSQL and one Redis under an even load, while something of that breaks. Short, unless told more:
// `npm run faults -- --seconds 60 --rate 300`.

const seconds = Number(process.env["KEYWHEEL_FAULTS_SECONDS"] ?? 10);
/** Requests a second, over all gateways. */
const rate = Number(process.env["KEYWHEEL_FAULTS_RATE"] ?? 300);
const wholeMs = seconds * 1_000;
/** Of that rate, on a machine that is busy with other things. */
const leastShare = 0.3;
const policy = { baseMs: 300, capMs: 2_400 };
const everyone = [0, 1, 2];

interface Fault {
  readonly name: string;
  /** What is away, and from whom. */
  readonly of: AbsenceEntry["of"];
  readonly from: readonly number[];
  begin(run: Run): Promise<unknown>;
  end(run: Run): Promise<unknown>;
}

function ofRedis(name: string, begin: Fault["begin"], end: Fault["end"]): Fault {
  return { name: `Redis ${name}`, of: "state", from: everyone, begin, end };
}

function ofPostgres(name: string, begin: Fault["begin"], end: Fault["end"]): Fault {
  return { name: `PostgreSQL ${name}`, of: "database", from: everyone, begin, end };
}

function cutOff(of: "state" | "database", how: Cut): Fault {
  const [name, wayOf] =
    of === "state"
      ? ["Redis", ({ stack }: Run): CutOff => stack.wayToRedis]
      : ["PostgreSQL", ({ stack }: Run): CutOff => stack.wayToPostgres];
  return {
    name: `${name} cut off from one gateway, ${how === "silent" ? "by a network that swallows everything" : how}`,
    of,
    from: [isolated],
    begin: (run) => wayOf(run).cut(how),
    end: (run) => wayOf(run).heal(),
  };
}

const faults: readonly Fault[] = [
  ofRedis(
    "killed, and started with what it had",
    ({ stack }) => stack.redis.kill(),
    ({ stack }) => stack.redis.restart(),
  ),
  ofRedis(
    "paused",
    async ({ stack }) => stack.redis.pause(),
    async ({ stack }) => stack.redis.resume(),
  ),
  ofRedis(
    "killed, and started empty",
    ({ stack }) => stack.redis.kill(),
    ({ stack }) => stack.redis.restartEmpty(),
  ),
  cutOff("state", "silent"),
  cutOff("state", "unreachable"),
  ofPostgres(
    "killed, and started again",
    ({ stack }) => stack.postgres.kill(),
    ({ stack }) => stack.postgres.start(),
  ),
  ofPostgres(
    "paused",
    async ({ stack }) => stack.postgres.freeze(true),
    async ({ stack }) => stack.postgres.freeze(false),
  ),
  ofPostgres(
    "killed, started empty, and put back",
    ({ stack }) => stack.postgres.startEmpty([stack.databaseName]),
    ({ stack }) => stack.postgres.startRestored(),
  ),
  cutOff("database", "silent"),
  cutOff("database", "unreachable"),
  {
    name: "a gateway killed, and started again",
    of: "process",
    from: [mortal],
    begin: (run) => run.killGateway(),
    end: (run) => run.startGateway(),
  },
];

let stack: Stack;
beforeAll(async () => {
  stack = await startStack();
  process.stdout.write(`The gateway that is cut off runs behind ${stack.isolation}.\n`);
});
afterAll(() => stack[Symbol.asyncDispose]());

/** One fault under load, from the first request to the last. */
class Run {
  readonly stack = stack;
  readonly observer: Observer;
  readonly clients: Clients;
  readonly pool: PooledProvider;
  readonly #fault: Fault;
  readonly #absences: AbsenceEntry[] = [];
  readonly #weather: Weather;
  readonly #away = new Set<number>();
  readonly #startedAt = performance.now();
  readonly #beganAt = now();
  #isOver = false;

  constructor(fault: Fault, pool: PooledProvider) {
    this.#fault = fault;
    this.pool = pool;
    const { gateways } = stack;
    this.observer = new Observer({ gateways, pool, policy, stored: (keyId) => stack.stored(keyId) });
    this.clients = new Clients(stack, this.observer);
    const letterOf = (value: string): Letter => letters[pool.values.indexOf(value)] ?? "L";
    const refusals = { H: 0.15 * wholeMs, I: 0.45 * wholeMs, J: 0.8 * wholeMs };
    this.#weather = new Weather(this.observer, letterOf, refusals);
    this.#weather.over(pool);
  }

  async killGateway(): Promise<void> {
    this.clients.setDead(mortal, true);
    await stack.gateways[mortal]?.kill();
  }

  async startGateway(): Promise<void> {
    await stack.gateways[mortal]?.restart();
    await this.observer.listen(mortal);
    this.clients.setDead(mortal, false);
  }

  /** @returns what was seen, and how long the gateways took to be as before, ms */
  async play(): Promise<{ readonly history: History; readonly recoveryMs: number; readonly changed: number }> {
    for (const instance of everyone) await this.observer.listen(instance);
    const isOver = (): boolean => this.#isOver;
    const isAway = (instance: number): boolean => this.#away.has(instance);
    const parts = { observer: this.observer, pool: this.pool, isOver, isAway };
    const background = Promise.all([
      this.clients.send(rate, isOver),
      operate(stack, parts),
      ...everyone.map((instance) => this.#watch(instance)),
    ]);
    const recoveryMs = await this.#breakAndMend();
    await this.#till(1);
    this.#isOver = true;
    const [, changed] = await background;
    await this.clients.rest();

    this.#weather.calmDown();
    await this.observer.change("enable", this.#idOf("K"), ["PATCH", `/keys/${this.#idOf("K")}`, { enabled: true }]);
    const rounds = [await this.#round()];
    // What follows from the last answers is done a little after the clients have got them.
    await sleep(1_100);
    for (const instance of everyone) await this.observer.snapshot(instance);
    await this.observer.close();
    const stored = await Promise.all(
      letters.map(async (letter) => {
        const keyId = this.#idOf(letter);
        return { keyId, enabled: (await stack.stored(keyId)) === "on" };
      }),
    );
    const alone = stack.gateways.flatMap((gateway, instance) => saidAlone(gateway, instance));
    const absences = [...this.#absences, ...alone.filter(({ to }) => to > this.#beganAt)];
    return { history: this.observer.historyWith({ absences, rounds, stored }), recoveryMs, changed };
  }

  async #breakAndMend(): Promise<number> {
    const { of, from: instances } = this.#fault;
    await this.#till(0.3);
    const from = now();
    if (of !== "state") for (const instance of instances) this.#away.add(instance);
    await this.#fault.begin(this);
    await this.#till(0.6);
    const mendedAt = now();
    await this.#fault.end(this);
    const [first] = everyone.filter((instance) => !instances.includes(instance));
    const writer = stack.gateways[first ?? 0] ?? never();
    const recoveries = instances.map(async (instance) => {
      const gateway = stack.gateways[instance] ?? never();
      const to = await (of === "state"
        ? sharesState(gateway)
        : seesDatabase(gateway, { writer, keyId: this.pool.keys[instance]?.id ?? "" }));
      this.#absences.push({ instance, of, from, to });
      this.#away.delete(instance);
      return to - mendedAt;
    });
    return Math.max(...(await Promise.all(recoveries)));
  }

  /** When every key that is left can serve: a few times around the wheel, by all gateways at once. */
  async #round(): Promise<NonNullable<History["rounds"]>[number]> {
    const refused = new Set<string>(["H", "I", "J"]);
    const left = letters.filter((letter) => !refused.has(letter));
    const isWell = async (gateway: Stack["gateways"][number]): Promise<boolean> => {
      const keys = await gateway.keys(this.pool.record);
      return left.every((letter) =>
        keys.some(
          (key) => key.id === this.#idOf(letter) && key.status === "available" && key.consecutive_failures === 0,
        ),
      );
    };
    await eventually(
      async () => {
        await inRows(letters.length, 3, () => this.clients.request());
        return await Promise.all(stack.gateways.map(isWell));
      },
      (are) => are.every(Boolean),
      { what: "all keys that are left to serve", timeoutMs: 15_000 },
    );
    // What a success has changed of a key is on its way to the other gateways.
    await sleep(200);
    const wheel = left.map((letter) => ({ keyId: this.#idOf(letter), weight: weights[letter] ?? 1 }));
    const turns = 20 * wheel.reduce((sum, { weight }) => sum + weight, 0);
    const from = now();
    await inRows(turns, 12, () => this.clients.request());
    return { from, to: now(), wheel };
  }

  /** Looks at one gateway's keys until the load is over. */
  async #watch(instance: number): Promise<void> {
    while (!this.#isOver) {
      try {
        if (stack.gateways[instance]?.isRunning === true && !this.#isDown(instance))
          await this.observer.snapshot(instance);
      } catch (error) {
        // It was killed meanwhile.
        if (!(error instanceof TypeError)) throw error;
      }
      await sleep(250);
    }
  }

  #isDown(instance: number): boolean {
    return this.#fault.of === "process" && this.#away.has(instance);
  }

  #idOf(letter: Letter): string {
    return this.pool.keys[letters.indexOf(letter)]?.id ?? "";
  }

  async #till(share: number): Promise<void> {
    await sleep(Math.max(0, share * wholeMs - (performance.now() - this.#startedAt)));
  }
}

function never(): never {
  throw new Error("there is no such gateway");
}

async function aPool(): Promise<PooledProvider> {
  const pool = await poolOf(stack.gateways[0] ?? never(), {
    weights: letters.map((letter) => weights[letter] ?? 1),
    settings: { cooldown: { base_ms: policy.baseMs, cap_ms: policy.capMs }, retry: { provider_errors: 1 } },
    provider: { host: stack.outside },
  });
  for (const gateway of stack.gateways) {
    await eventually(
      async () => (await gateway.apiResponse("GET", `/providers/${pool.record.id}/keys`)).text(),
      (text) => pool.keys.every(({ id }) => text.includes(id)),
      { what: "the pool to be known everywhere" },
    );
  }
  return pool;
}

/** What a history must hold for its lack of violations to mean anything. */
function contentsOf({ calls, changes, events, snapshots }: History): Record<string, number> {
  const attempts = calls.flatMap((call) => call.attempts);
  const answered = (kind: string): number => attempts.filter(({ answer }) => answer.kind === kind).length;
  return {
    calls: calls.length,
    retries: attempts.length - calls.filter((call) => call.attempts.length > 0).length,
    limited: answered("limited"),
    refused: answered("refused"),
    faults: answered("other"),
    ofSessions: calls.filter(({ session }) => session !== undefined).length,
    cooled: events.filter(({ type }) => type === "key-cooled").length,
    recovered: events.filter(({ type }) => type === "key-recovered").length,
    changes: changes.length,
    snapshots: snapshots.length,
  };
}

describe(`under ${rate} requests/s through three gateways no client sees an error and no rule is broken:`, () => {
  it.each(faults)(
    "$name",
    async (fault) => {
      await using pool = await aPool();
      const run = new Run(fault, pool);

      const { history, recoveryMs, changed } = await run.play();

      const contents = contentsOf(history);
      const deadlocks = await stack.deadlocks();
      const figures = { ...contents, changed, deadlocks, recoveryMs: Math.round(recoveryMs), alone: saidOf(history) };
      process.stdout.write(`${fault.name}: ${JSON.stringify(figures)}\n`);
      expect(toldOf(history, pool)).toEqual([]);
      expect([...run.clients.outcomes.keys()]).toEqual(["200"]);
      expect(contents["calls"]).toBeGreaterThan(leastShare * rate * seconds);
      expect(Object.entries(contents).filter(([, count]) => count === 0)).toEqual([]);
      expect(changed).toBeGreaterThan(0);
    },
    wholeMs + 90_000,
  );
});

/** The violations, with keys by their letters, and where all that led to them is kept. */
function toldOf(history: History, pool: PooledProvider): string[] {
  const violations = violationsOf(history);
  if (violations.length === 0) return [];
  const named = (text: string): string =>
    letters.reduce((all, letter, at) => all.replaceAll(pool.keys[at]?.id ?? letter, letter), text);
  const file = join(tmpdir(), `keywheel-history-${pool.record.slug}-${process.pid}.json`);
  const logs = stack.gateways.map((gateway) => gateway.logs());
  writeFileSync(file, named(JSON.stringify({ ...history, logs })));
  return [...violations.map(named), `The history is in ${file}`];
}

/** How often each gateway was without anything. */
function saidOf({ absences = [] }: History): string {
  return absences.map(({ instance, of, from, to }) => `${instance} ${of} ${Math.round(to - from)} ms`).join(", ");
}
