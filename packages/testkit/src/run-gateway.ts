import { type ChildProcess, spawn } from "node:child_process";
import { once } from "node:events";
import { existsSync, mkdtempSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { fileURLToPath } from "node:url";
import { keepTraces, traces } from "./traces.ts";
import type { ScriptedKind } from "./scripted-provider/scripted-provider.ts";

const root = fileURLToPath(new URL("../../..", import.meta.url));
const builtProgram = join(root, "packages", "gateway", "dist", "cli", "main.js");
const ownNode = join(root, "node_modules", ".bin", "node");

/** Fixed, invented, and of no use anywhere. */
export const testAdminToken = "kwa_test_0000000000000000000000000000000000000000";

export interface RunGatewayOptions {
  /** Beyond PATH, HOME and the admin token; nothing else of the caller's environment is handed on. */
  readonly env?: Readonly<Record<string, string>>;
  /** Beyond port, data directory and ready file. */
  readonly flags?: readonly string[];
  /** Default: a new one, removed at the end. A given one stays. */
  readonly dataDir?: string;
  /** How long a start may take; default 15 s. */
  readonly startTimeoutMs?: number;
  /** `ulimit -n` of the process; default: this one's. */
  readonly openFiles?: number;
  /** Words before those of its command: a program that becomes the gateway, as `ip netns exec NAME` does. */
  readonly prefix?: readonly string[];
}

/** What `POST /api/providers` takes, as far as tests need it. */
export interface ProviderParts {
  readonly kind?: ScriptedKind;
  /** Default: the kind. */
  readonly slug?: string;
  readonly name?: string;
  readonly baseUrl: string;
  /** The provider-level key. */
  readonly apiKey?: string;
  readonly settings?: object;
  readonly preset?: string | null;
}

/** A key as `/api` shows it. @see contract §3 */
export interface KeyView {
  readonly id: string;
  readonly provider_id: string;
  readonly api_key: string;
  readonly label: string;
  readonly weight: number;
  readonly enabled: boolean;
  readonly order: number;
  readonly group: string;
  readonly organization: string | null;
  readonly project: string | null;
  readonly status: "available" | "cooling_down" | "disabled" | "unresolved";
  readonly status_reason: {
    readonly code: string;
    readonly http_status: number | null;
    readonly message: string | null;
    readonly at: string;
    readonly wait?: string | null;
  } | null;
  readonly cooldown_until: string | null;
  readonly consecutive_failures: number;
  readonly bound_sessions: number;
}

/** A provider as `/api` shows it. */
export interface ProviderView {
  readonly id: string;
  readonly slug: string;
  readonly name: string;
  readonly kind: string;
  readonly base_url: string;
  readonly enabled: boolean;
  readonly settings: Readonly<Record<string, unknown>>;
}

export type KeyParts =
  | string
  | ({ readonly api_key: string } & Partial<Pick<KeyView, "label" | "weight" | "enabled" | "order" | "group">>);

/** A gateway of its own process, as its users start it. */
export interface RunningGateway extends AsyncDisposable {
  /** Changes with each start: every one takes a free port. */
  readonly url: string;
  readonly pid: number;
  readonly version: string;
  readonly adminToken: string;
  readonly dataDir: string;
  /** Where the database of the default store lies. */
  readonly databaseFile: string;
  /** The process, while it runs. */
  readonly isRunning: boolean;

  /** Calls `/api` and answers the parsed body. @throws ApiFailure for every status but 2xx */
  api<T = unknown>(method: string, path: string, body?: unknown): Promise<T>;
  /** Calls `/api` and answers whatever came. */
  apiResponse(method: string, path: string, body?: unknown): Promise<Response>;
  addProvider(parts: ProviderParts): Promise<ProviderView>;
  /** One after the other, so that the wheel turns in this order. */
  addKeys(provider: { readonly id: string }, keys: readonly KeyParts[]): Promise<KeyView[]>;
  key(id: string): Promise<KeyView>;
  keys(provider: { readonly id: string }): Promise<KeyView[]>;
  /** What a provider's clients put before their paths: `<url>/<slug>`. */
  baseUrlOf(provider: { readonly slug: string }): string;

  /** Everything the process wrote to either stream so far, over all starts. */
  logs(): string;
  /** Sends a signal and waits for the end of the process. @returns its exit code, or null if the signal ended it */
  kill(signal?: NodeJS.Signals): Promise<number | null>;
  /** SIGTERM; then its exit code. @throws Error if it takes longer than `timeoutMs` (default 10 s) */
  stop(timeoutMs?: number): Promise<number | null>;
  /** Starts it again on the same data directory; stops it first if it runs. */
  restart(changes?: Pick<RunGatewayOptions, "env" | "flags">): Promise<void>;
}

/** An answer of `/api` that was none of the 2xx. */
export class ApiFailure extends Error {
  readonly status: number;
  readonly body: unknown;
  constructor(call: string, status: number, body: unknown) {
    super(`${call} answered ${status}: ${JSON.stringify(body)}`);
    this.name = "ApiFailure";
    this.status = status;
    this.body = body;
  }
}

/**
 * Starts the built program on loopback, a free port and a data directory of its own.
 *
 * @throws Error with the program's own words if it ends before it serves, or does not serve in time
 */
export async function runGateway(options: RunGatewayOptions = {}): Promise<RunningGateway> {
  const gateway = new GatewayProcess(options);
  try {
    await gateway.start();
  } catch (error) {
    await gateway[Symbol.asyncDispose]();
    throw error;
  }
  return gateway;
}

class GatewayProcess implements RunningGateway {
  readonly adminToken = testAdminToken;
  readonly dataDir: string;
  readonly #temporary: string | undefined;
  readonly #startTimeoutMs: number;
  readonly #openFiles: number | undefined;
  readonly #prefix: readonly string[];
  #env: Readonly<Record<string, string>>;
  #flags: readonly string[];
  #child: ChildProcess | undefined;
  #ended: Promise<number | null> = Promise.resolve(null);
  #output = "";
  #ready: { readonly url: string; readonly pid: number; readonly version: string } | undefined;
  readonly #onExit = (): void => void this.#child?.kill("SIGKILL");

  constructor(options: RunGatewayOptions) {
    this.#temporary = options.dataDir === undefined ? mkdtempSync(join(tmpdir(), "keywheel-test-")) : undefined;
    this.dataDir = options.dataDir ?? join(this.#temporary ?? "", "data");
    this.#startTimeoutMs = options.startTimeoutMs ?? 15_000;
    this.#openFiles = options.openFiles;
    this.#prefix = options.prefix ?? [];
    this.#env = options.env ?? {};
    this.#flags = options.flags ?? [];
    process.on("exit", this.#onExit);
  }

  get url(): string {
    return this.#running.url;
  }

  get pid(): number {
    return this.#running.pid;
  }

  get version(): string {
    return this.#running.version;
  }

  get databaseFile(): string {
    return join(this.dataDir, "keywheel.db");
  }

  get isRunning(): boolean {
    return this.#child !== undefined;
  }

  get #running(): { readonly url: string; readonly pid: number; readonly version: string } {
    if (this.#ready === undefined) throw new Error("The gateway does not run.");
    return this.#ready;
  }

  async start(): Promise<void> {
    const { node, args } = keywheel();
    const readyFile = join(dirname(this.dataDir), "ready.json");
    rmSync(readyFile, { force: true });
    const own = ["start", "--port", "0", "--data-dir", this.dataDir, "--ready-file", readyFile, ...this.#flags];
    if (traces !== undefined) own.push("--log-level", "debug");
    const command = [...this.#prefix, node, ...args, ...own];
    const [program, ...words] =
      this.#openFiles === undefined
        ? command
        : ["sh", "-c", `ulimit -n ${this.#openFiles} && exec "$@"`, "sh", ...command];
    const child = spawn(program ?? node, words, {
      cwd: dirname(this.dataDir),
      env: {
        PATH: process.env.PATH,
        HOME: dirname(this.dataDir),
        KEYWHEEL_ADMIN_TOKEN: this.adminToken,
        // The same tests, against a gateway that is several processes.
        ...(process.env["KEYWHEEL_TEST_WORKERS"] === undefined
          ? {}
          : { KEYWHEEL_WORKERS: process.env["KEYWHEEL_TEST_WORKERS"] }),
        // And against one that speaks to providers over its own client.
        ...(process.env["KEYWHEEL_TEST_UPSTREAM_CLIENT"] === undefined
          ? {}
          : { KEYWHEEL_UPSTREAM_CLIENT: process.env["KEYWHEEL_TEST_UPSTREAM_CLIENT"] }),
        ...this.#env,
      },
      stdio: ["ignore", "pipe", "pipe"],
    });
    this.#child = child;
    this.#ended = once(child, "exit").then(([code]) => {
      this.#child = undefined;
      this.#ready = undefined;
      return code as number | null;
    });
    child.stdout.on("data", (bytes) => (this.#output += String(bytes)));
    child.stderr.on("data", (bytes) => (this.#output += String(bytes)));
    this.#ready = await this.#waitForReadyFile(readyFile);
  }

  async #waitForReadyFile(file: string): Promise<{ url: string; pid: number; version: string }> {
    const deadline = performance.now() + this.#startTimeoutMs;
    while (performance.now() < deadline) {
      const ready = readJson(file);
      if (ready !== undefined) return ready as { url: string; pid: number; version: string };
      if (!this.isRunning) throw new Error(`The gateway ended before it served:\n${this.#output}`);
      await sleep(15);
    }
    throw new Error(`The gateway did not serve within ${this.#startTimeoutMs} ms:\n${this.#output}`);
  }

  apiResponse(method: string, path: string, body?: unknown): Promise<Response> {
    return fetch(`${this.url}/api${path}`, {
      method,
      headers: {
        authorization: `Bearer ${this.adminToken}`,
        ...(body === undefined ? {} : { "content-type": "application/json" }),
      },
      ...(body === undefined ? {} : { body: JSON.stringify(body) }),
    });
  }

  async api<T>(method: string, path: string, body?: unknown): Promise<T> {
    const response = await this.apiResponse(method, path, body);
    const text = await response.text();
    const parsed: unknown = /json/.test(response.headers.get("content-type") ?? "") ? JSON.parse(text) : text;
    if (!response.ok) throw new ApiFailure(`${method} /api${path}`, response.status, parsed);
    return parsed as T;
  }

  addProvider(parts: ProviderParts): Promise<ProviderView> {
    const kind = parts.kind ?? "openai";
    const slug = parts.slug ?? kind;
    return this.api("POST", "/providers", {
      kind,
      slug,
      name: parts.name ?? slug,
      base_url: parts.baseUrl,
      ...(parts.apiKey === undefined ? {} : { api_key: parts.apiKey }),
      ...(parts.settings === undefined ? {} : { settings: parts.settings }),
      ...(parts.preset === undefined ? {} : { preset: parts.preset }),
    });
  }

  async addKeys(provider: { readonly id: string }, keys: readonly KeyParts[]): Promise<KeyView[]> {
    const added: KeyView[] = [];
    for (const key of keys) {
      const body = typeof key === "string" ? { api_key: key } : key;
      added.push(await this.api<KeyView>("POST", `/providers/${provider.id}/keys`, body));
    }
    return added;
  }

  key(id: string): Promise<KeyView> {
    return this.api("GET", `/keys/${id}`);
  }

  async keys(provider: { readonly id: string }): Promise<KeyView[]> {
    const { data } = await this.api<{ data: KeyView[] }>("GET", `/providers/${provider.id}/keys`);
    return data;
  }

  baseUrlOf(provider: { readonly slug: string }): string {
    return `${this.url}/${provider.slug}`;
  }

  logs(): string {
    return this.#output;
  }

  async kill(signal: NodeJS.Signals = "SIGKILL"): Promise<number | null> {
    this.#child?.kill(signal);
    return this.#ended;
  }

  async stop(timeoutMs = 10_000): Promise<number | null> {
    this.#child?.kill("SIGTERM");
    const timer = new AbortController();
    const late = sleep(timeoutMs, "late" as const, { signal: timer.signal }).catch(() => "stopped" as const);
    const outcome = await Promise.race([this.#ended, late]);
    timer.abort();
    if (outcome !== "late") return this.#ended;
    await this.kill();
    throw new Error(`The gateway did not stop within ${timeoutMs} ms:\n${this.#output}`);
  }

  async restart(changes: Pick<RunGatewayOptions, "env" | "flags"> = {}): Promise<void> {
    if (this.isRunning) await this.stop();
    this.#env = changes.env ?? this.#env;
    this.#flags = changes.flags ?? this.#flags;
    await this.start();
  }

  async [Symbol.asyncDispose](): Promise<void> {
    process.off("exit", this.#onExit);
    await this.kill();
    keepTraces(this.dataDir, this.#output);
    if (this.#temporary !== undefined) rmSync(this.#temporary, { recursive: true, force: true });
  }
}

/** The built program on the Node that came with the dependencies; the sources themselves where `KEYWHEEL_TEST_SOURCES` is set. */
function keywheel(): { node: string; args: readonly string[] } {
  const node = existsSync(ownNode) ? ownNode : process.execPath;
  if (process.env.KEYWHEEL_TEST_SOURCES !== undefined) {
    const source = join(root, "packages", "gateway", "src", "cli", "main.ts");
    return { node, args: ["--conditions=source", "--no-warnings", "--", source] };
  }
  if (!existsSync(builtProgram)) throw new Error(`There is no ${builtProgram}: run \`npm run build\` first.`);
  return { node, args: ["--", builtProgram] };
}

function readJson(file: string): unknown {
  try {
    return JSON.parse(readFileSync(file, "utf8"));
  } catch {
    // Not there yet, or half written: the caller asks again.
    return undefined;
  }
}
