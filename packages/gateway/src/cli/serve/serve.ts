import { join } from "node:path";
import { checkBind, isLoopback } from "../../control-plane/doors.ts";
import { isOwnPage } from "../../control-plane/own-page.ts";
import { ownPageHeader } from "../../data-plane/headers.ts";
import type { RequestRecord } from "../../data-plane/request-record.ts";
import { TokenLimits } from "../../data-plane/token-limits.ts";
import type { Upstream } from "../../data-plane/upstream.ts";
import { runningFile } from "../../store/data-dir-lock.ts";
import type { OpenLog } from "../../telemetry/log.ts";
import { KeysInFlight, sumCounts } from "../../telemetry/keys-in-flight.ts";
import type { Metrics } from "../../telemetry/metrics.ts";
import type { Redactor } from "../../telemetry/redactor.ts";
import { wrongWords } from "../exit.ts";
import type { StartOptions } from "../start-options.ts";
import { programVersion } from "../version.ts";
import { type ControlPlaneParts, openControlPlane } from "./control-plane.ts";
import { ControlRoom } from "./control-room.ts";
import type { Core, Reach } from "./core.ts";
import type { Gateway, GatewayParts } from "./gateway.ts";
import { type Doors, openOwnDoors, openWorkersDoors } from "./open-doors.ts";
import { openDataPlane, openMetrics } from "./observe.ts";
import { removeRunning, writeRunning } from "./ready-file.ts";
import type { Rooms } from "./server.ts";
import { createModelLister } from "./list-models.ts";
import { createKeyTest } from "./test-key.ts";
import { Upkeep } from "./upkeep.ts";
import { openOtel } from "./otel-room.ts";
import { openUpstream } from "./upstream.ts";
import { createOutbox, runOutbox } from "./webhooks-room.ts";

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
  const { activity, auth, load } = core;
  const life = { startedAt: core.clock.now(), isStopping: false, urls: [] as string[] };
  const upstream = await openUpstream({ ...options, clock: core.clock, environment: parts.environment });
  const limits = new TokenLimits(core.clock);
  const inFlight = new KeysInFlight();
  const otel = await openOtel({ ...parts, catalog: core.catalog, now: () => core.clock.now() });
  if (otel !== undefined) core.onPoolEvent((event) => otel.poolEvent(event));
  const onRequest = (record: RequestRecord): void => {
    activity.requestEnded(record);
    metrics.request(record);
  };
  const dataPlane = openDataPlane({
    ...core,
    upstream,
    isOwnPage: ({ headers }) => isOwnPage(headers, auth.browsers, ownPageHeader),
    limits,
    log,
    redactor,
    inFlight,
    otel,
    worker: 0,
    onRequest,
  });
  // They are opened last, and asked before that.
  const entrance: { doors?: Doors } = {};
  const total = (): ReturnType<Doors["load"]> & { readonly running: number; readonly workers: number } => {
    const own = load.state();
    const carried = entrance.doors?.load(own) ?? { ...own, mostRunning: load.mostRunning };
    return {
      ...carried,
      running: dataPlane.running + (entrance.doors?.running() ?? 0),
      workers: entrance.doors?.workers() ?? 0,
    };
  };
  const metrics: Metrics = openMetrics(core, {
    total,
    inFlight: async () => sumCounts([inFlight.counts(), (await entrance.doors?.inFlight()) ?? new Map()]),
  });
  const outbox = createOutbox(core, {
    upstream: async () => upstream,
    log: log.log,
    onAttempt: (type, outcome) => metrics.webhook(type, outcome),
  });
  const control = new ControlRoom(
    () =>
      openControlPlane({
        core,
        ...controlParts(core, { upstream, redactor, life, total }),
        testWebhook: (hook, signal) => outbox.test(hook, signal),
        log: log.log,
      }),
    {
      metrics,
      auth: isLoopback(options.host) ? undefined : core.auth,
    },
    {
      onFault: (error) => log.log.error({ err: error }, "A call of the control plane could not be answered"),
      around:
        options.workers === 1
          ? undefined
          : { before: async () => entrance.doors?.flush(), afterChange: async () => entrance.doors?.settle() },
    },
  );
  const rooms = {
    control: (request, response) => control.handle(request, response),
    data: (request, response, expectsContinue) => void dataPlane.handle(request, response, expectsContinue),
    upgrade: (request, socket, head) => dataPlane.handleUpgrade(request, socket, head),
  } satisfies Pick<Rooms, "control" | "data" | "upgrade">;
  const opened =
    options.workers === 1
      ? await openOwnDoors(rooms, { options, load })
      : await openWorkersDoors(rooms, { core, limits, onRequest, ...parts });
  entrance.doors = opened;
  life.urls.push(opened.url);

  const upkeep = startUpkeep(core, log);
  const webhooks = runOutbox(outbox, core);

  return {
    url: opened.url,
    madeToken: core.madeToken,
    createSignInLink: () => `${opened.url}/ui/sign-in?code=${core.auth.createSignInCode().code}`,
    running: () => total().running,
    announce: () => announce(opened, options),
    cut: () => opened.cut(),
    stop: async (patience) => {
      life.isStopping = true;
      withdraw(options);
      core.events.close();
      const outcome = await opened.stop(patience);
      await webhooks.close();
      await otel?.close();
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
    total,
  }: {
    readonly upstream: Upstream;
    readonly redactor: Redactor;
    readonly life: Life;
    readonly total: ControlPlaneParts["info"]["load"];
  },
) {
  return {
    info: {
      version: programVersion(),
      startedAt: life.startedAt,
      urls: () => life.urls,
      masterKeyOk: () => core.store.masterKeyMatches,
      sharing: core.sharing,
      load: total,
    },
    testKey: createKeyTest(core, redactor, async () => upstream),
    listModels: createModelLister(core, redactor, async () => upstream),
    notReady: () => (life.isStopping ? "the gateway is stopping" : undefined),
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

function announce({ url }: Doors, { dataDir, readyFile }: StartOptions): void {
  const running = { url, pid: process.pid, version: programVersion() };
  writeRunning(join(dataDir, runningFile), running);
  // Last: who waits for it finds everything in place.
  if (readyFile !== undefined) writeRunning(readyFile, running);
}

function withdraw({ dataDir, readyFile }: StartOptions): void {
  removeRunning(join(dataDir, runningFile), process.pid);
  if (readyFile !== undefined) removeRunning(readyFile, process.pid);
}
