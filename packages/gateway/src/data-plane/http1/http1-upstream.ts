import type { LookupFunction } from "node:net";
import { Readable } from "node:stream";
import { forbiddenHost, guardedLookup, type IsForbidden } from "../destinations.ts";
import { faultOf } from "../fault.ts";
import type { OutboundProxies, OutboundProxy } from "../outbound-proxy.ts";
import { routeTo } from "../upstream-route.ts";
import {
  defaultKeepAliveMs,
  longerIfTold,
  type Upstream,
  type UpstreamOptions,
  type UpstreamRequest,
  type UpstreamResult,
} from "../upstream.ts";
import { ConnectionPool } from "./connection-pool.ts";
import { createConnector } from "./connector.ts";
import { type Sending, UpstreamExchange } from "./upstream-exchange.ts";

/** How requests get to one origin: found out once, since nothing of it changes. */
interface Plan {
  readonly pool: ConnectionPool;
  /** The value of `host`. */
  readonly host: string;
  /** The proxy to which the requests go instead, to be passed on. */
  readonly forwarder: OutboundProxy | undefined;
}

/** How often idle connections are looked through, ms. */
const sweepMs = 1_000;

/**
 * The way to the providers over a small HTTP/1.1 client of our own: it does less for each request than undici does, and
 * takes less for an answer. What is ambiguous is refused, and its connection closed.
 */
export class Http1Upstream implements Upstream {
  readonly #plans = new Map<string, Plan>();
  readonly #clock: { readonly now: () => number; readonly monotonic: () => number };
  readonly #proxies: OutboundProxies | undefined;
  readonly #isForbidden: IsForbidden | undefined;
  readonly #lookup: LookupFunction | undefined;
  readonly #keepAliveMs: number;
  #sweeper: NodeJS.Timeout | undefined;

  constructor(
    clock: { readonly now: () => number; readonly monotonic: () => number },
    { proxies, isForbidden, lookup, keepAliveMs = defaultKeepAliveMs }: UpstreamOptions = {},
  ) {
    this.#clock = clock;
    this.#proxies = proxies;
    this.#isForbidden = isForbidden;
    this.#lookup = isForbidden === undefined ? lookup : guardedLookup(isForbidden, lookup);
    this.#keepAliveMs = keepAliveMs;
  }

  send(request: UpstreamRequest): Promise<UpstreamResult> {
    if (request.presence.isGone) return Promise.resolve({ kind: "gone" });
    // Whatever becomes of the request, a body that breaks must find somebody who listens.
    if (request.body instanceof Readable) request.body.on("error", () => {});
    return new Promise((resolve) => {
      try {
        const { pool, host, forwarder } = this.#planFor(request);
        const sending: Sending = { request, settle: resolve, clock: this.#clock, pool, host, forwarder };
        pool.run(new UpstreamExchange(sending));
      } catch (error) {
        resolve(faultBefore(error, request));
      }
    });
  }

  close(): Promise<void> {
    clearInterval(this.#sweeper);
    this.#sweeper = undefined;
    const plans = [...this.#plans.values()];
    this.#plans.clear();
    for (const { pool } of plans) pool.close();
    return Promise.resolve();
  }

  #planFor(request: UpstreamRequest): Plan {
    const { origin, upgrade, timeouts } = request;
    const id = `${timeouts.connectMs} ${upgrade} ${origin}`;
    const known = this.#plans.get(id);
    if (known !== undefined) return known;
    const plan = this.#makePlan(request);
    this.#plans.set(id, plan);
    this.#sweeper ??= setInterval(() => this.#sweep(), Math.min(sweepMs, this.#keepAliveMs)).unref();
    return plan;
  }

  #makePlan({ origin, upgrade, timeouts: { connectMs } }: UpstreamRequest): Plan {
    const url = new URL(origin);
    // Addresses are not looked up, so the lookup does not see them; and behind a proxy, which looks names up itself, what
    // is written is all that can be known here.
    const forbidden = this.#isForbidden === undefined ? undefined : forbiddenHost(url.hostname, this.#isForbidden);
    if (forbidden !== undefined) throw forbidden;
    const { way, proxy } = routeTo(origin, upgrade, this.#proxies);
    const connect = createConnector({
      url: way === "forward" ? new URL(proxy.origin) : url,
      connectMs,
      // The proxy's own address was chosen by who runs the gateway, and is not a provider's.
      lookup: way === "direct" ? this.#lookup : undefined,
      tunnel: way === "tunnel" ? proxy : undefined,
    });
    const pool = new ConnectionPool({
      connect,
      monotonic: this.#clock.monotonic,
      keepAliveMs: this.#keepAliveMs,
      maxKeepAliveMs: this.#keepAliveMs * longerIfTold,
    });
    return { pool, host: url.host, forwarder: way === "forward" ? proxy : undefined };
  }

  #sweep(): void {
    for (const [id, { pool }] of this.#plans) {
      pool.sweep();
      if (pool.isEmpty) this.#plans.delete(id);
    }
    if (this.#plans.size > 0) return;
    clearInterval(this.#sweeper);
    this.#sweeper = undefined;
  }
}

/** Nothing was sent: the destination is forbidden, or the request cannot be written. */
function faultBefore(error: unknown, { method }: UpstreamRequest): UpstreamResult {
  return faultOf(error, { method, hasStarted: false, isReused: false, hasAnswered: false, elapsedMs: 0 });
}
