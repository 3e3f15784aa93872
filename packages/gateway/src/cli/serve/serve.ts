import { join } from "node:path";
import { admit, checkBind, isLoopback, judgeVisitor, refusalBody } from "../../control-plane/doors.ts";
import type { Upstream } from "../../data-plane/upstream.ts";
import { runningFile } from "../../store/data-dir-lock.ts";
import type { OpenLog } from "../../telemetry/log.ts";
import type { Redactor } from "../../telemetry/redactor.ts";
import { wrongWords } from "../exit.ts";
import type { StartOptions } from "../start-options.ts";
import { programVersion } from "../version.ts";
import { openControlPlane } from "./control-plane.ts";
import { ControlRoom } from "./control-room.ts";
import type { Core, Reach } from "./core.ts";
import type { Gateway, GatewayParts } from "./gateway.ts";
import { openDataPlane } from "./observe.ts";
import { answerRaw } from "./raw-answers.ts";
import { removeRunning, writeRunning } from "./ready-file.ts";
import { type Rooms, type RunningServer, startServer } from "./server.ts";
import { createModelLister } from "./list-models.ts";
import { createKeyTest } from "./test-key.ts";
import { Upkeep } from "./upkeep.ts";
import { openUpstream } from "./upstream.ts";

/** What counts is loaded a little later: it would be a good part of the time to the first answer. */
const metricsAfterMs = 500;

/** From where a gateway on this address is reached. */
export function reachOf(host: string): Reach {
  const boundToLoopback = isLoopback(host);
  // A token that was printed somewhere is no guard for an address that others reach.
  return { boundToLoopback, makesAdminToken: boundToLoopback };
}

/** @see contract §5 @throws CommandError (2) */
export function refuseOpenDoors({ catalog, auth }: Core, { host }: StartOptions): void {
  const { requiresToken } = catalog;
  const problem = checkBind({ host, requiresToken, hasAdminToken: auth.hasAdminToken });
  if (problem !== undefined) throw wrongWords(problem);
}

/** Opens the doors, in an order in which nothing is reached before it can answer. */
export async function serve(core: Core, parts: GatewayParts): Promise<Gateway> {
  const { options, log, redactor } = parts;
  const life = { startedAt: core.clock.now(), isStopping: false, urls: [] as string[] };
  const upstream = openUpstream({ ...options, clock: core.clock, environment: parts.environment });
  const { dataPlane, metrics } = openDataPlane({ core, upstream, version: programVersion(), ...parts });
  const control = new ControlRoom(
    () =>
      openControlPlane({
        core,
        ...controlParts(core, { upstream, redactor, life, running: () => dataPlane.running }),
        log: log.log,
      }),
    {
      metrics,
      auth: isLoopback(options.host) ? undefined : core.auth,
    },
  );
  // Before the doors open: loading it later would hold up the first requests.
  await control.load();
  const server = await startServer(roomsFor(options, control, dataPlane), {
    ...options,
    mostConnections: core.load.mostConnections,
  });
  life.urls.push(server.url);

  const upkeep = startUpkeep(core, log);
  setTimeout(() => void metrics.load(), metricsAfterMs).unref();

  return {
    url: server.url,
    madeToken: core.madeToken,
    createSignInLink: () => `${server.url}/ui/sign-in?code=${core.auth.createSignInCode().code}`,
    running: () => dataPlane.running,
    announce: () => announce(server, options),
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

function controlParts(
  core: Core,
  {
    upstream,
    redactor,
    life,
    running,
  }: {
    readonly upstream: Upstream;
    readonly redactor: Redactor;
    readonly life: Life;
    readonly running: () => number;
  },
) {
  return {
    info: {
      version: programVersion(),
      startedAt: life.startedAt,
      urls: () => life.urls,
      masterKeyOk: () => core.store.masterKeyMatches,
      sharing: core.sharing,
      load: () => ({ ...core.load.state(), running: running(), mostRunning: core.load.mostRunning }),
    },
    testKey: createKeyTest(core, redactor, async () => upstream),
    listModels: createModelLister(core, redactor, async () => upstream),
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
    admitsUpgrade: ({ method = "GET", url = "/", headers, socket: { localAddress } }, socket) => {
      const verdict = judgeVisitor({ method, url, headers, localAddress }, policy);
      if (verdict.kind !== "refuse") return true;
      const { status, text: body } = refusalBody(verdict);
      answerRaw(socket, { status, code: verdict.code, contentType: "application/problem+json", body });
      return false;
    },
    upgrade: (request, socket, head) => dataPlane.handleUpgrade(request, socket, head),
  };
}

function startUpkeep({ sessions, activity, catalog, store, state, clock }: Core, { log }: OpenLog): Upkeep {
  const upkeep = new Upkeep({
    sessions,
    activity: activity.kept,
    checkNotices: () => activity.notices.check(),
    idleTimes: () =>
      catalog.providers
        .list()
        .map(({ record, settings }) => ({ providerId: record.id, idleTtlMs: settings.affinity.idleTtlMs })),
    deleteSessionsIdleSince: (providerId, before) => store.deleteSessionsIdleSince(providerId, before),
    sweepIdle: () => state.sweepIdle(),
    prunePins: (kind, limits) => store.prunePins(kind, limits),
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
