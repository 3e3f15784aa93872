import type { RequestRecord } from "../../data-plane/request-record.ts";
import type { TokenLimits } from "../../data-plane/token-limits.ts";
import type { LoadState } from "../../telemetry/load-watch.ts";
import type { StartOptions } from "../start-options.ts";
import type { Core } from "./core.ts";
import type { GatewayParts } from "./gateway.ts";
import { roomsBehindDoors } from "./rooms.ts";
import { type Patience, type Rooms, startServer } from "./server.ts";

/** Where clients come in, in this process or in others. */
export interface Doors {
  /** Where clients on this machine reach it. */
  readonly url: string;
  /** Requests under way in other processes. */
  readonly running: () => number;
  /** Other processes that serve. */
  readonly workers: () => number;
  /** The same by key. */
  readonly inFlight: () => Promise<ReadonlyMap<string, number>>;
  /** The worst of all processes, and what they may carry together. */
  readonly load: (own: LoadState) => LoadState & { readonly mostRunning: number };
  /** Settles when what other processes did is known here. */
  readonly flush: () => Promise<void>;
  /** Settles when what was changed here is known to the other processes. */
  readonly settle: () => Promise<void>;
  readonly stop: (patience: Patience) => Promise<{ readonly cutOff: number }>;
  /** Cuts off everything. */
  readonly cut: () => void;
}

type Inside = Pick<Rooms, "control" | "data" | "upgrade">;

/** The doors of a gateway that is one process. @throws CommandError (1) if the address cannot be had */
export async function openOwnDoors(
  rooms: Inside,
  { options, load }: { readonly options: StartOptions; readonly load: Core["load"] },
): Promise<Doors> {
  const { mostConnections, mostRunning } = load;
  const server = await startServer(roomsBehindDoors(options, rooms), { ...options, mostConnections });
  return {
    url: server.url,
    running: () => 0,
    inFlight: async () => new Map(),
    workers: () => 0,
    load: (own) => ({ ...own, mostRunning }),
    flush: async () => {},
    settle: async () => {},
    stop: server.stop,
    cut: server.cut,
  };
}

export interface WorkersDoorsParts extends GatewayParts {
  readonly core: Core;
  readonly limits: TokenLimits;
  readonly onRequest: (record: RequestRecord) => void;
}

/** The doors of a gateway whose workers serve; they hand on here what is not for them. @throws CommandError */
export async function openWorkersDoors(rooms: Inside, parts: WorkersDoorsParts): Promise<Doors> {
  const { core, limits, onRequest, options, environment, log } = parts;
  const [{ makeInnerSocket, Workers }, { takePeer }] = await Promise.all([
    import("../workers/workers.ts"),
    import("../workers/inner-door.ts"),
  ]);
  const socket = makeInnerSocket(options.dataDir);
  const inner = await startServer(
    {
      ...rooms,
      // The worker's doors have let it in.
      admits: (request) => {
        takePeer(request);
        return true;
      },
      admitsUpgrade: () => false,
    },
    { host: options.host, port: 0, socketPath: socket.path },
  );
  const stopInner = async (patience: Patience): Promise<number> => {
    const { cutOff } = await inner.stop(patience);
    socket.remove();
    return cutOff;
  };
  try {
    const workers = await Workers.start({
      count: options.workers,
      options,
      environment,
      core,
      host: core.sharing.host,
      limits,
      onEvent: core.tell,
      onRequest,
      inner: socket,
      log: log.log,
    });
    return {
      url: workers.url,
      running: () => workers.running,
      inFlight: () => workers.inFlight(),
      workers: () => workers.count,
      load: (own) => workers.load(own),
      flush: () => workers.flush(),
      settle: () => workers.settle(),
      stop: async (patience) => {
        const { cutOff } = await workers.stop(patience);
        return { cutOff: cutOff + (await stopInner(patience)) };
      },
      cut: () => {
        workers.cut();
        inner.cut();
      },
    };
  } catch (error) {
    await stopInner({ graceMs: 0, controlMs: 0 });
    throw error;
  }
}
