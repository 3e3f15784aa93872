import type { Socket } from "node:net";
import {
  type HealthRecord,
  type DisabledRecord,
  type Journal,
  Pool,
  type PoolEvent,
  type SharedState,
} from "@keywheel/pool";
import type { DataPlane } from "../../data-plane/data-plane.ts";
import { ownPageHeader } from "../../data-plane/headers.ts";
import { LinkedState } from "../../state/linked-state.ts";
import type { LinkListener } from "../../state/state-link.ts";
import { within } from "../../state/within.ts";
import type { OpenLog } from "../../telemetry/log.ts";
import { KeysInFlight } from "../../telemetry/keys-in-flight.ts";
import { Redactor } from "../../telemetry/redactor.ts";
import { CommandError } from "../exit.ts";
import { systemClock as clock } from "../clock.ts";
import { dieLoudly } from "../die-loudly.ts";
import { openLog } from "../open-log.ts";
import { openLoad } from "../serve/load-room.ts";
import { openDataPlane } from "../serve/observe.ts";
import { openOtel } from "../serve/otel-room.ts";
import { roomsBehindDoors } from "../serve/rooms.ts";
import { type Patience, type Rooms, type RunningServer, startServer } from "../serve/server.ts";
import { SessionWriter } from "../serve/session-writer.ts";
import { openUpstream } from "../serve/upstream.ts";
import type { Environment } from "../settings.ts";
import { CatalogMirror } from "./catalog-mirror.ts";
import { Channel } from "./channel.ts";
import { InnerDoor } from "./inner-door.ts";
import { PrimaryLink } from "./primary-link.ts";
import { Relay } from "./relay.ts";
import { RemoteLimits } from "./remote-limits.ts";
import type { Assignment, CatalogUpdate, PrimarySubjects, WorkerSubjects } from "./subjects.ts";

type ToPrimary = Channel<WorkerSubjects, PrimarySubjects>;

const loadEveryMs = 500;
const sessionsEveryMs = 500;
const sweepEveryMs = 60_000;
const primaryPatienceMs = 2_000;
/** What became of a key is to be durable before the request goes on, but not at any price. @see StoreJournal */
const journalMs = 2_500;

/** One of several processes that serve one port: the data plane, and no more. Ends with its primary process. */
export async function work(environment: Environment): Promise<void> {
  // A terminal and systemd send them to all processes at once: the primary says when it is time.
  for (const signal of ["SIGINT", "SIGTERM"] as const) process.on(signal, () => {});
  // Also when the primary process died: whoever starts it anew wants the port.
  process.on("disconnect", () => process.exit());
  await new Worker(environment).start();
}

class Worker {
  readonly #environment: Environment;
  readonly #channel: ToPrimary;
  readonly #inFlight = new KeysInFlight();
  readonly #mirror = Promise.withResolvers<CatalogMirror>();
  #onPush: LinkListener["onPush"] = () => {};
  #parts: WorkerParts | undefined;

  constructor(environment: Environment) {
    this.#environment = environment;
    // Whoever waits for it is told; it is no fault that nobody does.
    this.#mirror.promise.catch(() => {});
    this.#channel = new Channel<WorkerSubjects, PrimarySubjects>(
      {
        send: (message) => void process.send?.(message, undefined, undefined, () => {}),
        onMessage: (listener) => void process.on("message", listener),
      },
      {
        answer: {
          catalog: async (update) => this.#catchUp(update),
          heard: async () => undefined,
          flush: async () => this.#parts?.flush(),
          inFlight: async () => this.#inFlight.counts(),
          stop: async (patience) => this.#stop(patience),
        },
        told: {
          push: (push) => this.#onPush(push),
          connection: (id, socket) => this.#takeConnection(id, socket),
          cut: () => this.#parts?.server.cut(),
        },
      },
    );
  }

  async start(): Promise<void> {
    const assignment = await this.#channel.ask("join", undefined);
    const redactor = new Redactor();
    const log = openLog({
      ...assignment.options,
      redactor,
      environment: this.#environment,
      worker: assignment.number,
    });
    dieLoudly(log, async () => void (await this.#stop({ graceMs: 0, controlMs: 0 })));
    try {
      const parts = await this.#open(assignment, { redactor, log });
      this.#parts = parts;
      this.#channel.tell("ready", undefined);
    } catch (error) {
      this.#mirror.reject(error);
      await log.flush();
      const message = error instanceof Error ? error.message : String(error);
      this.#channel.tell("failed", { message, exitCode: error instanceof CommandError ? error.exitCode : 1 });
    }
  }

  async #open(
    { number, options, catalog, innerSocket, ownSocket }: Assignment,
    { redactor, log }: { readonly redactor: Redactor; readonly log: OpenLog },
  ): Promise<WorkerParts> {
    const channel = this.#channel;
    if (options.redisUrl?.password !== undefined) redactor.learn([options.redisUrl.password]);
    const state = await this.#openState(options, log.log);
    const journal = journalOver(channel);
    const relay: Relay = new Relay({
      send: (doings) => channel.ask("did", doings),
      takeUses: () => mirror.takeUses(),
      onLost: (count) =>
        log.log.warn({ count }, "Records of requests were lost: the primary process does not take them"),
    });
    const tell = (event: PoolEvent): void => {
      relay.event(event);
      otel?.poolEvent(event);
    };
    const mirror: CatalogMirror = new CatalogMirror({
      createPool: (id) => new Pool(id, { state, journal, clock, events: tell, redact: redactor.redact }),
      now: () => clock.now(),
      learnSecrets: (values) => redactor.learn(values),
    });
    const otel = await openOtel({
      environment: this.#environment,
      catalog: mirror,
      now: () => clock.now(),
      redactor,
    });
    await mirror.apply(catalog);
    this.#mirror.resolve(mirror);

    const load = openLoad({ ...options, log: log.log });
    const upstream = await openUpstream({ ...options, clock, environment: this.#environment });
    const dataPlane = openDataPlane({
      catalog: mirror,
      upstream,
      clock,
      // Those are handed on.
      isOwnPage: () => false,
      limits: new RemoteLimits(channel),
      load,
      log,
      redactor,
      inFlight: this.#inFlight,
      otel,
      worker: number,
      tell,
      onRequest: (record) => relay.request(record),
    });
    const door = new InnerDoor(innerSocket, (error) =>
      log.log.warn({ err: error }, "The primary process does not answer"),
    );
    const server = await startServer(roomsBehindDoors(options, roomsOf(dataPlane, door)), {
      host: options.host,
      port: 0,
      socketPath: ownSocket,
      mostConnections: load.mostConnections,
    });
    const sessions = new SessionWriter({
      state,
      store: {
        saveSessions: (touched) => channel.ask("saveSessions", touched),
        savePins: (pins) => channel.ask("savePins", pins),
      },
      // The primary process has said so.
      onTrouble: () => {},
    });
    const timers = [
      setInterval(() => {
        const { running } = dataPlane;
        channel.tell("load", { ...load.state(), running, mostRunning: load.mostRunning });
      }, loadEveryMs),
      setInterval(() => void sessions.flush(), sessionsEveryMs),
      setInterval(() => void relay.flush(), sessionsEveryMs),
      setInterval(() => void state.sweepIdle(), sweepEveryMs),
    ];
    const end = async (): Promise<void> => {
      for (const timer of timers) clearInterval(timer);
      await sessions.flush();
      await relay.flush();
      door.close();
      load.close();
      state.close();
      await upstream.close();
      await otel?.close();
      await log.flush();
    };
    const flush = async (): Promise<undefined> => {
      await Promise.all([relay.flush(), sessions.flush()]);
      return undefined;
    };
    return { server, flush, end };
  }

  async #openState({ redisUrl }: Assignment["options"], log: OpenLog["log"]): Promise<SharedState & { close(): void }> {
    if (redisUrl === undefined) {
      return await LinkedState.open({
        clock,
        // It is there, if busy: only one that hangs is done without.
        patienceMs: primaryPatienceMs,
        connect: async (listener) => new PrimaryLink(this.#channel, (onPush) => (this.#onPush = onPush), listener),
        onTrouble: (trouble) => {
          if (trouble === undefined) log.warn({}, "The primary process answers again");
          else log.warn({ trouble }, "The primary process is slow: this worker decides alone for a moment");
        },
      });
    }
    const { openRedisState } = await import("../../state/redis-state.ts");
    // The primary process sees the same, and says it.
    return await openRedisState({ address: redisUrl, clock });
  }

  async #catchUp(update: CatalogUpdate): Promise<undefined> {
    const mirror = await this.#mirror.promise;
    await mirror.apply(update);
    return undefined;
  }

  /** @param socket undefined for one whose client has left on the way */
  #takeConnection(id: number, socket: Socket | undefined): void {
    const channel = this.#channel;
    channel.tell("took", id);
    if (socket === undefined) return channel.tell("closed", undefined);
    socket.once("close", () => channel.tell("closed", undefined));
    if (this.#parts === undefined) socket.destroy();
    else this.#parts.server.take(socket);
  }

  async #stop(patience: Patience): Promise<{ readonly cutOff: number }> {
    const parts = this.#parts;
    if (parts === undefined) return { cutOff: 0 };
    const outcome = await parts.server.stop(patience);
    await parts.end();
    return outcome;
  }
}

interface WorkerParts {
  readonly server: RunningServer;
  /** Tells what was done until now. */
  readonly flush: () => Promise<undefined>;
  /** Tells what is left. */
  readonly end: () => Promise<void>;
}

function journalOver(channel: ToPrimary): Journal {
  const bounded = async (writing: Promise<undefined>): Promise<void> => {
    // It is on its way, and is written when the primary process gets to it.
    await within(writing, journalMs).catch(() => {});
  };
  return {
    saveHealth: (record: HealthRecord) => bounded(channel.ask("saveHealth", record)),
    disableKey: (record: DisabledRecord) => bounded(channel.ask("disableKey", record)),
  };
}

/** Workers serve the data plane; all else is handed on. */
function roomsOf(dataPlane: DataPlane, door: InnerDoor): Pick<Rooms, "control" | "data" | "upgrade"> {
  return {
    control: (request, response) => door.handle(request, response),
    data: (request, response, expectsContinue) => {
      // Who is signed in is known to the primary process alone.
      if (request.headers[ownPageHeader] === undefined) {
        void dataPlane.handle(request, response, expectsContinue);
        return;
      }
      if (expectsContinue) response.writeContinue();
      door.handle(request, response);
    },
    upgrade: (request, socket, head) => dataPlane.handleUpgrade(request, socket, head),
  };
}
