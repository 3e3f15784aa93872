import { randomBytes } from "node:crypto";
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { type Journal, MemoryState, Pool, type PoolEvent, Secret } from "@keywheel/pool";
import type { Activity } from "../activity/activity.ts";
import { Catalog, type CatalogDeps } from "../catalog/catalog.ts";
import { Environment } from "../catalog/environment.ts";
import { type ActivityRoom, openActivity } from "../cli/serve/activity-room.ts";
import type { KeyOnTheWire, KeyTestResult } from "../contract/key.ts";
import { type ControlApp, type ControlPlaneDeps, createControlPlane } from "./app.ts";
import { AdminAuth, type AdminAuthOptions } from "./auth.ts";
import { EventHub } from "./event-hub.ts";
import { openStore } from "../store/open-store.ts";
import type { LoadState } from "../telemetry/load-watch.ts";
import type { OpenedStore, Store } from "../store/store.ts";
import { createFakeClock, defaultEpochMs, type FakeClock } from "@keywheel/testkit";

export interface ControlBenchOptions {
  /** Variables that keys refer to; tests change them and call `environment.check()`. */
  readonly variables?: Record<string, string | undefined>;
  readonly catalog?: Partial<Pick<CatalogDeps, "requireToken" | "boundToLoopback" | "allowPrivateMetadata">>;
  readonly auth?: Partial<AdminAuthOptions>;
  readonly plane?: Partial<ControlPlaneDeps>;
}

export interface Answer {
  readonly status: number;
  readonly headers: Headers;
  /** Parsed where it is JSON, else text. */
  readonly body: any; // oxlint-disable-line typescript/no-explicit-any -- tests look into answers of every shape
}

/** A control plane over a real store and a real pool state, without a socket. */
export interface ControlBench {
  readonly activity: Activity;
  readonly room: ActivityRoom;
  readonly app: ControlApp;
  readonly auth: AdminAuth;
  readonly catalog: Catalog;
  readonly clock: FakeClock;
  readonly environment: Environment;
  readonly events: EventHub;
  readonly state: MemoryState;
  readonly store: OpenedStore;
  /** Types of the events so far. */
  readonly told: string[];
  /** Makes the next calls of a store method fail; undefined mends it. */
  breakStore(method: keyof Store | undefined): void;
  /** With the admin token, unless headers say otherwise. A string is sent as it is. */
  call(method: string, path: string, body?: unknown, headers?: Record<string, string>): Promise<Answer>;
  /** @returns its id */
  addProvider(parts?: object): Promise<string>;
  addKey(provider: string, parts?: object): Promise<KeyOnTheWire>;
  pool(providerId: string): Pool;
  /** As it was in the beginning, without the cost of opening another store. */
  clean(): Promise<void>;
  /** Another catalog and control plane over the same database, as after a restart. */
  restart(): Promise<void>;
  close(): Promise<void>;
}

/** Why state is not shared, as the gateway under test sees it; tests set it. */
export const sharing: { trouble: string | undefined } = { trouble: undefined };

/** What the machine has to carry, for tests to change. */
export const load: { -readonly [Name in keyof LoadState]: LoadState[Name] } = {
  loopDelayMs: 2.4,
  memoryShare: 0.25,
  refusedShare: 0,
  reason: undefined,
};
export const benchToken = "bench-admin-token-0123456789";

export async function openControlBench(options: ControlBenchOptions = {}): Promise<ControlBench> {
  const dataDir = mkdtempSync(join(tmpdir(), "keywheel-bench-"));
  const clock = createFakeClock();
  const variables = options.variables ?? {};
  let broken: keyof Store | undefined;
  const told: string[] = [];

  const start = async () => {
    const opened = await openStore({ dataDir, now: () => clock.now() });
    const store = new Proxy(opened, {
      get(target, name) {
        if (name === broken) return () => Promise.reject(new Error("the disk is full"));
        const value: unknown = Reflect.get(target, name, target);
        return typeof value === "function" ? (value.bind(target) as unknown) : value;
      },
    });
    const state = new MemoryState({ clock });
    const environment = new Environment({ variables, pollMs: 0 });
    const events = new EventHub({ clock });
    const journal: Journal = {
      saveHealth: async (record) => void (await store.saveOutcomes([{ kind: "health", record }])),
      disableKey: async (record) => void (await store.saveOutcomes([{ kind: "disable", record }])),
    };
    const pools = new Map<string, Pool>();
    const publish = (event: Parameters<EventHub["publish"]>[0]): void => {
      told.push(event.type);
      events.publish(event);
    };
    const observe = (event: PoolEvent): void => {
      catalog.observe(event);
      tell.poolEvent(event);
    };
    let tell: Pick<ActivityRoom, "poolEvent" | "catalogEvent"> = { poolEvent: publish, catalogEvent: publish };
    const catalog: Catalog = await Catalog.open({
      stored: await store.load(),
      store,
      state,
      createPool: (id) => {
        const pool = new Pool(id, { state, journal, clock, events: observe, redact: (text) => text });
        pools.set(id, pool);
        return pool;
      },
      clock,
      environment,
      events: (event) => tell.catalogEvent(event),
      random: randomBytes,
      requireToken: false,
      boundToLoopback: true,
      allowPrivateMetadata: false,
      ...options.catalog,
    });
    const { auth } = await AdminAuth.open({
      store,
      clock,
      environmentToken: benchToken,
      operatorToken: new Secret(store.operatorToken),
      makeToken: false,
      ...options.auth,
    });
    const { lastSeq, totals } = await store.loadActivity();
    catalog.restoreStats(totals);
    const activityRoom = openActivity({
      lastSeq,
      catalog,
      store,
      events: { publish },
      clock,
      redact: (text) => text.replaceAll("sk-secret", "[redacted]"),
      onTrouble: () => undefined,
      onNotice: () => undefined,
      load: { state: () => load },
      sharing: { trouble: () => sharing.trouble },
    });
    tell = activityRoom;
    const testKey = async (): Promise<KeyTestResult> => ({
      ok: true,
      http_status: 200,
      code: "ok",
      message: null,
      duration_ms: 1,
    });
    const app = createControlPlane({
      catalog,
      store,
      auth,
      activity: activityRoom.kept,
      notices: activityRoom.notices,
      events,
      clock,
      info: {
        version: "0.0.0-test",
        startedAt: clock.now(),
        urls: () => ["http://127.0.0.1:8787"],
        masterKeyOk: () => store.masterKeyMatches,
        sharing: { kind: "redis", trouble: () => sharing.trouble },
        load: () => ({ ...load, running: 3, mostRunning: 100 }),
      },
      testKey,
      testWebhook: async () => ({
        delivered: false,
        status: 500,
        problem: "The receiver answered 500.",
        durationMs: 12.3,
      }),
      listModels: async () => ["model-b", "model-a"],
      flushSessions: () => store.saveSessions(state.drainTouchedSessions(1_000)),
      onError: () => undefined,
      ...options.plane,
    });
    return { app, auth, catalog, environment, events, pools, room: activityRoom, state, store };
  };

  let current = await start();
  const call: ControlBench["call"] = async (method, path, body, headers) => {
    const text = body === undefined || typeof body === "string" ? body : JSON.stringify(body);
    const response = await current.app.request(path, {
      method,
      headers: headers ?? {
        authorization: `Bearer ${benchToken}`,
        ...(text === undefined ? {} : { "content-type": "application/json" }),
      },
      ...(text === undefined ? {} : { body: text }),
    });
    const answered = await response.text();
    const isJson = /json/.test(response.headers.get("content-type") ?? "");
    return {
      status: response.status,
      headers: response.headers,
      body: isJson ? (JSON.parse(answered) as unknown) : answered,
    };
  };

  return {
    get activity() {
      return current.room.kept;
    },
    get room() {
      return current.room;
    },
    get app() {
      return current.app;
    },
    get auth() {
      return current.auth;
    },
    get catalog() {
      return current.catalog;
    },
    get environment() {
      return current.environment;
    },
    get events() {
      return current.events;
    },
    get state() {
      return current.state;
    },
    get store() {
      return current.store;
    },
    clock,
    told,
    breakStore(method) {
      broken = method;
    },
    call,
    async addProvider(parts = {}) {
      const made = await call("POST", "/api/providers", { base_url: "http://127.0.0.1:9/v1", ...parts });
      if (made.status !== 201) throw new Error(`the provider was not added: ${JSON.stringify(made.body)}`);
      return (made.body as { id: string }).id;
    },
    async addKey(provider, parts = {}) {
      const api_key = `sk-bench-${randomBytes(8).toString("hex")}`;
      const made = await call("POST", `/api/providers/${provider}/keys`, { api_key, ...parts });
      if (made.status !== 201) throw new Error(`the key was not added: ${JSON.stringify(made.body)}`);
      return made.body as KeyOnTheWire;
    },
    pool(providerId) {
      const pool = current.pools.get(providerId);
      if (!pool) throw new Error(`no pool ${providerId}`);
      return pool;
    },
    async clean() {
      broken = undefined;
      clock.set(defaultEpochMs);
      for (const { record } of current.catalog.providers.list()) await current.catalog.providers.remove(record.id);
      for (const { id } of current.catalog.tokens.list()) await current.catalog.tokens.remove(id);
      told.length = 0;
    },
    async restart() {
      await current.room.kept.flush();
      current.environment.close();
      await current.store.close();
      current = await start();
    },
    async close() {
      current.environment.close();
      await current.store.close();
      rmSync(dataDir, { recursive: true, force: true });
    },
  };
}
