import { join } from "node:path";
import type { Secret } from "@keywheel/pool";
import { admit, checkBind, isLoopback } from "../../control-plane/doors.ts";
import { UndiciUpstream } from "../../data-plane/undici-upstream.ts";
import { runningFile } from "../../store/data-dir-lock.ts";
import type { OpenLog } from "../../telemetry/log.ts";
import type { Redactor } from "../../telemetry/redactor.ts";
import { wrongWords } from "../exit.ts";
import type { Environment } from "../settings.ts";
import type { StartOptions } from "../start-options.ts";
import { programVersion } from "../version.ts";
import { openControlPlane } from "./control-plane.ts";
import { ControlRoom } from "./control-room.ts";
import { type Core, openCore } from "./core.ts";
import { openDataPlane } from "./observe.ts";
import { removeRunning, writeRunning } from "./ready-file.ts";
import { type Patience, type Rooms, type RunningServer, startServer } from "./server.ts";
import { createKeyTest } from "./test-key.ts";
import { Upkeep } from "./upkeep.ts";

export interface GatewayParts {
  readonly options: StartOptions;
  readonly environment: Environment;
  readonly log: OpenLog;
  readonly redactor: Redactor;
}

/** A gateway that serves. */
export interface Gateway {
  readonly url: string;
  /** The admin token, if this is the first start. */
  readonly madeToken: Secret | undefined;
  /** A link to the settings page that signs a browser in, once. */
  readonly createSignInLink: () => string;
  /** Lets running requests end and writes down what is left. */
  readonly stop: (patience: Patience) => Promise<{ readonly cutOff: number }>;
  /** Cuts off what still runs, to be called while it stops. */
  readonly cut: () => void;
}

/**
 * Starts everything, in an order in which nothing is reached before it can answer.
 *
 * @throws CommandError, KeywheelError; nothing is left behind then
 */
export async function startGateway(parts: GatewayParts): Promise<Gateway> {
  const { options, environment, log, redactor } = parts;
  const boundToLoopback = isLoopback(options.host);
  const core = await openCore({
    ...options,
    environment,
    requireToken: options.requireToken ?? false,
    boundToLoopback,
    // One that was printed somewhere is no guard for an address that others reach.
    makesAdminToken: boundToLoopback,
    log: log.log,
    redactor,
  });
  try {
    refuseOpenDoors(core, options);
    return await serve(core, parts);
  } catch (error) {
    await core.close();
    throw error;
  }
}

/** @see contract §5 */
function refuseOpenDoors({ catalog, auth }: Core, { host }: StartOptions): void {
  const { requiresToken } = catalog;
  const problem = checkBind({ host, requiresToken, hasAdminToken: auth.hasAdminToken });
  if (problem !== undefined) throw wrongWords(problem);
}

async function serve(core: Core, parts: GatewayParts): Promise<Gateway> {
  const { options, log } = parts;
  const life = { startedAt: core.clock.now(), isStopping: false, urls: [] as string[] };
  const upstream = new UndiciUpstream(core.clock);
  const { dataPlane, metrics } = openDataPlane({ core, upstream, version: programVersion(), ...parts });
  const control = new ControlRoom(
    () => openControlPlane({ core, ...controlParts(core, upstream, life), log: log.log }),
    {
      metrics,
      auth: isLoopback(options.host) ? undefined : core.auth,
    },
  );
  const server = await startServer(roomsFor(options, control, dataPlane), options);
  life.urls.push(server.url);

  const upkeep = startUpkeep(core, log);
  announce(server, options);
  // Only now: it would be a good part of the time to the first answer.
  setImmediate(() => void control.load().then(() => metrics.load()));

  return {
    url: server.url,
    madeToken: core.madeToken,
    createSignInLink: () => `${server.url}/ui/sign-in?code=${core.auth.createSignInCode().code}`,
    cut: () => server.cut(),
    stop: async (patience) => {
      life.isStopping = true;
      withdraw(options);
      core.events.close();
      const outcome = await server.stop(patience);
      await upstream.close();
      await upkeep.stop();
      await core.close();
      return outcome;
    },
  };
}

interface Life {
  readonly startedAt: number;
  readonly urls: readonly string[];
  isStopping: boolean;
}

function controlParts(core: Core, upstream: UndiciUpstream, life: Life) {
  return {
    info: {
      version: programVersion(),
      startedAt: life.startedAt,
      urls: () => life.urls,
      masterKeyOk: () => core.store.masterKeyMatches,
    },
    testKey: createKeyTest(core, upstream).test,
    notReady: () => (life.isStopping ? "the gateway is stopping" : undefined),
  };
}

function roomsFor(
  { host, allowHost, allowOrigin }: StartOptions,
  control: ControlRoom,
  dataPlane: ReturnType<typeof openDataPlane>["dataPlane"],
): Rooms {
  const policy = { boundHost: host, allowHosts: allowHost, allowOrigins: allowOrigin };
  return {
    admits: (request, response) => admit(request, response, policy),
    control: (request, response) => control.handle(request, response),
    data: (request, response, expectsContinue) => void dataPlane.handle(request, response, expectsContinue),
  };
}

function startUpkeep({ sessions, catalog, store, clock }: Core, { log }: OpenLog): Upkeep {
  const upkeep = new Upkeep({
    sessions,
    idleTimes: () =>
      catalog.providers
        .list()
        .map(({ record, settings }) => ({ providerId: record.id, idleTtlMs: settings.affinity.idleTtlMs })),
    deleteSessionsIdleSince: (providerId, before) => store.deleteSessionsIdleSince(providerId, before),
    flushTokenUses: () => catalog.tokens.flushUses(),
    clock,
    log,
  });
  upkeep.start();
  return upkeep;
}

function announce({ url }: RunningServer, { dataDir, readyFile }: StartOptions): void {
  const running = { url, pid: process.pid, version: programVersion() };
  writeRunning(join(dataDir, runningFile), running);
  // Last: who waits for it finds everything in place.
  if (readyFile !== undefined) writeRunning(readyFile, running);
}

function withdraw({ dataDir, readyFile }: StartOptions): void {
  removeRunning(join(dataDir, runningFile), process.pid);
  if (readyFile !== undefined) removeRunning(readyFile, process.pid);
}
