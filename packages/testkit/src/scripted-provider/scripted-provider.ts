import { createServer, type IncomingMessage, type Server, ServerResponse } from "node:http";
import type { AddressInfo, Socket } from "node:net";
import { letterOf } from "../builders.ts";
import { type CredentialPlace, examine } from "./credentials.ts";
import { createAnthropicDialect } from "./dialects/anthropic.ts";
import { createAzureDialect } from "./dialects/azure.ts";
import type { Dialect } from "./dialects/dialect.ts";
import { createGeminiDialect } from "./dialects/gemini.ts";
import { createGenericDialect } from "./dialects/generic.ts";
import { createOpenAiDialect } from "./dialects/openai.ts";
import { Exchange, ExchangeOver } from "./exchange.ts";
import { createObjectShelf } from "./object-shelf.ts";
import { OpenRequest, type RecordedRequest } from "./recorded-request.ts";
import type { Reply } from "./reply.ts";
import { Script, type ScriptFilter } from "./script.ts";
import { acceptWebSocket } from "./websocket.ts";
import { keepKeys } from "../traces.ts";

/** Which vendor is played; `openai-compatible` is the generic one. Named as the gateway names its kinds. */
export type ScriptedKind = "openai" | "anthropic" | "gemini" | "azure-openai" | "openai-compatible";

export interface ScriptedProviderOptions {
  /** Default "openai". */
  readonly kind?: ScriptedKind;
  /** The keys that it accepts; in `picks` they are A, B, C … in this order. */
  readonly keys: readonly string[];
  /** The path of the base URL where the kind allows a choice (openai, openai-compatible). */
  readonly basePath?: string;
  /** Where the generic kind wants its key. */
  readonly place?: CredentialPlace;
  /** A fixed port instead of a free one, to come back where another was closed. */
  readonly port?: number;
  /** The address of this machine on which it listens; default 127.0.0.1. */
  readonly host?: string;
}

/**
 * An LLM provider on loopback that answers as scripted, refuses what the real one would refuse, and keeps a record of
 * every request.
 *
 * Without a script it is a healthy provider. A request whose credential is missing, unknown, doubled or in bad company is
 * refused in the vendor's own words before any script is asked.
 */
export interface ScriptedProvider extends AsyncDisposable {
  readonly kind: ScriptedKind;
  /** `http://<host>:<port>`. */
  readonly origin: string;
  readonly port: number;
  /** What an operator enters. */
  readonly baseUrl: string;
  /** Every request, in order of arrival. */
  readonly requests: readonly RecordedRequest[];
  /** What has not ended yet. */
  readonly openRequests: readonly RecordedRequest[];
  /** All credential faults seen so far: a test that passes with any is wrong. */
  readonly faults: readonly string[];
  readonly connections: { readonly opened: number; readonly open: number };

  /** A script for a key; the same one at each call. Asked before those of `on`. */
  forKey(key: string): Script;
  /** A script for whatever the filter lets through. Among several the first made is asked first. */
  on(filter?: ScriptFilter): Script;
  /** From now on the provider knows this key. */
  accept(key: string): void;
  /** From now on it does not: its real 401. */
  revoke(key: string): void;

  /** The keys of the requests as letters, for example "AAABBC"; an unknown or missing key is "?". */
  picks(filter?: (request: RecordedRequest) => boolean): string;
  /** How many requests each key got, by letter. */
  counts(): Record<string, number>;
  /** Forgets what was recorded, not what was scripted. */
  forget(): void;

  /** Waits for the n-th recorded request (from 1). */
  arrived(count: number, timeoutMs?: number): Promise<RecordedRequest>;
  /** Waits until the condition holds; it is tried whenever something happens here. */
  until(condition: () => boolean, what: string, timeoutMs?: number): Promise<void>;

  /** Ends every connection and stops listening. Twice is once. @throws AggregateError if a reply broke on its own */
  close(): Promise<void>;
}

/** Starts one. */
export async function startScriptedProvider(options: ScriptedProviderOptions): Promise<ScriptedProvider> {
  const provider = new RunningProvider(options);
  await provider.listen(options.port ?? 0);
  return provider;
}

class RunningProvider implements ScriptedProvider {
  readonly kind: ScriptedKind;
  readonly #dialect: Dialect;
  readonly #known: Set<string>;
  readonly #letters: readonly string[];
  readonly #server: Server;
  readonly #sockets = new Map<Socket, number>();
  readonly #keyScripts = new Map<string, Script>();
  readonly #scripts: Script[] = [];
  readonly #objects = createObjectShelf();
  readonly #watchers = new Set<() => void>();
  readonly #broken: unknown[] = [];
  readonly #host: string;
  #requests: OpenRequest[] = [];
  #arrivals = 0;
  #opened = 0;
  #port = 0;
  #closed: Promise<void> | undefined;

  constructor(options: ScriptedProviderOptions) {
    this.kind = options.kind ?? "openai";
    this.#dialect = dialects[this.kind](options);
    this.#letters = [...options.keys];
    this.#known = new Set(options.keys);
    this.#host = options.host ?? "127.0.0.1";
    keepKeys(options.keys);
    this.#server = createServer({
      maxHeaderSize: 256 * 1024,
      keepAliveTimeout: 300_000,
      requestTimeout: 0,
      headersTimeout: 0,
    });
    this.#server.on("connection", (socket: Socket) => this.#track(socket));
    this.#server.on("request", (incoming, outgoing) => void this.#serve(incoming, outgoing));
    this.#server.on("checkContinue", (incoming, outgoing) => {
      outgoing.writeContinue();
      void this.#serve(incoming, outgoing);
    });
    this.#server.on("upgrade", (incoming, socket) => this.#upgrade(incoming, socket as Socket));
  }

  async listen(port: number): Promise<void> {
    await new Promise<void>((resolve, reject) => {
      this.#server.once("error", reject);
      this.#server.listen(port, this.#host, resolve);
    });
    this.#port = (this.#server.address() as AddressInfo).port;
  }

  get port(): number {
    return this.#port;
  }

  get origin(): string {
    return `http://${this.#host}:${this.#port}`;
  }

  get baseUrl(): string {
    return `${this.origin}${this.#dialect.basePath}`;
  }

  get requests(): readonly RecordedRequest[] {
    return this.#requests;
  }

  get openRequests(): readonly RecordedRequest[] {
    return this.#requests.filter((request) => request.state === "open");
  }

  get faults(): readonly string[] {
    return this.#requests.flatMap((request) => request.faults);
  }

  get connections(): { opened: number; open: number } {
    return { opened: this.#opened, open: this.#sockets.size };
  }

  forKey(key: string): Script {
    if (!this.#letters.includes(key)) throw new Error(`The provider was not made with the key ${key}`);
    const script = this.#keyScripts.get(key) ?? new Script({ key });
    this.#keyScripts.set(key, script);
    return script;
  }

  on(filter: ScriptFilter = {}): Script {
    const script = new Script(filter);
    this.#scripts.push(script);
    return script;
  }

  accept(key: string): void {
    this.#known.add(key);
  }

  revoke(key: string): void {
    this.#known.delete(key);
  }

  picks(filter: (request: RecordedRequest) => boolean = () => true): string {
    return this.#requests
      .filter(filter)
      .map((request) => this.#letterOf(request))
      .join("");
  }

  counts(): Record<string, number> {
    const counts: Record<string, number> = {};
    for (const request of this.#requests) {
      const letter = this.#letterOf(request);
      counts[letter] = (counts[letter] ?? 0) + 1;
    }
    return counts;
  }

  forget(): void {
    this.#requests = [];
  }

  async arrived(count: number, timeoutMs?: number): Promise<RecordedRequest> {
    await this.until(() => this.#requests.length >= count, `request ${count}`, timeoutMs);
    const request = this.#requests[count - 1];
    if (request === undefined) throw new Error(`Expected \`count\` to be 1 or more, got ${count}`);
    return request;
  }

  async until(condition: () => boolean, what: string, timeoutMs = 5_000): Promise<void> {
    if (condition()) return;
    const { promise, resolve, reject } = Promise.withResolvers<void>();
    const check = (): void => {
      if (condition()) resolve();
    };
    const timer = setTimeout(() => reject(new Error(`Waited ${timeoutMs} ms in vain for ${what}`)), timeoutMs);
    this.#watchers.add(check);
    try {
      await promise;
    } finally {
      clearTimeout(timer);
      this.#watchers.delete(check);
    }
  }

  close(): Promise<void> {
    this.#closed ??= this.#shut();
    return this.#closed;
  }

  async #shut(): Promise<void> {
    const closed = new Promise<void>((resolve) => this.#server.close(() => resolve()));
    for (const request of this.#requests) request.end("cut");
    for (const socket of this.#sockets.keys()) socket.destroy();
    await closed;
    if (this.#broken.length > 0) throw new AggregateError(this.#broken, "Replies of the scripted provider broke");
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.close();
  }

  #letterOf(request: RecordedRequest): string {
    const position = request.key === undefined ? -1 : this.#letters.indexOf(request.key);
    return position === -1 ? "?" : letterOf(position);
  }

  #track(socket: Socket): void {
    this.#sockets.set(socket, this.#opened++);
    // A peer that resets is recorded as an aborted exchange, not as an error of ours.
    socket.on("error", () => undefined);
    socket.on("close", () => {
      this.#sockets.delete(socket);
      this.#changed();
    });
    this.#changed();
  }

  #record(incoming: IncomingMessage): OpenRequest {
    const url = incoming.url ?? "";
    const path = url.split("?", 1)[0] ?? "";
    const { key, faults } = examine(this.#dialect.credentialPlace(path), url, incoming.rawHeaders);
    const request = new OpenRequest({
      index: this.#arrivals++,
      connectionId: this.#sockets.get(incoming.socket) ?? -1,
      method: incoming.method ?? "",
      url,
      rawHeaders: [...incoming.rawHeaders],
      key,
      faults,
    });
    this.#requests.push(request);
    const onClose = (): void => request.end("aborted");
    incoming.socket.once("close", onClose);
    void request.ended.then(() => {
      incoming.socket.off("close", onClose);
      this.#changed();
    });
    this.#changed();
    return request;
  }

  async #serve(incoming: IncomingMessage, outgoing: ServerResponse): Promise<void> {
    const request = this.#record(incoming);
    const exchange = new Exchange(request, incoming, outgoing);
    try {
      const scripted = this.#refusalOf(request) ?? this.#scriptedFor(request);
      if (scripted?.readsBody !== false) {
        await exchange.body();
        this.#changed();
      }
      await (scripted ?? this.#dialect.answer(request, this.#objects)).play(exchange);
    } catch (error) {
      this.#fail(error, incoming.socket, request);
    }
  }

  #upgrade(incoming: IncomingMessage, socket: Socket): void {
    const request = this.#record(incoming);
    const scripted = this.#refusalOf(request) ?? this.#scriptedFor(request);
    if (scripted === undefined) {
      acceptWebSocket(request, socket);
      socket.once("end", () => {
        request.end("answered");
        socket.end();
      });
      return;
    }
    // Nobody would notice that the client has left a connection that is not read.
    socket.resume().once("end", () => socket.end());
    const outgoing = new ServerResponse(incoming);
    outgoing.shouldKeepAlive = false;
    outgoing.assignSocket(socket);
    outgoing.on("finish", () => socket.end());
    scripted
      .play(new Exchange(request, incoming, outgoing))
      .catch((error: unknown) => this.#fail(error, socket, request));
  }

  #fail(error: unknown, socket: Socket, request: OpenRequest): void {
    if (!(error instanceof ExchangeOver)) {
      this.#broken.push(error);
      socket.destroy();
    }
    request.end("aborted");
  }

  #refusalOf(request: OpenRequest): Reply | undefined {
    const { key, faults } = request;
    if (this.#dialect.credentialPlace(request.path) === "none") {
      return faults.length === 0 ? undefined : this.#dialect.refuse({ kind: "faulty", faults });
    }
    if (faults.length > 0) return this.#dialect.refuse({ kind: "faulty", faults });
    if (key === undefined) return this.#dialect.refuse({ kind: "missing", faults });
    return this.#known.has(key) ? undefined : this.#dialect.refuse({ kind: "wrong", faults });
  }

  #scriptedFor(request: OpenRequest): Reply | undefined {
    const own = request.key === undefined ? undefined : this.#keyScripts.get(request.key);
    for (const script of own === undefined ? this.#scripts : [own, ...this.#scripts]) {
      const taken = script.matches(request) ? script.take() : undefined;
      if (taken !== undefined) return taken;
    }
    return undefined;
  }

  #changed(): void {
    for (const check of this.#watchers) check();
  }
}

const dialects: Record<ScriptedKind, (options: ScriptedProviderOptions) => Dialect> = {
  openai: ({ basePath }) => createOpenAiDialect(basePath),
  anthropic: ({ basePath }) => createAnthropicDialect(basePath),
  gemini: createGeminiDialect,
  "azure-openai": createAzureDialect,
  "openai-compatible": ({ basePath, place }) => createGenericDialect(basePath, place),
};
