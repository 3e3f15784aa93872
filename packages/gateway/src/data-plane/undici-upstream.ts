import diagnosticsChannel from "node:diagnostics_channel";
import type { Socket } from "node:net";
import { type Dispatcher, Pool } from "undici";
import { faultOf } from "./fault.ts";
import { StreamedAnswer } from "./streamed-answer.ts";
import type { Upstream, UpstreamRequest, UpstreamResult } from "./upstream.ts";

/** Below the 60 s and more that providers keep idle connections, so that we let go of them first. */
const keepAliveMs = 30_000;
const maxHeaderBytes = 128 * 1024;

/** The exchange whose request head undici is about to write; see `noteSocket`. */
let starting: Exchange | undefined;
const usedSockets = new WeakSet<Socket>();

// undici does not tell a handler which connection it was given. It publishes that on this channel in the same tick in
// which it calls `onRequestStart`, so the two can be brought together.
diagnosticsChannel.subscribe("undici:client:sendHeaders", noteSocket);

function expectSocketFor(exchange: Exchange): void {
  starting = exchange;
}

function noteSocket(message: unknown): void {
  if (starting === undefined || typeof message !== "object" || message === null) return;
  const socket = Reflect.get(message, "socket") as Socket;
  starting.isReused = usedSockets.has(socket);
  usedSockets.add(socket);
  starting = undefined;
}

/** The way to the providers over undici: a pool of kept-alive HTTP/1.1 connections for each origin, without a cap. */
export class UndiciUpstream implements Upstream {
  readonly #pools = new Map<string, Pool>();
  readonly #now: () => number;
  readonly #monotonic: () => number;

  constructor(clock: { readonly now: () => number; readonly monotonic: () => number }) {
    this.#now = clock.now;
    this.#monotonic = clock.monotonic;
  }

  send(request: UpstreamRequest): Promise<UpstreamResult> {
    if (request.presence.isGone) return Promise.resolve({ kind: "gone" });
    return new Promise((resolve) => {
      const exchange = new Exchange(request, resolve, this.#now, this.#monotonic);
      try {
        this.#poolFor(request).dispatch(
          {
            origin: request.origin,
            method: request.method,
            path: request.path,
            headers: request.headers,
            body: request.body ?? null,
            headersTimeout: request.timeouts.headersMs,
            bodyTimeout: request.timeouts.idleMs,
          },
          exchange,
        );
      } catch (error) {
        exchange.onResponseError(undefined, error);
      }
    });
  }

  async close(): Promise<void> {
    await Promise.all([...this.#pools.values()].map((pool) => pool.destroy()));
    this.#pools.clear();
  }

  #poolFor(request: UpstreamRequest): Pool {
    const { connectMs } = request.timeouts;
    const id = `${request.origin} ${connectMs}`;
    const known = this.#pools.get(id);
    if (known !== undefined) return known;
    const pool = new Pool(request.origin, {
      allowH2: false,
      connections: null,
      pipelining: 1,
      keepAliveTimeout: keepAliveMs,
      keepAliveMaxTimeout: keepAliveMs * 10,
      maxHeaderSize: maxHeaderBytes,
      connect: { timeout: connectMs },
    });
    this.#pools.set(id, pool);
    return pool;
  }
}

/** One request on its way; what undici calls back. */
class Exchange implements Dispatcher.DispatchHandler {
  isReused = false;
  readonly #request: UpstreamRequest;
  readonly #settle: (result: UpstreamResult) => void;
  readonly #now: () => number;
  readonly #monotonic: () => number;
  readonly #startedAt: number;
  readonly #stopListening: () => void;
  #controller: Dispatcher.DispatchController | undefined;
  #answer: StreamedAnswer | undefined;
  #isGone = false;

  constructor(
    request: UpstreamRequest,
    settle: (result: UpstreamResult) => void,
    now: () => number,
    monotonic: () => number,
  ) {
    this.#request = request;
    this.#settle = settle;
    this.#now = now;
    this.#monotonic = monotonic;
    this.#startedAt = monotonic();
    this.#stopListening = request.presence.onGone(() => this.#leave());
  }

  onRequestStart(controller: Dispatcher.DispatchController): void {
    this.#controller = controller;
    if (this.#isGone) controller.abort(new Error("the client left"));
    else expectSocketFor(this);
  }

  onResponseStart(controller: Dispatcher.DispatchController, status: number, _: unknown, statusText?: string): void {
    if (status < 200) return;
    const rawHeaders = toStrings(controller.rawHeaders);
    const head = { status, statusText: statusText ?? "", rawHeaders, receivedAt: this.#now() };
    const control = {
      pause: () => controller.pause(),
      resume: () => controller.resume(),
      abort: () => controller.abort(new Error("no longer wanted")),
    };
    this.#answer = new StreamedAnswer(head, control, { openingMs: this.#request.timeouts.openingMs });
    this.#settle({ kind: "answer", answer: this.#answer });
  }

  onResponseData(_: unknown, chunk: Buffer): void {
    this.#answer?.push(chunk);
  }

  onResponseEnd(controller: Dispatcher.DispatchController): void {
    this.#stopListening();
    this.#answer?.end(toStrings(controller.rawTrailers));
  }

  onResponseError(_: unknown, error: unknown): void {
    this.#stopListening();
    if (this.#answer !== undefined) this.#answer.fail(error);
    else if (this.#isGone) this.#settle({ kind: "gone" });
    else this.#settle(faultOf(error, this.#context()));
  }

  #leave(): void {
    this.#isGone = true;
    this.#settle({ kind: "gone" });
    this.#controller?.abort(new Error("the client left"));
  }

  #context(): Parameters<typeof faultOf>[1] {
    return {
      method: this.#request.method,
      hasStarted: this.#controller !== undefined,
      isReused: this.isReused,
      elapsedMs: this.#monotonic() - this.#startedAt,
    };
  }
}

function toStrings(raw: Dispatcher.DispatchController["rawHeaders"]): string[] {
  if (!Array.isArray(raw)) return [];
  return raw.map((item: string | Buffer) => (typeof item === "string" ? item : item.toString("latin1")));
}
