import { mkdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import type { Contender, Prepared, Setup, Surroundings } from "./contender.ts";
import { type Instance, startInstance } from "./instance.ts";
import { type LoadOptions, type LoadProgram, type LoadResult, runLoad } from "./load.ts";
import { machineUs, memoryBytes, processorUs } from "./processes.ts";
import type { Absence, Measurement, Metric } from "./results.ts";
import { type HeldWorkload, type LoadWorkload, trafficOf, type Workload } from "./workloads.ts";

export interface Plan {
  readonly contenders: readonly Contender[];
  readonly workloads: readonly Workload[];
  readonly rounds: number;
  /** Measured in each turn. */
  readonly seconds: number;
  /** Put on before, in each turn. */
  readonly warmSeconds: number;
  /** Put on once, after a start. */
  readonly firstWarmSeconds: number;
  readonly manySessions: number;
}

/** What a run needs besides its plan. */
export interface Bench {
  readonly surroundings: Omit<Surroundings, "folder">;
  /** For scratch files. */
  readonly folder: string;
  readonly load: LoadProgram;
  readonly upstreamPid: number;
  /** Told of each step. */
  say(text: string): void;
}

interface Arm {
  readonly contender: Contender;
  readonly setup: Setup;
}

type Metrics = Partial<Record<Metric, number>>;
interface Turn {
  readonly metrics: Metrics;
  readonly fault?: string;
  readonly others?: number;
}

/** So many answers may be wrong: a connection that is closed as a request goes out is nobody's fault. */
const toleratedFaults = 0.001;

/** What all contenders together may use of a core while none is measured. */
const quietShare = 0.05;

/**
 * Measures everything, several times. Within a round, contenders take turns at each workload, in another order each time: what
 * is compared was measured a few seconds apart.
 */
export class Runner {
  readonly #plan: Plan;
  readonly #bench: Bench;
  /** Warm, by arm. */
  readonly #instances = new Map<string, Instance>();
  /** For starts anew, by arm. */
  readonly #prepared = new Map<string, { readonly prepared: Prepared; readonly folder: string }>();
  readonly #absences = new Map<string, Absence>();
  readonly #sessionBytes = new Map<string, number>();
  #folders = 0;

  constructor(plan: Plan, bench: Bench) {
    this.#plan = plan;
    this.#bench = bench;
  }

  get absences(): readonly Absence[] {
    return [...this.#absences.values()];
  }

  /** @param afterRound gets all that was measured so far */
  async run(afterRound: (measurements: readonly Measurement[]) => void): Promise<readonly Measurement[]> {
    const measurements: Measurement[] = [];
    try {
      for (let round = 0; round < this.#plan.rounds; round++) {
        for (const workload of this.#plan.workloads) {
          for (const arm of turned(this.#armsOf(workload), round)) {
            const turn = await this.#take(workload, arm);
            if (turn === undefined) continue;
            const { contender, setup } = arm;
            measurements.push({ round, workload: workload.name, contender: contender.name, setup, ...turn });
            this.#bench.say(`${round + 1}/${this.#plan.rounds} ${workload.name} ${nameOf(arm)}: ${shortly(turn)}`);
          }
        }
        afterRound(measurements);
      }
    } finally {
      for (const instance of this.#instances.values()) await instance.stop();
    }
    return measurements;
  }

  #armsOf({ contenders: names, setups = ["plain"] }: Workload): Arm[] {
    return this.#plan.contenders
      .filter(({ name }) => names?.includes(name) ?? true)
      .flatMap((contender) =>
        setups.filter((setup) => contender.setups.includes(setup)).map((setup) => ({ contender, setup })),
      );
  }

  async #take(workload: Workload, arm: Arm): Promise<Turn | undefined> {
    if (this.#absences.has(nameOf(arm))) return undefined;
    try {
      if (workload.kind === "load") return await this.#takeLoad(workload, arm);
      return workload.kind === "held" ? await this.#takeHeld(workload, arm) : await this.#takeStart(arm);
    } catch (error) {
      const why = error instanceof Error ? error.message : String(error);
      const isThere = this.#instances.has(nameOf(arm)) || this.#prepared.has(nameOf(arm));
      if (isThere) return { metrics: {}, fault: why };
      // It cannot take part at all; the others do.
      this.#absences.set(nameOf(arm), { who: nameOf(arm), why });
      this.#bench.say(`${nameOf(arm)} takes no part: ${why}`);
      return undefined;
    }
  }

  async #takeLoad(workload: LoadWorkload, arm: Arm): Promise<Turn> {
    const { seconds, warmSeconds, manySessions } = this.#plan;
    const instance = await this.#warm(arm);
    await this.#quiet();
    const traffic = trafficOf(workload, arm.setup, manySessions);
    const watched = await this.#watchedLoad(instance, { ...traffic, seconds, warmSeconds });
    const { result, cpuUs, others } = watched;
    const sessionBytes = this.#sessionBytes.get(nameOf(arm));
    const fault = faultOf(result);
    return {
      metrics: {
        ...metricsOf(result, cpuUs, traffic.loop === "streams"),
        ...(sessionBytes === undefined ? {} : { sessionBytes }),
      },
      others,
      ...(fault === undefined ? {} : { fault }),
    };
  }

  async #takeHeld({ streams }: HeldWorkload, arm: Arm): Promise<Turn> {
    const files = 2 * streams + 500;
    if (openFiles() < files)
      throw new Error(`Open files are bounded to ${openFiles()}; this takes ${files} (ulimit -n).`);
    await using instance = await this.#fresh(arm);
    // What is loaded at first use, and the heap's first growth, belong to no stream.
    await this.#load(instance, { connections: 64, bodyBytes: 1_000, session: "header", requests: 3_000 });
    await this.#load(instance, { loop: "streams", connections: 50, model: "stream-5-150-1", seconds: 0.5 });
    await sleep(1_000);
    const before = memoryBytes(instance.pid);
    let most = 0;
    const watch = setInterval(() => (most = Math.max(most, memoryBytes(instance.pid))), 250);
    const options = {
      loop: "held",
      connections: streams,
      model: "stream-1000000-150-1000",
      session: "header",
      seconds: 6,
    } as const;
    const { result, others } = await this.#watchedLoad(instance, options).finally(() => clearInterval(watch));
    const missing = streams - result.begun;
    const fault = missing > 0 ? `${missing} of ${streams} streams did not begin` : faultOf(result);
    return {
      metrics: {
        streamBytes: (most - before) / streams,
        stalled: result.stalled,
        delayP50: result.delayP50,
        delayP99: result.delayP99,
      },
      others,
      ...(fault === undefined ? {} : { fault }),
    };
  }

  async #takeStart(arm: Arm): Promise<Turn> {
    await using instance = await this.#fresh(arm);
    await sleep(3_000);
    return { metrics: { startMs: instance.startMs, idleBytes: memoryBytes(instance.pid) } };
  }

  /** Waits, ten seconds at most, until no contender works off what its last turn left behind. */
  async #quiet(): Promise<void> {
    const usedUs = (): number => [...this.#instances.values()].reduce((sum, { pid }) => sum + processorUs(pid), 0);
    const lookMs = 250;
    for (let look = 0; look < 40; look++) {
      const before = usedUs();
      await sleep(lookMs);
      if (usedUs() - before < lookMs * 1_000 * quietShare) return;
    }
  }

  /** The arm's own instance, which stays until the end. */
  async #warm(arm: Arm): Promise<Instance> {
    const there = this.#instances.get(nameOf(arm));
    if (there !== undefined) return there;
    const folder = this.#newFolder(arm);
    const prepared = await arm.contender.prepare(arm.setup, { ...this.#bench.surroundings, folder });
    const instance = await startInstance(prepared, this.#bench.surroundings.cores.contender, folder);
    try {
      await this.#load(instance, {
        connections: 64,
        bodyBytes: 1_000,
        session: "header",
        seconds: this.#plan.firstWarmSeconds,
      });
      if (arm.setup === "many-sessions") this.#sessionBytes.set(nameOf(arm), await this.#bindSessions(instance));
    } catch (error) {
      await instance.stop();
      throw error;
    }
    this.#instances.set(nameOf(arm), instance);
    return instance;
  }

  /** @returns what a bound session takes, bytes */
  async #bindSessions(instance: Instance): Promise<number> {
    const { manySessions } = this.#plan;
    this.#bench.say(`Binding ${manySessions} sessions …`);
    // The heap's own growth under load belongs to no session.
    await this.#load(instance, {
      connections: 64,
      bodyBytes: 200,
      session: "header",
      requests: Math.min(manySessions, 50_000),
    });
    await sleep(2_000);
    const before = memoryBytes(instance.pid);
    const result = await this.#load(instance, {
      connections: 64,
      bodyBytes: 200,
      session: "header",
      sessions: manySessions,
      requests: manySessions,
    });
    const fault = faultOf(result);
    if (fault !== undefined) throw new Error(`Not all sessions were bound: ${fault}`);
    await sleep(5_000);
    return (memoryBytes(instance.pid) - before) / manySessions;
  }

  /** One that has just been started, from the same setup each time. */
  async #fresh(arm: Arm): Promise<Instance> {
    let there = this.#prepared.get(nameOf(arm));
    if (there === undefined) {
      const folder = this.#newFolder(arm);
      there = { prepared: await arm.contender.prepare(arm.setup, { ...this.#bench.surroundings, folder }), folder };
      this.#prepared.set(nameOf(arm), there);
    }
    return startInstance(there.prepared, this.#bench.surroundings.cores.contender, there.folder);
  }

  #newFolder({ contender, setup }: Arm): string {
    const folder = join(this.#bench.folder, `${++this.#folders}-${contender.name}-${setup}`);
    mkdirSync(folder, { recursive: true });
    return folder;
  }

  #load(
    { prepared }: Instance,
    traffic: Omit<LoadOptions, "port" | "path" | "token" | "headers">,
  ): Promise<LoadResult> {
    const { port, path, token, headers } = prepared;
    return runLoad(this.#bench.load, { port, path, token, headers, ...traffic });
  }

  /** Puts load on, and says what processor time the contender and others took while it was measured. */
  async #watchedLoad(instance: Instance, traffic: Omit<LoadOptions, "port" | "path" | "token" | "headers">) {
    const { port, path, token, headers } = instance.prepared;
    const { upstreamPid } = this.#bench;
    const read = (loadPid: number) => ({
      contender: processorUs(instance.pid),
      ours: processorUs(instance.pid) + processorUs(upstreamPid) + processorUs(loadPid) + ownUs(),
      machine: machineUs(),
    });
    let before: ReturnType<typeof read> | undefined;
    let after: ReturnType<typeof read> | undefined;
    const result = await runLoad(
      this.#bench.load,
      { port, path, token, headers, ...traffic },
      { measuring: (pid) => (before = read(pid)), measured: (pid) => (after = read(pid)) },
    );
    if (before === undefined || after === undefined) throw new Error("The load did not say when it was measured.");
    const others = (after.machine - before.machine - (after.ours - before.ours)) / (result.seconds * 1e6);
    return { result, cpuUs: after.contender - before.contender, others: Math.max(0, others) };
  }
}

function metricsOf(result: LoadResult, cpuUs: number, isStreams: boolean): Metrics {
  const { seconds, finished, events, p50, p99, delayP50, delayP99, firstP50 } = result;
  if (!isStreams) return { rate: finished / seconds, p50, p99, cpuUs: cpuUs / finished };
  return { eventRate: events / seconds, eventCpuUs: cpuUs / events, delayP50, delayP99, firstP50 };
}

function faultOf(result: LoadResult): string | undefined {
  const { finished, failed, wrongStatus, cutShort, unfinished, events } = result;
  if (finished === 0 && events === 0) return "nothing was answered";
  const faults = failed + wrongStatus + cutShort + unfinished;
  if (faults <= toleratedFaults * finished) return undefined;
  return `${wrongStatus} answers with another status than 200, ${cutShort} cut short, ${unfinished} without an end, ${failed} connections broke (${finished} answers in time)`;
}

/** Round about: nobody is always first, nor always after the same one. */
export function turned<T>(items: readonly T[], round: number): T[] {
  if (items.length === 0) return [];
  const at = Math.floor(round / 2) % items.length;
  const order = [...items.slice(at), ...items.slice(0, at)];
  return round % 2 === 0 ? order : order.reverse();
}

function nameOf({ contender, setup }: Arm): string {
  return setup === "plain" ? contender.name : `${contender.name} (${setup})`;
}

function shortly({ metrics, fault }: Turn): string {
  if (fault !== undefined) return `✗ ${fault}`;
  return Object.entries(metrics)
    .map(([name, value]) => `${name} ${value >= 100 ? Math.round(value) : value.toFixed(1)}`)
    .join(", ");
}

function ownUs(): number {
  const { user, system } = process.cpuUsage();
  return user + system;
}

function openFiles(): number {
  return Number(/^Max open files\s+\S+\s+(\d+)/m.exec(readFileSync("/proc/self/limits", "utf8"))?.[1] ?? Infinity);
}
