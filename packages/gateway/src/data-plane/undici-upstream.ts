import diagnosticsChannel from "node:diagnostics_channel";
import { STATUS_CODES } from "node:http";
import type { LookupFunction, Socket } from "node:net";
import type { Duplex } from "node:stream";
import { type buildConnector, type Dispatcher, Pool } from "undici";
import { forbiddenHost, guardedLookup, type IsForbidden } from "./destinations.ts";
import { type BrokenDelivery, faultOf } from "./fault.ts";
import type { OutboundProxies, OutboundProxy } from "./outbound-proxy.ts";
import { ProxyError, refusal, unreachable } from "./outbound-proxy-tunnel.ts";
import { Pieces } from "./pieces.ts";
import { StreamedAnswer } from "./streamed-answer.ts";
import { createTunnelConnector } from "./undici-tunnel.ts";
import { UpgradedAnswer } from "./upgraded-answer.ts";
import { isProxysOwn, routeTo, type UpstreamRoute } from "./upstream-route.ts";
import {
  defaultKeepAliveMs,
  longerIfTold,
  type Upstream,
  type UpstreamOptions,
  type UpstreamRequest,
  type UpstreamResult,
} from "./upstream.ts";

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
  starting.connection = { socket, isReused: usedSockets.has(socket), readBefore: socket.bytesRead };
  usedSockets.add(socket);
  starting = undefined;
}

/** The way to the providers over undici: a pool of kept-alive HTTP/1.1 connections for each origin, without a cap. */
export class UndiciUpstream implements Upstream {
  readonly #pools = new Map<string, Pool>();
  readonly #now: () => number;
  readonly #monotonic: () => number;
  readonly #proxies: OutboundProxies | undefined;
  readonly #isForbidden: IsForbidden | undefined;
  readonly #lookup: LookupFunction | undefined;
  readonly #keepAliveMs: number;

  constructor(
    clock: { readonly now: () => number; readonly monotonic: () => number },
    { proxies, isForbidden, lookup, keepAliveMs = defaultKeepAliveMs }: UpstreamOptions = {},
  ) {
    this.#keepAliveMs = keepAliveMs;
    this.#now = clock.now;
    this.#monotonic = clock.monotonic;
    this.#proxies = proxies;
    this.#isForbidden = isForbidden;
    this.#lookup = isForbidden === undefined ? lookup : guardedLookup(isForbidden, lookup);
  }

  send(request: UpstreamRequest): Promise<UpstreamResult> {
    if (request.presence.isGone) return Promise.resolve({ kind: "gone" });
    const refused = this.#refusalOf(request);
    if (refused !== undefined) return Promise.resolve(refused);
    return new Promise((resolve) => {
      const { pool, path, headers, forwarder } = this.#wayOf(request);
      const exchange = new Exchange(request, resolve, { now: this.#now, monotonic: this.#monotonic, forwarder });
      try {
        pool.dispatch(
          {
            method: request.method,
            path,
            headers,
            body: (request.body instanceof Pieces ? request.body.joined() : request.body) ?? null,
            upgrade: request.upgrade ?? null,
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

  /**
   * Addresses are not looked up, so the lookup does not see them; and behind a proxy, which looks names up itself, what is
   * written is all that can be known here.
   */
  #refusalOf({ origin, method }: UpstreamRequest): BrokenDelivery | undefined {
    if (this.#isForbidden === undefined) return undefined;
    const forbidden = forbiddenHost(new URL(origin).hostname, this.#isForbidden);
    if (forbidden === undefined) return undefined;
    return faultOf(forbidden, { method, hasStarted: false, isReused: false, hasAnswered: false, elapsedMs: 0 });
  }

  #wayOf({ origin, path, headers, upgrade, timeouts: { connectMs } }: UpstreamRequest): Way {
    const { way, proxy } = routeTo(origin, upgrade, this.#proxies);
    if (way === "direct") return { pool: this.#poolFor(origin, way, connectMs), path, headers };
    if (way === "tunnel") {
      const tunnel = (): buildConnector.connector => createTunnelConnector(proxy, connectMs);
      return { pool: this.#poolFor(origin, way, connectMs, tunnel), path, headers };
    }
    const toProxy = [...headers, "host", new URL(origin).host];
    if (proxy.authorization !== undefined) toProxy.push("proxy-authorization", proxy.authorization.reveal());
    return {
      pool: this.#poolFor(proxy.origin, way, connectMs),
      path: origin + path,
      headers: toProxy,
      forwarder: proxy,
    };
  }

  #poolFor(
    origin: string,
    way: UpstreamRoute["way"],
    connectMs: number,
    connector?: () => buildConnector.connector,
  ): Pool {
    const id = `${way} ${origin} ${connectMs}`;
    const known = this.#pools.get(id);
    if (known !== undefined) return known;
    const pool = new Pool(origin, {
      allowH2: false,
      connections: null,
      pipelining: 1,
      keepAliveTimeout: this.#keepAliveMs,
      keepAliveMaxTimeout: this.#keepAliveMs * longerIfTold,
      maxHeaderSize: maxHeaderBytes,
      connect: connector?.() ?? this.#connectOptions(way, connectMs),
    });
    this.#pools.set(id, pool);
    return pool;
  }

  /** The proxy's own address was chosen by who runs the gateway, and is not a provider's. */
  #connectOptions(way: UpstreamRoute["way"], timeout: number): buildConnector.BuildOptions {
    return way === "direct" && this.#lookup !== undefined ? { timeout, lookup: this.#lookup } : { timeout };
  }
}

/** How a request gets to its provider. */
interface Way {
  readonly pool: Pool;
  readonly path: string;
  readonly headers: string[];
  /** The proxy to which the request goes instead, to be passed on. */
  readonly forwarder?: OutboundProxy;
}

interface Connection {
  readonly socket: Socket;
  readonly isReused: boolean;
  /** Bytes that had come on it for earlier requests. */
  readonly readBefore: number;
}

/** One request on its way; what undici calls back. */
class Exchange implements Dispatcher.DispatchHandler {
  /** Known from the moment at which the request's head is written. */
  connection: Connection | undefined;
  readonly #request: UpstreamRequest;
  readonly #settle: (result: UpstreamResult) => void;
  readonly #now: () => number;
  readonly #monotonic: () => number;
  readonly #forwarder: OutboundProxy | undefined;
  readonly #startedAt: number;
  readonly #stopListening: () => void;
  #controller: Dispatcher.DispatchController | undefined;
  #answer: StreamedAnswer | undefined;
  #isGone = false;

  constructor(
    request: UpstreamRequest,
    settle: (result: UpstreamResult) => void,
    {
      now,
      monotonic,
      forwarder,
    }: {
      readonly now: () => number;
      readonly monotonic: () => number;
      readonly forwarder: OutboundProxy | undefined;
    },
  ) {
    this.#request = request;
    this.#settle = settle;
    this.#now = now;
    this.#monotonic = monotonic;
    this.#forwarder = forwarder;
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
    if (this.#forwarder !== undefined && isProxysOwn(status, rawHeaders)) {
      controller.abort(refusal(this.#forwarder, new URL(this.#request.origin).host, status));
      return;
    }
    const { method } = this.#request;
    const head = { status, statusText: phraseOf(status, statusText), rawHeaders, method, receivedAt: this.#now() };
    const control = {
      pause: () => controller.pause(),
      resume: () => controller.resume(),
      abort: () => controller.abort(new Error("no longer wanted")),
    };
    this.#answer = new StreamedAnswer(head, control, { openingMs: this.#request.timeouts.openingMs });
    this.#settle({ kind: "answer", answer: this.#answer });
  }

  onRequestUpgrade(controller: Dispatcher.DispatchController, status: number, _: unknown, socket: Duplex): void {
    this.#stopListening();
    const rawHeaders = toStrings(controller.rawHeaders);
    const head = { status, statusText: "Switching Protocols", rawHeaders, method: "GET", receivedAt: this.#now() };
    this.#settle({ kind: "answer", answer: new UpgradedAnswer(head, socket) });
  }

  onResponseData(_: unknown, chunk: Buffer): void {
    this.#answer?.push(chunk);
  }

  onResponseEnd(controller: Dispatcher.DispatchController): void {
    this.#stopListening();
    // undici takes the reset of a connection whose close ends the body for that end; but a reset is not one.
    const broken = this.connection?.socket.errored ?? null;
    if (broken === null) this.#answer?.end(toStrings(controller.rawTrailers));
    else this.#answer?.fail(broken);
  }

  onResponseError(_: unknown, error: unknown): void {
    this.#stopListening();
    if (this.#answer !== undefined) this.#answer.fail(error);
    else if (this.#isGone) this.#settle({ kind: "gone" });
    else this.#settle(this.#faultOf(error));
  }

  #leave(): void {
    this.#isGone = true;
    this.#settle({ kind: "gone" });
    this.#controller?.abort(new Error("the client left"));
  }

  #faultOf(error: unknown): BrokenDelivery {
    const fault = faultOf(error, this.#context());
    if (this.#forwarder === undefined || fault.fault === "timeout" || error instanceof ProxyError) return fault;
    return { ...fault, message: unreachable(this.#forwarder, error).message };
  }

  #context(): Parameters<typeof faultOf>[1] {
    return {
      method: this.#request.method,
      hasStarted: this.#controller !== undefined,
      isReused: this.connection?.isReused === true,
      hasAnswered: this.connection !== undefined && this.connection.socket.bytesRead > this.connection.readBefore,
      elapsedMs: this.#monotonic() - this.#startedAt,
    };
  }
}

const noPhraseInUtf8 = "\ufffd";

/**
 * The reason phrase as its bytes, one character each: as such it is to be written again. undici reads it as UTF-8; of what
 * is none, and of what may stand in no phrase (RFC 9112 §4) though undici lets it pass, the standard phrase is left.
 */
function phraseOf(status: number, phrase = ""): string {
  if (/^[\t\x20-\x7e]*$/.test(phrase)) return phrase;
  if (phrase.includes(noPhraseInUtf8) || /[^\t\P{Cc}]|\x7f/u.test(phrase)) return STATUS_CODES[status] ?? "";
  return Buffer.from(phrase, "utf8").toString("latin1");
}

function toStrings(raw: Dispatcher.DispatchController["rawHeaders"]): string[] {
  if (!Array.isArray(raw)) return [];
  return raw.map((item: string | Buffer) => (typeof item === "string" ? item : item.toString("latin1")));
}
