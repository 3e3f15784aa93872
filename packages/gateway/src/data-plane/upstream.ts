import type { LookupFunction } from "node:net";
import type { Readable } from "node:stream";
import type { IsForbidden } from "./destinations.ts";
import type { BrokenDelivery } from "./fault.ts";
import type { OutboundProxies } from "./outbound-proxy.ts";
import type { Pieces } from "./pieces.ts";
import type { StreamedAnswer } from "./streamed-answer.ts";

/** One request as it goes out: everything decided, nothing to be looked up. */
export interface UpstreamRequest {
  /** Scheme, host and port. */
  readonly origin: string;
  readonly method: string;
  /** Path and query. */
  readonly path: string;
  /** Flat name, value, name, value; neither hop-by-hop nor framing headers. */
  readonly headers: string[];
  readonly body: Buffer | Pieces | Readable | undefined;
  /** The protocol to go on in if the provider agrees; it does with an `UpgradedAnswer`. */
  readonly upgrade?: "websocket" | undefined;
  readonly timeouts: {
    readonly connectMs: number;
    /** From the request to the head of the answer. */
    readonly headersMs: number;
    /** Between two pieces of the answer. */
    readonly idleMs: number;
    /** How long the opening of a successful answer may stay undecided; default 10 s. */
    readonly openingMs?: number;
  };
  readonly presence: ClientPresence;
}

/** Whether the client is still there. */
export interface ClientPresence {
  readonly isGone: boolean;
  /** Calls back once when the client leaves, at once if it has left. @returns how to stop listening */
  onGone(callback: () => void): () => void;
}

export type UpstreamResult =
  | { readonly kind: "answer"; readonly answer: StreamedAnswer }
  | BrokenDelivery
  | { readonly kind: "gone" };

/** The way to the providers. Connections are kept alive; no redirect is followed, nothing is repeated here. */
export interface Upstream {
  /** Settles with the head of the answer; never rejects. A client that leaves ends it at once, in every phase. */
  send(request: UpstreamRequest): Promise<UpstreamResult>;
  /** Closes what is idle and lets the rest end. */
  close(): Promise<void>;
}

export interface UpstreamOptions {
  /** Which stand on the way; default: none does. */
  readonly proxies?: OutboundProxies;
  /** Which hosts and addresses are not connected to; default: none. */
  readonly isForbidden?: IsForbidden | undefined;
  /** Finds the addresses of a name; default: as the system does. */
  readonly lookup?: LookupFunction;
  /** How long an idle connection is kept where the provider does not say, ms; default 30 s, and twice that if it says more. */
  readonly keepAliveMs?: number;
}

/** Below the 60 s and more that providers keep idle connections, so that we let go of them first. */
export const defaultKeepAliveMs = 30_000;
/** Where a provider says that it keeps them longer: by so much, or the connections of one burst would be held for minutes. */
export const longerIfTold = 2;
