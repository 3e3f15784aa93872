import { createHash, randomBytes, randomInt } from "node:crypto";
import { realpathSync } from "node:fs";
import { hostname } from "node:os";
import { type Clock, Pool, type PoolEvent, Secret, type SharedState } from "@keywheel/pool";
import type { Catalog } from "../../catalog/catalog.ts";
import type { CatalogEvent } from "../../catalog/events.ts";
import { closedFolders } from "../../catalog/secret-files.ts";
import type { EnvironmentReader } from "../../catalog/environment.ts";
import type { AdminAuth } from "../../control-plane/auth.ts";
import type { EventHub } from "../../control-plane/event-hub.ts";
import { passwordOf } from "../../store/postgres-url.ts";
import type { StoreJournal } from "../../store/journal.ts";
import { orWithout } from "../../catalog/or-without.ts";
import type { OpenedStore, StoreTrouble } from "../../store/store.ts";
import type { Log } from "../../telemetry/log.ts";
import { otelSecretVariables } from "../../telemetry/otel-config.ts";
import type { RedisAddress } from "../../state/redis-url.ts";
import type { Redactor } from "../../telemetry/redactor.ts";
import { type Environment, type Setting, variableOf } from "../settings.ts";
import { startSettings } from "../start-options.ts";
import type { ConfigFileWatch } from "../config-file/config-file.ts";
import type { ActivityRoom, ActivityRoomParts } from "./activity-room.ts";
import { systemClock } from "../clock.ts";
import { followChanges } from "./follow-changes.ts";
import type { LoadRoom } from "./load-room.ts";
import { SessionWriter } from "./session-writer.ts";
import type { StateRoom } from "./state-room.ts";

export interface CoreOptions {
  readonly dataDir: string;
  /** `postgres://…`; undefined for the embedded database. */
  readonly databaseUrl?: string | undefined;
  /** How long a PostgreSQL that is away is waited for, ms; default 0. */
  readonly databasePatienceMs?: number;
  readonly masterKey: string | undefined;
  readonly adminToken: string | undefined;
  readonly redisUrl?: RedisAddress | undefined;
  readonly envFile: string | undefined;
  /** Where `file:/path` may lead. */
  readonly secretsDir: readonly string[];
  /** The file of configuration that is followed, `file` undefined for none; left out, what one has made stays its own. */
  readonly config?: { readonly file: string | undefined };
  readonly environment: Environment;
  readonly requireToken: boolean;
  readonly allowPrivateMetadata: boolean;
  readonly maxRequests?: number | undefined;
  readonly maxMemoryMb?: number | undefined;
  /** Processes that serve the data plane; default 1: this one. */
  readonly workers?: number;
  readonly log: Log;
  readonly redactor: Redactor;
  /** Called while the database opens, which takes its time in a thread of its own: to load what is needed next. */
  readonly meanwhile: () => Promise<Reach>;
}

const logIsGone =
  "The log of the database (keywheel.db-wal) is gone, although the last gateway did not end by itself: if you have not just " +
  "put a backup in place, its last changes may be missing. Look through the keys, and see `keywheel doctor`";

/** From where this process will be reached. */
export interface Reach {
  readonly boundToLoopback: boolean;
  /** Whether an admin token is made if there is none. */
  readonly makesAdminToken: boolean;
}

type NoticeListener = ActivityRoomParts["onNotice"];

/** A data directory in the hands of this process: everything but the doors and the planes behind them. */
export interface Core {
  readonly clock: Clock;
  readonly store: OpenedStore;
  readonly journal: StoreJournal;
  readonly state: SharedState;
  readonly sharing: Pick<StateRoom, "kind" | "trouble" | "host">;
  readonly catalog: Catalog;
  readonly events: EventHub;
  readonly auth: AdminAuth;
  readonly sessions: SessionWriter;
  readonly activity: ActivityRoom;
  /** Undefined where no file of configuration is followed. */
  readonly configFile: ConfigFileWatch | undefined;
  readonly load: LoadRoom;
  /** Takes every secret out of a text. */
  readonly redact: (text: string) => string;
  /** The admin token, if it was made now: shown this once. */
  readonly madeToken: Secret | undefined;
  /** Tells whoever wants to know what happened in a pool. Never throws. */
  readonly tell: (event: PoolEvent) => void;
  readonly onPoolEvent: (listener: (event: PoolEvent) => void) => void;
  readonly onCatalogEvent: (listener: (event: CatalogEvent) => void) => void;
  /** A notice was raised, goes on, or is over. */
  readonly onNotice: (listener: NoticeListener) => void;
  /** Writes down what is left, gives up the data directory. May be called twice. */
  readonly close: () => Promise<void>;
}

/**
 * Takes a data directory and takes up what lies in it.
 *
 * @throws KeywheelError conflict if another process has it, and whatever the store and the admin token are refused with
 */
export async function openCore(options: CoreOptions): Promise<Core> {
  const { dataDir, databaseUrl, masterKey, adminToken, redisUrl, redactor, log } = options;
  const password =
    databaseUrl === undefined ? undefined : (passwordOf(databaseUrl) ?? options.environment["PGPASSWORD"]);
  redactor.learn([masterKey, adminToken, redisUrl?.password, password].filter((value) => value !== undefined));
  const [{ openStore }, { lacksLog }] = await Promise.all([
    import("../../store/open-store.ts"),
    import("../../store/sqlite-engine.ts"),
  ]);
  if (databaseUrl === undefined && lacksLog(dataDir)) log.warn({ dataDir }, logIsGone);
  const opening = openStore({
    dataDir,
    databaseUrl,
    masterKey,
    patienceMs: options.databasePatienceMs ?? 0,
    onWait: (why) => log.warn({ why }, "Waiting for the database; nothing is served until it is there"),
    onDamage: (damage) => tellDamage(log, damage),
  });
  // Whatever fails below, this one's failure is looked at when it is awaited.
  opening.catch(() => {});
  const parts = await loadParts();
  const connecting = parts.openStateRoom({
    redisUrl,
    clock: systemClock,
    hasWorkers: (options.workers ?? 1) > 1,
    log,
  });
  connecting.catch(() => {});
  let store: OpenedStore | undefined;
  try {
    const reach = await options.meanwhile();
    store = await opening;
    return await joinCore(store, parts, { ...options, ...reach, sharing: await connecting });
  } catch (error) {
    // An open connection would keep the process from ending.
    (await connecting.catch(() => undefined))?.close();
    await store?.close();
    throw error;
  }
}

async function loadParts() {
  const [catalog, environment, auth, hub, journal, activity, { openLoad }, { openStateRoom }] = await Promise.all([
    import("../../catalog/catalog.ts"),
    import("../../catalog/environment.ts"),
    import("../../control-plane/auth.ts"),
    import("../../control-plane/event-hub.ts"),
    import("../../store/journal.ts"),
    import("./activity-room.ts"),
    import("./load-room.ts"),
    import("./state-room.ts"),
  ]);
  return { ...catalog, ...environment, ...auth, ...hub, ...journal, ...activity, openLoad, openStateRoom };
}

async function joinCore(
  store: OpenedStore,
  parts: Awaited<ReturnType<typeof loadParts>>,
  options: CoreOptions & Reach & { readonly sharing: StateRoom },
): Promise<Core> {
  const { log, redactor, sharing } = options;
  const { state } = sharing;
  const clock = systemClock;
  redactor.learn([store.operatorToken]);
  const events = new parts.EventHub({ clock });
  const journal = new parts.StoreJournal({ store, onTrouble: (trouble) => tellTrouble(log, "key states", trouble) });
  const listeners: ((event: PoolEvent) => void)[] = [];
  const tell = (event: PoolEvent): void => {
    for (const listener of listeners) listener(event);
  };
  const environment = openEnvironment(parts.Environment, options);

  let tellChange: (event: CatalogEvent) => void = events.publish;
  const changeListeners: ((event: CatalogEvent) => void)[] = [];
  const catalog = await parts.Catalog.open({
    stored: await store.load(),
    store,
    state,
    createPool: (id) => new Pool(id, { state, journal, clock, events: tell, redact: redactor.redact }),
    clock,
    environment,
    events: (event) => {
      tellChange(event);
      for (const listener of changeListeners) listener(event);
    },
    random: randomBytes,
    learnSecrets: (values) => redactor.learn(values),
    forgetOutcomes: (keyIds) => journal.forget(keyIds),
    writeOutcomes: () => journal.flush(),
    requireToken: options.requireToken,
    boundToLoopback: options.boundToLoopback,
    allowPrivateMetadata: options.allowPrivateMetadata,
    warn: (message, error) => log.warn({ err: error }, message),
    onUnread: (what, error) => tellUnread(log, what, error),
  });
  // Without them it serves all the same; a clock that was set back meanwhile is then the worst that could meet requests.
  const noActivity = { lastSeq: 0, lane: options.databaseUrl === undefined ? 0 : randomInt(1, 2048), totals: [] };
  const { lastSeq, lane, totals } = await orWithout(noActivity, () => store.loadActivity(), {
    onTrouble: (error) => tellUnread(log, "activity", error),
  });
  catalog.restoreStats(totals);
  const configFile = await openConfigFile(catalog, environment, options);
  // First, so that whoever is told after it finds the catalog in step.
  listeners.push((event) => catalog.observe(event));
  const load = parts.openLoad(options);
  const noticeListeners: NoticeListener[] = [];
  const activity = parts.openActivity({
    lastSeq,
    lane,
    load,
    configTrouble: () => configFile?.trouble,
    catalog,
    store,
    events,
    sharing,
    clock,
    redact: redactor.redactAgain,
    onTrouble: (error) => tellTrouble(log, "activity", troubleOf(error)),
    onNotice: (event) => {
      for (const listener of noticeListeners) listener(event);
    },
  });
  tellChange = activity.catalogEvent;
  listeners.push(activity.poolEvent);

  const { auth, madeToken } = await parts.AdminAuth.open({
    store,
    clock,
    environmentToken: options.adminToken,
    gateway: options.databaseUrl === undefined ? undefined : nameOfGateway(options.dataDir),
    operatorToken: new Secret(store.operatorToken),
    makeToken: options.makesAdminToken,
    learnSecrets: (values) => redactor.learn(values),
    warn: (message, error) => log.warn({ err: error }, message),
  });
  if (madeToken !== undefined) redactor.learn([madeToken]);
  const sessions = new SessionWriter({
    state,
    store,
    onTrouble: (error) => tellTrouble(log, "sessions", troubleOf(error)),
  });

  const following = store.feed && followChanges({ feed: store.feed, catalog, auth, log });
  if (following !== undefined && options.redisUrl === undefined) {
    const why = "Gateways on this database share the configuration, not the wheel: each takes its own turns";
    log.info({}, `${why}. Start them with --redis-url to share that too`);
  }

  return {
    clock,
    store,
    journal,
    state,
    sharing,
    catalog,
    events,
    auth,
    sessions,
    activity,
    configFile,
    load,
    redact: redactor.redact,
    madeToken,
    tell,
    onPoolEvent: (listener) => void listeners.push(listener),
    onCatalogEvent: (listener) => void changeListeners.push(listener),
    onNotice: (listener) => void noticeListeners.push(listener),
    close: async () => {
      // Those who wait below have timers that keep no process alive, and a database that is away has no connection that does.
      const alive = setInterval(() => {}, 60_000);
      try {
        environment.close();
        load.close();
        await configFile?.close();
        await following?.close();
        await sessions.flush();
        sharing.close();
        await activity.kept.flush();
        await journal.flush();
        await store.close();
      } finally {
        clearInterval(alive);
      }
    },
  };
}

/** The same at each start on this machine and data directory. */
function nameOfGateway(dataDir: string): string {
  return createHash("sha256")
    .update(`${hostname()} ${realpathSync(dataDir)}`)
    .digest("hex")
    .slice(0, 12);
}

/** Variables that hold secrets of the gateway's own; the driver of PostgreSQL reads the last one. */
const ownSecrets: ReadonlySet<string> = new Set([
  ...Object.values<Setting<unknown>>(startSettings).flatMap((setting) => (setting.secret ? [variableOf(setting)] : [])),
  "PGPASSWORD",
  ...otelSecretVariables,
]);

function openEnvironment(
  Reader: Awaited<ReturnType<typeof loadParts>>["Environment"],
  { dataDir, envFile, secretsDir, environment, log }: CoreOptions,
): EnvironmentReader & { close(): void } {
  // Our own secrets are no keys: a reference to one of them would send it to a provider.
  const variables = Object.fromEntries(Object.entries(environment).filter(([name]) => !ownSecrets.has(name)));
  return new Reader({
    variables,
    warn: (message) => log.warn({}, message),
    ...(envFile === undefined ? {} : { envFile }),
    files: { folders: secretsDir, closed: closedFolders(dataDir) },
  });
}

async function openConfigFile(
  catalog: Catalog,
  environment: EnvironmentReader,
  { config, log }: CoreOptions,
): Promise<ConfigFileWatch | undefined> {
  if (config === undefined) return undefined;
  const { file } = config;
  catalog.declared.file = file;
  if (file === undefined) {
    const words =
      "Started without --config: what a configuration file had made is changed in the pages and by calls again";
    if (await catalog.declared.release()) log.info({}, words);
    return undefined;
  }
  const { ConfigFileWatch } = await import("../config-file/config-file.ts");
  const watch = new ConfigFileWatch({ file, declared: catalog.declared, log, now: () => systemClock.now() });
  await watch.open();
  environment.onChange(() => void watch.referencesChanged());
  return watch;
}

function tellDamage(log: Log, damage: StoreTrouble | undefined): void {
  if (damage === undefined) log.info({}, "The database is sound again");
  else log.error({ trouble: damage.message, hint: damage.hint }, "The database is damaged; traffic goes on");
}

function tellUnread(log: Log, what: string, error: unknown): void {
  log.error(
    { what, trouble: troubleOf(error) },
    "It could not be read from the database; the gateway starts without it",
  );
}

function troubleOf(error: unknown): string | undefined {
  if (error === undefined) return undefined;
  return error instanceof Error ? error.message : "unknown";
}

function tellTrouble(log: Log, what: string, trouble: string | undefined): void {
  if (trouble === undefined) log.info({ what }, "The database takes them again");
  else log.error({ what, trouble }, "The database cannot be written; it is tried again");
}
