import type { Cores } from "./cores.ts";

/**
 * How a contender is set up. Each is an instance of its own: `failover`: every request is refused once and then served;
 * `tls`: the upstream is behind TLS; `many-keys`: a pool of 10,000; `many-sessions`: a million are bound.
 */
export type Setup = "plain" | "failover" | "tls" | "many-keys" | "many-sessions";

/** Where contenders find what they need. */
export interface Surroundings {
  readonly cores: Cores;
  /** An empty folder for what it writes. */
  readonly folder: string;
  readonly upstreamUrl: string;
  /** The same upstream, behind TLS; undefined where it could not be set up. */
  readonly tls: { readonly url: string; readonly certificate: string } | undefined;
  /** A port that nobody uses. */
  readonly freePort: () => Promise<number>;
  readonly node: string;
}

/** How requests are sent to a contender. */
export interface Address {
  readonly port: number;
  readonly path: string;
  readonly token: string;
  readonly headers: readonly string[];
}

/** What is started, as its users start it, with everything written that it reads at a start. */
export interface Prepared extends Address {
  readonly command: readonly string[];
  readonly env?: Readonly<Record<string, string>>;
  readonly cwd?: string;
}

export interface Contender {
  readonly name: string;
  /** For people. */
  readonly title: string;
  readonly setups: readonly Setup[];
  /** Sets it up. @throws if it cannot take part, with the reason */
  prepare(setup: Setup, surroundings: Surroundings): Promise<Prepared>;
  /** Its version, once it is there. */
  readonly version: () => string;
}

export const chatPath = "/v1/chat/completions";
/** Of requests; checked by those that check one. */
export const clientToken = "bench-token-0000000000000000";
/** Three keys, as every contender with keys gets them; invented. */
export const threeKeys = [
  { value: "sk-bench-A-0123456789abcdef0123456789abcdef", weight: 3 },
  { value: "sk-bench-B-0123456789abcdef0123456789abcdef", weight: 2 },
  { value: "sk-bench-C-0123456789abcdef0123456789abcdef", weight: 1 },
];
