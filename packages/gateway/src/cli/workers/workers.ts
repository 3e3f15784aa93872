import { type ChildProcess, fork } from "node:child_process";
import { once } from "node:events";
import { randomUUID } from "node:crypto";
import { mkdirSync, mkdtempSync, rmSync } from "node:fs";
import type { Socket } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import type { OwnError, PoolEvent } from "@keywheel/pool";
import type { TokenRecord } from "../../catalog/catalog.ts";
import type { RequestRecord } from "../../data-plane/request-record.ts";
import type { Entry, TokenLimits } from "../../data-plane/token-limits.ts";
import type { StateHost } from "../../state/state-host.ts";
import { within } from "../../state/within.ts";
import { entryUrl } from "../../package-root.ts";
import { availableBytes, type LoadState } from "../../telemetry/load-watch.ts";
import { sumCounts } from "../../telemetry/keys-in-flight.ts";
import type { Log } from "../../telemetry/log.ts";
import { CommandError, failed } from "../exit.ts";
import type { Core } from "../serve/core.ts";
import type { Patience } from "../serve/server.ts";
import type { Environment } from "../settings.ts";
import type { StartOptions } from "../start-options.ts";
import { CatalogFeed } from "./catalog-feed.ts";
import { Channel } from "./channel.ts";
import { Dealer, type Taker } from "./dealer.ts";
import type { Assignment, CatalogUpdate, Doings, PrimarySubjects, WorkerLoad, WorkerSubjects } from "./subjects.ts";

export interface WorkersDeps {
  readonly count: number;
  readonly options: StartOptions;
  readonly environment: Environment;
  readonly core: Core;
  /** Undefined where the state is shared by Redis. */
  readonly host: StateHost | undefined;
  readonly limits: TokenLimits;
  readonly onEvent: (event: PoolEvent) => void;
  readonly onRequest: (record: RequestRecord) => void;
  readonly inner: InnerSocket;
  readonly log: Log;
}

type ToWorker = Channel<PrimarySubjects, WorkerSubjects>;

/** One process, from its start to its end. */
interface Member extends Taker {
  readonly process: ChildProcess;
  readonly channel: ToWorker;
  readonly startedAt: number;
  readonly places: Map<number, Entry>;
  connections: number;
  isReady: boolean;
  /** Whether it gets what changes: it has everything else. */
  hasJoined: boolean;
  load: WorkerLoad | undefined;
  /** When it was last heard of, monotonic ms. */
  heardAt: number;
  isStopping: boolean;
}

/** A worker that hangs does not hold up changes of the configuration, nor whoever looks at them. */
const settleMs = 2_000;
const flushMs = 250;
/** A worker that lived so long did not die of its start. */
const soundMs = 10_000;
const firstRestMs = 100;
const longestRestMs = 10_000;
/** A worker tells of its load twice a second. */
const silentMs = 2_000;
/** One that hangs for so long is ended: its clients would wait for ever. */
const hungMs = 15_000;
const watchMs = 1_000;
/** What a worker may take beyond the grace that it was given. */
const endMs = 3_000;
const mebibyte = 1024 * 1024;

/**
 * The processes that serve the data plane on one port.
 *
 * This process hands them the connections as they come, one after the other, keeps the state that they share (unless Redis
 * does), writes everything down and answers the control plane. A worker that dies is started anew; what it held is let go.
 */
export class Workers {
  readonly #deps: WorkersDeps;
  readonly #feed: CatalogFeed;
  readonly #dealer = new Dealer();
  readonly #members = new Set<Member>();
  readonly #timers = new Set<NodeJS.Timeout>();
  #lastNumber = 0;
  #lastPlace = 0;
  #quickDeaths = 0;
  #isStopping = false;
  #watchedAt = performance.now();
  readonly #watch: NodeJS.Timeout;

  private constructor(deps: WorkersDeps) {
    this.#deps = deps;
    this.#feed = new CatalogFeed(deps.core.catalog, (update) => this.#broadcast(update));
    this.#watch = setInterval(() => this.#endHung(), watchMs);
  }

  /** Settles when all of them serve. @throws CommandError if one cannot begin, or the address cannot be had */
  static async start(deps: WorkersDeps): Promise<Workers> {
    const workers = new Workers(deps);
    deps.host?.listen((push) => workers.#tellAll((channel) => channel.tell("push", push)));
    deps.core.onCatalogEvent((event) => workers.#feed.observe(event));
    deps.core.onPoolEvent((event) => {
      if (event.type === "key-disabled") workers.#feed.touch(event.poolId);
    });
    try {
      const begun = Promise.all(Array.from({ length: deps.count }, () => workers.#begin()));
      // Whichever fails first is what is told.
      begun.catch(() => {});
      await workers.#dealer.listen(deps.options);
      await begun;
    } catch (error) {
      await workers.stop({ graceMs: 0, controlMs: 0 });
      throw error;
    }
    return workers;
  }

  get url(): string {
    return this.#dealer.url;
  }

  /** How many serve just now. */
  get count(): number {
    return [...this.#members].filter(({ isReady }) => isReady).length;
  }

  /** Requests under way. */
  get running(): number {
    return this.#loads.reduce((sum, { running }) => sum + running, 0);
  }

  /** The worst of what they say; how many requests they may carry together. */
  load(own: LoadState): LoadState & { readonly mostRunning: number } {
    const all: readonly LoadState[] = [own, ...this.#loads];
    return {
      loopDelayMs: Math.max(...all.map(({ loopDelayMs }) => loopDelayMs)),
      memoryShare: Math.max(...all.map(({ memoryShare }) => memoryShare)),
      refusedShare: Math.max(...all.map(({ refusedShare }) => refusedShare)),
      reason: all.find(({ reason }) => reason !== undefined)?.reason,
      mostRunning: this.#loads.reduce((sum, { mostRunning }) => sum + mostRunning, 0),
    };
  }

  /** Settles when every worker knows configuration and state as they are now, or one of them has taken too long. */
  async settle(): Promise<void> {
    // What is answered was sent after all that was told before.
    const settled = Promise.all([this.#feed.settle(), this.#askAll((channel) => channel.ask("heard", undefined))]);
    await within(settled, settleMs).catch(() => {});
  }

  /** Settles when what the workers have done until now is known here, or one of them has taken too long. */
  async flush(): Promise<void> {
    const asked = this.#askAll((channel) => channel.ask("flush", undefined));
    await within(asked, flushMs).catch(() => {});
  }

  /** Requests under way by key; without those of a worker that does not answer in time. */
  async inFlight(): Promise<ReadonlyMap<string, number>> {
    const counts: ReadonlyMap<string, number>[] = [];
    const asked = this.#askAll(async (channel) => counts.push(await channel.ask("inFlight", undefined)));
    await within(asked, flushMs).catch(() => {});
    return sumCounts(counts);
  }

  async stop(patience: Patience): Promise<{ readonly cutOff: number }> {
    this.#isStopping = true;
    clearInterval(this.#watch);
    for (const timer of this.#timers) clearTimeout(timer);
    const closed = this.#dealer.close();
    const outcomes = await Promise.all([...this.#members].map((member) => this.#end(member, patience)));
    await closed;
    return { cutOff: outcomes.reduce((sum, cutOff) => sum + cutOff, 0) };
  }

  cut(): void {
    this.#tellAll((channel) => channel.tell("cut", undefined));
  }

  get #loads(): readonly WorkerLoad[] {
    return [...this.#members].flatMap(({ load }) => load ?? []);
  }

  /** Starts one; settles when it serves. */
  #begin(): Promise<void> {
    const { promise, resolve, reject } = Promise.withResolvers<void>();
    const process = fork(entryUrl("cli/workers/worker-main"), {
      serialization: "advanced",
      env: commonOf(this.#deps.environment),
    });
    const channel = this.#channelTo(process, () => member, { resolve, reject });
    const member: Member = {
      process,
      channel,
      connections: 0,
      isReady: false,
      hand: (id, socket) => {
        member.connections++;
        channel.tell("connection", id, socket);
      },
      startedAt: performance.now(),
      places: new Map(),
      hasJoined: false,
      load: undefined,
      heardAt: performance.now(),
      get isSilent() {
        return performance.now() - member.heardAt > silentMs;
      },
      isStopping: false,
    };
    this.#members.add(member);
    process.on("error", (error) => {
      this.#deps.log.warn({ err: error }, "A worker process cannot be started, or reached");
      if (process.pid !== undefined) return;
      // It has never begun, and will not end either.
      reject(failed(`A worker process cannot be started: ${error.message}.`, error));
      this.#bury(member, error.message);
    });
    process.once("exit", (code: number | null, signal: string | null) => {
      reject(failed(`A worker process ended before it served (${signal ?? `code ${code}`}).`));
      this.#bury(member, signal ?? `code ${code}`);
    });
    return promise;
  }

  #channelTo(
    process: ChildProcess,
    member: () => Member,
    begun: { readonly resolve: () => void; readonly reject: (error: Error) => void },
  ): ToWorker {
    const { core, host, limits, onEvent, onRequest } = this.#deps;
    const done = async (work: Promise<unknown>): Promise<undefined> => void (await work);
    return new Channel<PrimarySubjects, WorkerSubjects>(
      {
        // Held until it has arrived: see `Dealer`. A process that has ended is told of by `exit`.
        send: (message, socket?: Socket) => void process.send(message, socket, { keepOpen: true }, () => {}),
        onMessage: (listener) => void process.on("message", listener),
      },
      {
        answer: {
          join: async () => this.#join(member()),
          state: async (call) => (await host?.run(call)) ?? { missing: true, n: "", f: 0, v: 0 },
          look: async (poolId) => host?.look(poolId) ?? { version: 0, born: undefined },
          ping: async () => undefined,
          saveHealth: (record) => done(core.journal.saveHealth(record)),
          disableKey: (record) => done(core.journal.disableKey(record)),
          saveSessions: (touched) => done(core.store.saveSessions(touched)),
          savePins: (pins) => done(core.store.savePins(pins)),
          did: async ({ events, requests, tokenUses }: Doings) => {
            for (const event of events) onEvent(event);
            for (const record of requests) onRequest(record);
            for (const { id, at } of tokenUses) core.catalog.tokens.used(id, at);
            return undefined;
          },
          enter: async (token) => this.#enter(member(), limits, token),
        },
        told: {
          ready: () => {
            member().isReady = true;
            member().heardAt = performance.now();
            if (!this.#isStopping) this.#dealer.add(member());
            begun.resolve();
          },
          took: (id) => this.#dealer.arrived(id),
          closed: () => {
            member().connections--;
          },
          failed: ({ message, exitCode }) => {
            begun.reject(new CommandError(exitCode, message));
            process.kill("SIGKILL");
          },
          leave: (place) => {
            member().places.get(place)?.leave();
            member().places.delete(place);
          },
          load: (load) => {
            member().load = load;
            member().heardAt = performance.now();
          },
        },
      },
    );
  }

  #join(member: Member): Assignment {
    member.hasJoined = true;
    const { options, count, inner } = this.#deps;
    const number = ++this.#lastNumber;
    const { host, allowHost, allowOrigin, allowPrivateMetadata, upstreamClient, redisUrl, logLevel, logFormat } =
      options;
    const share = (whole: number | undefined, parts: number): number | undefined =>
      whole === undefined ? undefined : Math.max(1, Math.floor(whole / parts));
    return {
      number,
      options: {
        host,
        allowHost,
        allowOrigin,
        allowPrivateMetadata,
        upstreamClient,
        redisUrl,
        maxRequests: share(options.maxRequests, count),
        // This process has its share, too.
        maxMemoryMb: share(options.maxMemoryMb ?? availableBytes() / mebibyte, count + 1),
        logLevel,
        logFormat,
      },
      catalog: this.#feed.whole(),
      innerSocket: inner.path,
      ownSocket: inner.beside(`worker-${number}`),
    };
  }

  #enter(member: Member, limits: TokenLimits, token: TokenRecord): { readonly place: number } | OwnError {
    const entry = limits.enter(token);
    if ("code" in entry) return entry;
    const place = ++this.#lastPlace;
    member.places.set(place, entry);
    return { place };
  }

  async #broadcast(update: CatalogUpdate): Promise<void> {
    await this.#askAll((channel) => channel.ask("catalog", update));
  }

  async #askAll(ask: (channel: ToWorker) => Promise<unknown>): Promise<void> {
    const joined = [...this.#members].filter(({ hasJoined }) => hasJoined);
    await Promise.allSettled(joined.map(({ channel }) => ask(channel)));
  }

  #tellAll(tell: (channel: ToWorker) => void): void {
    for (const { channel, hasJoined } of this.#members) if (hasJoined) tell(channel);
  }

  /** A worker that hangs is of no use to those who wait for it. */
  #endHung(): void {
    const now = performance.now();
    // A machine that slept, or was busy with this very process, says nothing about the workers.
    const wasAway = now - this.#watchedAt > 3 * watchMs;
    this.#watchedAt = now;
    for (const member of this.#members) {
      if (wasAway) member.heardAt = now;
      if (!member.isReady || member.isStopping || now - member.heardAt < hungMs) continue;
      this.#deps.log.error({ pid: member.process.pid, hungMs }, "A worker process hangs, and is ended");
      member.process.kill("SIGKILL");
    }
  }

  /** A worker has ended: what it held is let go, and another one takes its place. */
  #bury(member: Member, why: string): void {
    if (!this.#members.delete(member)) return;
    member.channel.close();
    member.isReady = false;
    this.#dealer.remove(member);
    for (const entry of member.places.values()) entry.leave();
    if (this.#isStopping || member.isStopping) return;
    const isQuick = performance.now() - member.startedAt < soundMs;
    this.#quickDeaths = isQuick ? this.#quickDeaths + 1 : 0;
    const restMs = isQuick ? Math.min(firstRestMs * 2 ** (this.#quickDeaths - 1), longestRestMs) : 0;
    this.#deps.log.error(
      { why, pid: member.process.pid, restMs },
      "A worker process has ended; another one is started",
    );
    const timer = setTimeout(() => {
      this.#timers.delete(timer);
      // However it fails, its process ends, and that starts the next one.
      this.#begin().catch((error: unknown) => this.#deps.log.error({ err: error }, "A worker process could not begin"));
    }, restMs);
    this.#timers.add(timer);
  }

  /** @returns how many requests were cut off */
  async #end(member: Member, patience: Patience): Promise<number> {
    member.isStopping = true;
    const { process, channel, hasJoined } = member;
    const isGone = process.pid === undefined || process.exitCode !== null || process.signalCode !== null;
    const hasEnded = isGone ? Promise.resolve([]) : once(process, "exit");
    let cutOff = 0;
    if (hasJoined) {
      const stopping = within(channel.ask("stop", patience), patience.graceMs + endMs);
      cutOff = await stopping.then((outcome) => outcome.cutOff).catch(() => 0);
    }
    if (process.connected) process.disconnect();
    await within(hasEnded, endMs).catch(() => process.kill("SIGKILL"));
    return cutOff;
  }
}

/** Sockets between the processes, closed to everybody else. */
export interface InnerSocket {
  readonly path: string;
  readonly beside: (name: string) => string;
  readonly remove: () => void;
}

/** What the system takes for a socket's path, and what is put behind the folder's. */
const mostPathBytes = 103;
const longestName = "/worker-1000000";

export function makeInnerSocket(dataDir: string): InnerSocket {
  if (process.platform === "win32") {
    const prefix = `\\\\.\\pipe\\keywheel-${randomUUID()}-`;
    return { path: `${prefix}inner`, beside: (name) => prefix + name, remove: () => {} };
  }
  const own = join(dataDir, "workers");
  const fits = Buffer.byteLength(own + longestName) <= mostPathBytes;
  // In the data directory, which this process has locked, what a dead one has left is out of the way.
  if (fits) rmSync(own, { recursive: true, force: true });
  const folder = fits ? own : mkdtempSync(join(tmpdir(), "keywheel-"));
  if (fits) mkdirSync(folder, { mode: 0o700 });
  return {
    path: join(folder, "inner"),
    beside: (name) => join(folder, name),
    remove: () => rmSync(folder, { recursive: true, force: true }),
  };
}

/** What Node, its TLS, the way out, telemetry and the log read. */
const common =
  /^(PATH|HOME|TMPDIR|TEMP|TMP|TZ|LANG|LC_.*|TERM|COLORTERM|NO_COLOR|FORCE_COLOR|NODE_.*|SSL_CERT_.*|OTEL_.*|.*_proxy|SYSTEMROOT)$/i;

/** Workers get what they need over the channel: keys in the environment are none of their business. */
function commonOf(environment: Environment): Environment {
  return Object.fromEntries(Object.entries(environment).filter(([name]) => common.test(name)));
}
