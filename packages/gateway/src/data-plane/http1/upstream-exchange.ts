import type { Socket } from "node:net";
import { Readable } from "node:stream";
import { faultOf } from "../fault.ts";
import type { OutboundProxy } from "../outbound-proxy.ts";
import { ProxyError, refusal, unreachable } from "../outbound-proxy-tunnel.ts";
import type { Pieces } from "../pieces.ts";
import { StreamedAnswer } from "../streamed-answer.ts";
import { UpgradedAnswer } from "../upgraded-answer.ts";
import type { UpstreamRequest, UpstreamResult } from "../upstream.ts";
import { isProxysOwn } from "../upstream-route.ts";
import type { Connection } from "./connection.ts";
import type { ConnectionPool, Waiting } from "./connection-pool.ts";
import { Http1Error } from "./http1-error.ts";
import { type RequestHead, writeHead } from "./request-head.ts";
import type { Asked, ResponseHead } from "./response-head.ts";

/** What sends a request to its provider. */
export interface Sending {
  readonly request: UpstreamRequest;
  readonly settle: (result: UpstreamResult) => void;
  readonly clock: { readonly now: () => number; readonly monotonic: () => number };
  readonly pool: ConnectionPool;
  readonly host: string;
  /** The proxy that passes it on. */
  readonly forwarder: OutboundProxy | undefined;
}

/** One request on its way, and what became of it in the words of the data plane. */
export class UpstreamExchange implements Waiting {
  readonly head: RequestHead;
  readonly body: Buffer | Pieces | Readable | undefined;
  readonly asked: Asked;
  readonly headersMs: number;
  readonly idleMs: number;
  isOver = false;
  readonly #sending: Sending;
  readonly #startedAt: number;
  readonly #stopListening: () => void;
  #connection: Connection | undefined;
  #isReused = false;
  #answer: StreamedAnswer | undefined;

  /** @throws Http1Error if the request cannot be written */
  constructor(sending: Sending) {
    const { request, host, forwarder, clock } = sending;
    const { method, path, headers, body, upgrade, timeouts } = request;
    this.#sending = sending;
    this.head = writeHead({
      method,
      target: forwarder === undefined ? path : request.origin + path,
      host,
      headers: forwarder === undefined ? headers : withProxyCredentials(headers, forwarder),
      body,
      upgrade,
    });
    this.body = body;
    this.asked = { method, upgrade };
    this.headersMs = timeouts.headersMs;
    this.idleMs = timeouts.idleMs;
    this.#startedAt = clock.monotonic();
    this.#stopListening = request.presence.onGone(() => this.#leave());
  }

  onConnection(connection: Connection): void {
    this.#connection = connection;
    this.#isReused = connection.isUsed;
  }

  onHead({ status, phrase, rawHeaders }: ResponseHead): void {
    const { request, forwarder, clock, settle } = this.#sending;
    if (forwarder !== undefined && isProxysOwn(status, rawHeaders)) {
      this.#connection?.end(refusal(forwarder, new URL(request.origin).host, status));
      return;
    }
    const head = { status, statusText: phrase, rawHeaders, method: request.method, receivedAt: clock.now() };
    const control = {
      pause: () => this.#connection?.pause(this),
      resume: () => this.#connection?.resume(this),
      abort: () => this.#abort("It is no longer wanted."),
    };
    this.#answer = new StreamedAnswer(head, control, { openingMs: request.timeouts.openingMs });
    settle({ kind: "answer", answer: this.#answer });
  }

  onData(chunk: Buffer): void {
    this.#answer?.push(chunk);
  }

  onEnd(trailers: readonly string[]): void {
    this.#close();
    this.#answer?.end(trailers);
  }

  onUpgrade({ status, rawHeaders }: ResponseHead, socket: Socket): void {
    this.#close();
    const { clock, settle } = this.#sending;
    const statusText = "Switching Protocols";
    const head = { status, statusText, rawHeaders, method: "GET", receivedAt: clock.now() };
    settle({ kind: "answer", answer: new UpgradedAnswer(head, socket) });
  }

  onFailure(error: unknown): void {
    if (this.isOver) return;
    const fault = this.#answer === undefined ? this.#faultOf(error) : undefined;
    this.#close();
    this.#letGoOfBody();
    if (fault === undefined) this.#answer?.fail(error);
    else this.#sending.settle(fault);
  }

  #leave(): void {
    if (this.isOver) return;
    this.#sending.settle({ kind: "gone" });
    this.#abort("The client left.");
  }

  /** In whichever phase. */
  #abort(why: string): void {
    if (this.isOver) return;
    const error = new Http1Error("HTTP1_ABORTED", why);
    const connection = this.#connection;
    if (connection === undefined) this.#sending.pool.giveUp(this);
    this.onFailure(error);
    connection?.end(error);
  }

  #close(): void {
    this.isOver = true;
    this.#stopListening();
  }

  #letGoOfBody(): void {
    const { body } = this;
    if (body instanceof Readable) body.destroy();
  }

  #faultOf(error: unknown): UpstreamResult {
    const { request, forwarder, clock } = this.#sending;
    const fault = faultOf(error, {
      method: request.method,
      hasStarted: this.#connection !== undefined,
      isReused: this.#isReused,
      hasAnswered: this.#connection?.hasAnswered === true,
      elapsedMs: clock.monotonic() - this.#startedAt,
    });
    if (forwarder === undefined || fault.fault === "timeout" || error instanceof ProxyError) return fault;
    return { ...fault, message: unreachable(forwarder, error).message };
  }
}

function withProxyCredentials(headers: readonly string[], { authorization }: OutboundProxy): readonly string[] {
  return authorization === undefined ? headers : [...headers, "proxy-authorization", authorization.reveal()];
}
