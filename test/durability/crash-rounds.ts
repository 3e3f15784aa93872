import { mkdtempSync, readdirSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { DatabaseSync } from "node:sqlite";
import { setTimeout as sleep } from "node:timers/promises";
import {
  type KeyView,
  type ProviderView,
  runGateway,
  type RunningGateway,
  type ScriptedProvider,
  startScriptedProvider,
} from "@keywheel/testkit";
import { type FaultPlan, faultsUntilKilled, isFillable } from "./crash-faults.ts";
import { askOnce, type LoadReport, loadUntilKilled, PlayedProvider, type Served } from "./crash-load.ts";
import { durably, type FaultSpan, hadPeace, inventedKey, type KeyState } from "./crash-model.ts";
import { type OperatedKey, Operator } from "./crash-operator.ts";
import { type Dice, diceOf } from "./dice.ts";
import { aFaultyDisk, type FaultyDisk } from "./faulty-disk.ts";

export interface CrashOptions {
  readonly rounds: number;
  readonly seed: number;
  /** A folder for the data; one on a disk of 64 MiB at most is filled up now and then. Default: a new one. */
  readonly folder?: string;
  readonly say?: (line: string) => unknown;
}

/** What all rounds together held: a run in which nothing happened shows nothing. */
export interface CrashReport {
  readonly violations: readonly string[];
  readonly counts: Readonly<Record<string, number>>;
}

/** A request gives up waiting for its database after two seconds; the rest is for a machine with much to do. */
const surelyWaitedMs = 1_500;
/** Contract §4 rule 12: the last second of bindings may be missing. */
const bindingsMs = 1_500;
const cooldownMs = 600_000;
const good = 4;

/**
 * Starts the gateway, lets clients and operators at it with faults of disk and database in between, kills it at any moment,
 * starts it again and looks whether anything was lost, round after round in one data directory.
 */
export async function playRounds(options: CrashOptions): Promise<CrashReport> {
  const folder = mkdtempSync(join(options.folder ?? tmpdir(), "keywheel-crash-"));
  using disk = aFaultyDisk();
  try {
    await using gateway = await runGateway({ dataDir: join(folder, "data"), env: disk.env, startTimeoutMs: 60_000 });
    await using bench = await CrashBench.open(gateway, disk, options);
    for (let round = 1; round <= options.rounds; round++) {
      await bench.play(round);
      if (bench.violations.length > 0) break;
    }
    return { violations: bench.violations, counts: bench.counts };
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
}

class CrashBench {
  readonly violations: string[] = [];
  readonly counts: Record<string, number> = {};
  readonly #gateway: RunningGateway;
  readonly #disk: FaultyDisk;
  readonly #provider: ScriptedProvider;
  readonly #played: PlayedProvider;
  readonly #record: ProviderView;
  readonly #dice: Dice;
  readonly #fillable: string | undefined;
  readonly #say: (line: string) => unknown;
  /** Of keys that are gone: their sealed bytes. */
  readonly #sealedGone = new Set<string>();
  /** The ends of all values that there ever were. */
  readonly #ends = new Set<string>();

  private constructor(
    gateway: RunningGateway,
    disk: FaultyDisk,
    parts: { provider: ScriptedProvider; record: ProviderView; options: CrashOptions },
  ) {
    this.#gateway = gateway;
    this.#disk = disk;
    this.#provider = parts.provider;
    this.#played = new PlayedProvider(parts.provider);
    this.#record = parts.record;
    this.#dice = diceOf(parts.options.seed);
    this.#fillable = isFillable(gateway.dataDir) ? join(gateway.dataDir, "..") : undefined;
    this.#say = parts.options.say ?? (() => {});
  }

  static async open(gateway: RunningGateway, disk: FaultyDisk, options: CrashOptions): Promise<CrashBench> {
    const dice = diceOf(options.seed ^ 0x5eed);
    const goodKeys = Array.from({ length: good }, (_, at) => inventedKey(dice, `good${at}`));
    const provider = await startScriptedProvider({ keys: goodKeys });
    const settings = { cooldown: { base_ms: cooldownMs, cap_ms: 2 * cooldownMs } };
    const record = await gateway.addProvider({ baseUrl: provider.baseUrl, settings });
    await gateway.addKeys(record, goodKeys);
    return new CrashBench(gateway, disk, { provider, record, options });
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.#provider.close();
  }

  async play(round: number): Promise<void> {
    const sour = await this.#addSourKeys(round);
    const operators = ["p", "q"].map((name) => ({ name: `${name}${round}`, operator: this.#anOperator() }));
    const spans: FaultSpan[] = [];
    const load = loadUntilKilled({
      baseUrl: this.#gateway.baseUrlOf(this.#record),
      round,
      dice: this.#dice.fork(),
      clients: 6,
      isOver: () => this.#isOver,
    });
    const acts = operators.map(({ name, operator }) => operator.actUntilKilled(name));
    const faults = faultsUntilKilled(
      {
        plan: planOf(round),
        databaseFile: this.#gateway.databaseFile,
        disk: this.#disk,
        dice: this.#dice.fork(),
        isOver: () => this.#isOver,
        fillable: this.#fillable,
      },
      spans,
    );
    // Together at once: a fault of one must not pass for unhandled while the others are waited for.
    const all = Promise.all([load, faults, ...acts]);
    const lifeMs = planOf(round) === "dice" ? this.#dice.between(300, 4_500) : 4_500;
    await sleep(lifeMs / 2);
    this.#lookAtSealed(operators.map(({ operator }) => operator));
    await sleep(lifeMs / 2);
    const killedAt = performance.now();
    this.#isOver = true;
    await this.#gateway.kill("SIGKILL");
    const [report] = await all;
    this.#isOver = false;
    this.#disk.set("well");

    await this.#gateway.restart();
    await this.#check({ round, sour, operators: operators.map(({ operator }) => operator), report, spans, killedAt });
    const lines = Object.entries(this.counts).map(([name, count]) => `${name} ${count}`);
    this.#say(`round ${round}: ${lines.join(", ")}`);
  }

  #isOver = false;

  #anOperator(): Operator {
    return new Operator({
      gateway: this.#gateway,
      providerId: this.#record.id,
      dice: this.#dice.fork(),
      isOver: () => this.#isOver,
      accept: (value) => {
        this.#provider.accept(value);
        this.#ends.add(value.slice(-endLength));
      },
    });
  }

  /** Keys that will be refused or limited, and are let be by operators. @returns ids by value */
  async #addSourKeys(round: number): Promise<ReadonlyMap<string, string>> {
    const ids = new Map<string, string>();
    for (let at = 0; at < 6; at++) {
      const value = inventedKey(this.#dice, `sour${round}n${at}`);
      this.#provider.accept(value);
      (at % 2 === 0 ? this.#played.refused : this.#played.limited).add(value);
      const [key] = await this.#gateway.addKeys(this.#record, [value]);
      ids.set(value, key?.id ?? "");
      this.#ends.add(value.slice(-endLength));
    }
    return ids;
  }

  /** What keys look like in the database, while they are there: later nothing of it may be left. */
  #lookAtSealed(operators: readonly Operator[]): void {
    const rows = this.#ask("select id, secret_sealed as sealed from keys") as { id: string; sealed: string }[];
    const byId = new Map(rows.map(({ id, sealed }) => [id, sealed]));
    for (const { keys } of operators) for (const key of keys) key.sealed = byId.get(key.id ?? "");
  }

  async #check(parts: {
    readonly round: number;
    readonly sour: ReadonlyMap<string, string>;
    readonly operators: readonly Operator[];
    readonly report: LoadReport;
    readonly spans: readonly FaultSpan[];
    readonly killedAt: number;
  }): Promise<void> {
    const { round, sour, operators, report, spans, killedAt } = parts;
    const wrong = (what: string): void => void this.violations.push(`round ${round}: ${what}`);
    this.#checkIntegrity(wrong);
    for (const what of [...report.violations, ...operators.flatMap(({ violations }) => violations)]) wrong(what);

    const keys = await this.#gateway.keys(this.#record);
    for (const operator of operators) {
      this.#checkKeys(operator, keys, wrong);
      await this.#checkTokens(operator, wrong);
      for (const [answer, count] of Object.entries(operator.answers)) this.#count(`writes ${answer}`, count);
    }
    this.#checkHealths(sour, keys, wrong);
    await this.#checkSessions({ report, spans, killedAt, keys, round }, wrong);
    await this.#removeUsed(sour, keys);
    await this.#checkBytes(operators, wrong);
    this.#checkLog(wrong);

    this.#count("rounds", 1);
    this.#count("requests", report.sent);
    this.#count("served", report.served.length);
    this.#count("cut off", report.cutOff);
    for (const { kind } of spans) this.#count(kind, 1);
    this.#played.attempts.length = 0;
    this.#provider.forget();
  }

  #checkIntegrity(wrong: (what: string) => void): void {
    const verdict = JSON.stringify(this.#ask("PRAGMA integrity_check"));
    if (verdict !== '[{"integrity_check":"ok"}]') wrong(`the database is not sound: ${verdict}`);
    const orphans = this.#ask("PRAGMA foreign_key_check");
    if (orphans.length > 0) wrong(`rows belong to nothing: ${JSON.stringify(orphans)}`);
  }

  #checkKeys({ keys, batches }: Operator, stored: readonly KeyView[], wrong: (what: string) => void): void {
    for (const key of keys) {
      const found = stored.find(({ id, label }) => id === key.id || label.startsWith(`${key.name}.`));
      const state = stateOf(found);
      if (!key.told.possible.some((possible) => isSame(possible, state))) {
        wrong(`key ${key.name} is ${state}, and was told to be ${JSON.stringify(key.told.possible)}`);
      }
      if (found === undefined && key.sealed !== undefined) this.#sealedGone.add(key.sealed);
      key.id = found?.id;
    }
    for (const batch of batches) this.#checkBatch(batch, wrong);
  }

  /** What one call adds or deletes is there together, or not. A key that another call touched since says nothing. */
  #checkBatch(batch: readonly OperatedKey[], wrong: (what: string) => void): void {
    const open = batch.filter(({ told }) => told.possible.length === 2 && told.possible.includes("gone"));
    const there = open.filter(({ id }) => id !== undefined).length;
    if (open.length === batch.length && there !== 0 && there !== batch.length) {
      wrong(`${there} of the ${batch.length} keys of one call are there: ${batch.map(({ name }) => name).join()}`);
    }
  }

  async #checkTokens({ tokens }: Operator, wrong: (what: string) => void): Promise<void> {
    const { data } = await this.#gateway.api<{ data: { name: string }[] }>("GET", "/tokens");
    const names = new Set(data.map(({ name }) => name));
    for (const { name, told } of tokens) {
      const state = names.has(name) ? "there" : "gone";
      if (!told.possible.includes(state))
        wrong(`token ${name} is ${state}, and was told to be ${told.possible.join()}`);
    }
  }

  /** Contract §4 rules 4 and 12. */
  #checkHealths(sour: ReadonlyMap<string, string>, keys: readonly KeyView[], wrong: (what: string) => void): void {
    const { attempts } = this.#played;
    const expected = { 401: "disabled", 429: "cooling_down" } as const;
    for (const status of [401, 429] as const) {
      for (const value of durably(attempts, status, surelyWaitedMs)) {
        const key = keys.find(({ id }) => id === sour.get(value));
        this.#count(`durable ${status}`, 1);
        if (key?.status !== expected[status]) wrong(`key ${key?.id} was seen to get ${status} and is ${key?.status}`);
        const restMs = Date.parse(key?.cooldown_until ?? "") - Date.now();
        if (status === 429 && !(restMs > cooldownMs / 2)) wrong(`key ${key?.id} rests ${restMs} ms`);
      }
    }
  }

  async #checkSessions(
    parts: {
      readonly report: LoadReport;
      readonly spans: readonly FaultSpan[];
      readonly killedAt: number;
      readonly keys: readonly KeyView[];
      readonly round: number;
    },
    wrong: (what: string) => void,
  ): Promise<void> {
    const { report, spans, killedAt, keys, round } = parts;
    // Of keys that operators let be: switching one off and on again ends its bindings.
    const available = new Set(
      keys.filter(({ label, status }) => label === "" && status === "available").map((key) => key.id),
    );
    const bySession = Map.groupBy(report.served, ({ session }) => session);
    bySession.delete(undefined);
    const bound = [...bySession].flatMap(([session, uses]) => {
      const first = firstOfLastKey(uses);
      const isDurable = hadPeace(spans, first.at, killedAt, bindingsMs);
      return isDurable && available.has(first.keyId) ? [{ session, keyId: first.keyId }] : [];
    });
    for (const [at, { session, keyId }] of bound.slice(0, 40).entries()) {
      const call = `after${round}n${at}`;
      const baseUrl = this.#gateway.baseUrlOf(this.#record);
      const served = await askOnce({ baseUrl, call, session, stream: false }, { violations: this.violations });
      this.#count("bindings", 1);
      if (served !== keyId) wrong(`session ${session} was bound to ${keyId} and went to ${served}`);
    }
  }

  /** Sour keys and what operators left: the pool must not grow from round to round. */
  async #removeUsed(sour: ReadonlyMap<string, string>, keys: readonly KeyView[]): Promise<void> {
    const used = new Set(sour.values());
    const rows = this.#ask("select id, secret_sealed as sealed from keys") as { id: string; sealed: string }[];
    const doomed = keys.filter(({ id, label }) => used.has(id) || label !== "").map(({ id }) => id);
    for (const { id, sealed } of rows) if (doomed.includes(id)) this.#sealedGone.add(sealed);
    await this.#gateway.api("POST", `/providers/${this.#record.id}/keys/bulk`, { action: "delete", ids: doomed });
  }

  /** A deleted key is gone from all files within a second; no value is ever there in the clear. */
  async #checkBytes(operators: readonly Operator[], wrong: (what: string) => void): Promise<void> {
    const left = (): string[] => {
      const text = contentsOf(this.#gateway.dataDir);
      return [...this.#sealedGone].filter((sealed) => text.includes(sealed));
    };
    const deadline = performance.now() + 5_000;
    while (left().length > 0 && performance.now() < deadline) await sleep(100);
    if (left().length > 0) wrong(`${left().length} deleted values are still in the files`);
    this.#count("deleted values", this.#sealedGone.size);
    const text = contentsOf(this.#gateway.dataDir);
    // Once through the text, not once for each of the thousands of values.
    const clear = hexWindows(text, endLength).filter((window) => this.#ends.has(window));
    if (clear.length > 0) wrong(`${clear.length} values lie in the clear`);
    this.#sealedGone.clear();
    for (const { keys } of operators) keys.length = 0;
  }

  #checkLog(wrong: (what: string) => void): void {
    const faults = this.#gateway.logs().match(/.*(a fault of its own|Something went wrong|"internal").*/g) ?? [];
    if (faults.length > 0) wrong(`the log tells of ${faults[0]}`);
  }

  #ask(sql: string): readonly object[] {
    const database = new DatabaseSync(this.#gateway.databaseFile, { readOnly: true });
    try {
      database.exec("PRAGMA busy_timeout = 5000");
      return database.prepare(sql).all();
    } finally {
      database.close();
    }
  }

  #count(name: string, by: number): void {
    this.counts[name] = (this.counts[name] ?? 0) + by;
  }
}

/** In a few rounds already everything must have happened that is looked at. */
function planOf(round: number): FaultPlan {
  return (["none", "refusals"] as const)[(round - 1) % 6] ?? "dice";
}

/** The first use of the key that a session used last, without another in between. */
function firstOfLastKey(uses: readonly Served[]): Served {
  const ordered = uses.toSorted((one, other) => one.at - other.at);
  const last = ordered.at(-1);
  if (last === undefined) throw new Error("a session without a use");
  const before = ordered.findLastIndex(({ keyId }) => keyId !== last.keyId);
  return ordered[before + 1] ?? last;
}

function stateOf(key: KeyView | undefined): string {
  if (key === undefined) return "gone";
  const { label, weight, enabled } = key;
  return JSON.stringify({ label, weight, enabled });
}

function isSame(told: KeyState, found: string): boolean {
  if (told === "gone") return found === "gone";
  const { label, weight, enabled } = told;
  return JSON.stringify({ label, weight, enabled }) === found;
}

function contentsOf(folder: string): string {
  return readdirSync(folder)
    .map((name) => readFileSync(join(folder, name)).toString("latin1"))
    .join("\n");
}

/** What a value ends with is random, in hex. @see inventedKey */
const endLength = 24;

/** All pieces of so many characters in a row that are nothing but hex. */
function hexWindows(text: string, length: number): string[] {
  return [...text.matchAll(new RegExp(`[0-9a-f]{${length},}`, "g"))].flatMap(([run]) =>
    Array.from({ length: run.length - length + 1 }, (_, at) => run.slice(at, at + length)),
  );
}
