import { once } from "node:events";
import { createServer, type IncomingMessage, type Server } from "node:http";
import { type AddressInfo, connect, type Socket } from "node:net";
import { afterEach, vi } from "vitest";
import { type AttemptRecord, MemoryState, Pool, type PoolEvent, Secret, type StatePolicy } from "@keywheel/pool";
import { aPolicy, type ScriptedKind, type ScriptedProvider, startScriptedProvider } from "@keywheel/testkit";
import type { ProviderRuntime } from "../catalog/catalog.ts";
import type { ProviderSettings } from "../contract/settings.ts";
import type { TokenRecord } from "../store/store.ts";
import { DataPlane, type DataPlaneDeps } from "./data-plane.ts";
import type { RequestRecord } from "./request-record.ts";
import { Http1Upstream } from "./http1/http1-upstream.ts";
import { UndiciUpstream } from "./undici-upstream.ts";
import type { Upstream, UpstreamOptions } from "./upstream.ts";

/** Keys A, B and C of a pool whose provider knows them. */
export const benchKeys = ["sk-test-aaaaaaaaaaaaaaaa", "sk-test-bbbbbbbbbbbbbbbb", "sk-test-cccccccccccccccc"];
export const clock = { now: () => Date.now(), monotonic: () => performance.now() };
/** All of this is true of both; the project `undici-upstream` runs it over the other one. */
export const isOwnClient = process.env["KEYWHEEL_TEST_UPSTREAM_CLIENT"] !== "undici";
const UpstreamUnderTest = isOwnClient ? Http1Upstream : UndiciUpstream;
const settings: ProviderSettings = {
  cooldown: { baseMs: 60_000, capMs: 900_000, scope: "key" },
  affinity: { enabled: true, idleTtlMs: 86_400_000 },
  retry: { providerErrors: 0 },
  timeouts: { connectMs: 10_000, headersMs: 900_000, idleMs: 900_000 },
  maxBodyBytes: 64 * 1024 * 1024,
};

export interface Bench {
  readonly provider: ScriptedProvider;
  readonly pool: Pool;
  readonly runtime: ProviderRuntime;
  readonly upstream: Upstream;
  readonly url: string;
  readonly port: number;
  readonly records: RequestRecord[];
  readonly attempts: AttemptRecord[];
  readonly faults: unknown[];
  /** Of which key it was told whose it is. */
  readonly organizations: string[];
  readonly events: PoolEvent[];
  /** Requests under way. */
  running(): number;
  close(): Promise<void>;
}

export interface BenchOptions
  extends Partial<Pick<DataPlaneDeps, "replayBytes" | "budgetBytes" | "patience" | "refusal">>, UpstreamOptions {
  readonly kind?: ScriptedKind;
  readonly keys?: readonly string[];
  readonly settings?: Partial<ProviderSettings>;
  readonly baseUrl?: string;
  readonly preset?: string;
  readonly policy?: Partial<StatePolicy>;
  /** The one gateway token; with it, tokens are required. */
  readonly token?: string;
  /** What it is good for. */
  readonly terms?: Partial<TokenRecord>;
}

const benches: Bench[] = [];

afterEach(async () => {
  for (const bench of benches.splice(0)) await bench.close();
});

/** The data plane on a socket, before a scripted provider, with the pool's keys in the order A, B, C. */
export async function openDataPlane(options: BenchOptions = {}): Promise<Bench> {
  const used = options.keys ?? benchKeys;
  const kind = options.kind ?? "openai";
  const provider = await startScriptedProvider({ kind, keys: used });
  const events: PoolEvent[] = [];
  const journal = { saveHealth: async () => {}, disableKey: async () => {} };
  const pool = new Pool("p", {
    state: new MemoryState({ clock }),
    journal,
    clock,
    events: (event) => void events.push(event),
    redact: (text) => text,
  });
  const entries = used.map((id) => ({ id, weight: 1, enabled: true, resolved: true, secretVersion: 1 }));
  await pool.configure(entries, aPolicy(options.policy));
  const baseUrl = options.baseUrl ?? provider.baseUrl;
  const runtime = {
    record: { id: "p", slug: "llm", name: "LLM", kind, preset: options.preset ?? null, enabled: true, baseUrl },
    settings: { ...settings, ...options.settings },
    baseUrl: new URL(baseUrl),
    pool,
    hasKeys: used.length > 0,
    secretOf: (keyId: string) => new Secret(keyId),
    labelOf: () => "",
    providerSecret: () => undefined,
  } as unknown as ProviderRuntime;
  const records: RequestRecord[] = [];
  const attempts: AttemptRecord[] = [];
  const faults: unknown[] = [];
  const organizations: string[] = [];
  const upstream = new UpstreamUnderTest(clock, options);
  const plane = new DataPlane({
    ...options,
    catalog: {
      bySlug: (slug) => (slug === "llm" ? runtime : undefined),
      requiresToken: options.token !== undefined,
      findToken: (text) => (text === options.token ? aToken(options.terms) : undefined),
      secrets: () => [],
    },
    upstream,
    clock,
    newId: () => "req_test",
    isOwnPage: ({ headers }) => headers.cookie === "signed-in",
    redact: (text) => text,
    redactKnown: (text) => text,
    onAttempt: (_, __, attempt) => void attempts.push(attempt),
    onNotice: () => {},
    onOrganization: (_, keyId, ...told) =>
      void organizations.push([keyId, ...told.filter((name) => name !== undefined)].join(" ")),
    onRequest: (record) => void records.push(record),
    onFault: (_, error) => void faults.push(error),
    version: "0.0.0",
  });
  const upgraded = new Set<Socket>();
  const server = createServer((request, response) => void plane.handle(request, response));
  server.on("checkContinue", (request, response) => void plane.handle(request, response, true));
  server.on("upgrade", (request: IncomingMessage, socket: Socket, head: Buffer) => {
    socket.on("error", () => {});
    upgraded.add(socket);
    void plane.handleUpgrade(request, socket, head);
  });
  const port = await listening(server);
  const close = async (): Promise<void> => {
    server.closeAllConnections();
    for (const socket of upgraded) socket.destroy();
    server.close();
    await upstream.close();
    await provider.close();
  };
  const bench = {
    provider,
    pool,
    runtime,
    upstream,
    url: `http://127.0.0.1:${port}/llm`,
    port,
    records,
    attempts,
    faults,
    organizations,
    events,
    running: () => plane.running,
    close,
  };
  benches.push(bench);
  return bench;
}

function aToken(terms: Partial<TokenRecord> = {}): TokenRecord {
  const unlimited = { providerIds: null, expiresAt: null, maxRequestsPerMinute: null, maxConcurrent: null };
  return { id: "tok", name: "laptop", hash: "", prefix: "kw_", ...unlimited, createdAt: 0, lastUsedAt: null, ...terms };
}

async function listening(server: Server): Promise<number> {
  server.listen(0, "127.0.0.1");
  await once(server, "listening");
  return (server.address() as AddressInfo).port;
}

/** A request with nothing special about it. */
export const chat = {
  method: "POST",
  headers: { "content-type": "application/json" },
  body: '{"model":"m","messages":[]}',
};

export async function failuresOf({ pool }: Bench): Promise<number[]> {
  return (await pool.snapshot()).map((key) => key.health.failures);
}

/** A raw request over a socket; the caller decides what to send and when to leave. */
export async function rawSocket({ port }: Bench, text: string): Promise<Socket> {
  const socket = connect(port, "127.0.0.1");
  await once(socket, "connect");
  socket.write(text);
  return socket;
}

export async function readUntilClosed(socket: Socket): Promise<string> {
  let text = "";
  socket.on("data", (chunk: Buffer) => (text += chunk.toString("latin1")));
  if (!socket.destroyed) await once(socket, "close");
  return text;
}

/** Waits until `check` no longer fails: longer than any machine is busy, since nothing is asked but that it comes to pass. */
export function comesToPass(check: () => void | Promise<void>): Promise<void> {
  return vi.waitFor(check, { timeout: 10_000, interval: 5 });
}
