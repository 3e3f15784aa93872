import {
  anthropicError,
  geminiError,
  type RecordedRequest,
  type Reply,
  reply,
  type RunningGateway,
  type ScriptedKind,
} from "@keywheel/testkit";
import { eventually, poolOf, type PooledProvider } from "../pooled-provider.ts";

/** The header in which a call carries its number, so that the provider knows a retry from a call of its own. */
export const callHeader = "x-test-call";

/** How often the provider fails, from 0 to 1. */
export interface Flaws {
  /** 429, of any call. */
  readonly limit?: number;
  /** 529, of any call. */
  readonly overload?: number;
  /** A 200 whose stream opens with an error. */
  readonly badOpening?: number;
  /** A reset of an idle connection at the first byte of the next request. */
  readonly reset?: number;
}

type Flaw = keyof Flaws;

/** One call of an SDK: made with a client that carries the number of the call. */
export type SdkCall<Client, Result> = (client: Client) => Promise<Result>;

export interface CallOptions {
  /** It names something that one key alone holds: where that key is limited, no other may stand in (contract §4 rule 11). */
  readonly pinned?: boolean;
  readonly stream?: boolean;
}

export interface FlakyPool<Client> extends AsyncDisposable {
  readonly pool: PooledProvider;
  /** How many calls were made. */
  readonly calls: number;
  /** How often the provider failed, and how. */
  readonly failed: Readonly<Record<Flaw, number>>;
  call<Result>(make: SdkCall<Client, Result>, options?: CallOptions): Promise<Result>;
  /** Several calls at once. */
  together(makes: readonly SdkCall<Client, unknown>[], options?: CallOptions): Promise<unknown>;
}

/**
 * Three keys of a provider that fails as the dice of `seed` fall, but never so that a call has no key left to go to: before
 * each round of calls it is asked how many keys are available, and in that round all of them but one may be limited. So an
 * error that reaches an SDK is the gateway's fault.
 *
 * Resets are those that a gateway can hide: of a connection that served before, at the first byte of the request, once for
 * each key that a call goes to.
 */
export async function flakyPool<Client>(
  gateway: RunningGateway,
  options: {
    readonly kind: ScriptedKind;
    readonly flaws: Flaws;
    readonly seed: number;
    readonly clientFor: (pool: PooledProvider, headers: Record<string, string>) => Client;
  },
): Promise<FlakyPool<Client>> {
  const { kind, clientFor } = options;
  const settings = { cooldown: { base_ms: 100, cap_ms: 100 } };
  const pool = await poolOf(gateway, { kind, weights: [1, 1, 1], settings });
  const dice = new Dice(options.flaws, randomOf(options.seed));
  for (const flaw of Object.keys(answers) as Flaw[]) {
    const answer = answers[flaw](kind);
    pool.provider.on({ where: (request) => dice.fall(request) === flaw }).always(answer);
  }
  let calls = 0;

  async function round(makes: readonly SdkCall<Client, unknown>[], { pinned = false, stream = false }: CallOptions) {
    const wanted = pinned ? 3 : 2;
    const available = await eventually(
      async () => (await gateway.keys(pool.record)).filter((key) => key.status === "available").length,
      (count) => count >= wanted,
      { what: `${wanted} keys to be available` },
    );
    dice.beginRound(pinned ? 0 : available - 1);
    return Promise.all(
      makes.map((make) => make(clientFor(pool, { [callHeader]: `${++calls}${stream ? "-stream" : ""}` }))),
    );
  }

  return {
    pool,
    get calls() {
      return calls;
    },
    failed: dice.fallen,
    async call<Result>(make: SdkCall<Client, Result>, callOptions: CallOptions = {}) {
      const [result] = await round([make], callOptions);
      return result as Result;
    },
    together: (makes, callOptions = {}) => round(makes, callOptions),
    [Symbol.asyncDispose]: () => pool[Symbol.asyncDispose](),
  };
}

/** Decides for each request, once, whether and how it fails. */
class Dice {
  readonly fallen: Record<Flaw, number> = { limit: 0, overload: 0, badOpening: 0, reset: 0 };
  readonly #flaws: Flaws;
  readonly #random: () => number;
  readonly #decided = new WeakMap<RecordedRequest, Flaw | "none">();
  readonly #usedConnections = new Set<number>();
  readonly #resetOnce = new Set<string>();
  #limited = new Set<string | undefined>();
  #mayLimit = 0;

  constructor(flaws: Flaws, random: () => number) {
    this.#flaws = flaws;
    this.#random = random;
  }

  /** @param mayLimit how many keys may be limited until the next round */
  beginRound(mayLimit: number): void {
    this.#limited = new Set();
    this.#mayLimit = mayLimit;
  }

  fall(request: RecordedRequest): Flaw | "none" {
    const known = this.#decided.get(request);
    if (known !== undefined) return known;
    const flaw = this.#decide(request);
    this.#decided.set(request, flaw);
    this.#usedConnections.add(request.connectionId);
    if (flaw !== "none") this.fallen[flaw]++;
    return flaw;
  }

  #decide(request: RecordedRequest): Flaw | "none" {
    const { limit = 0, overload = 0, badOpening = 0, reset = 0 } = this.#flaws;
    const call = request.header(callHeader);
    const attempt = `${call} ${request.key}`;
    const rolled = { reset: this.#random(), limit: this.#random(), overload: this.#random(), opening: this.#random() };
    const isReused = this.#usedConnections.has(request.connectionId);
    if (call !== undefined && isReused && rolled.reset < reset && !this.#resetOnce.has(attempt)) {
      this.#resetOnce.add(attempt);
      return "reset";
    }
    // The second part of an upload goes to the key that has the first.
    const isPinned = call === undefined || request.query.has("upload_id");
    if (isPinned || new Set([...this.#limited, request.key]).size > this.#mayLimit) return "none";
    const flaw = this.#cooling(rolled, { limit, overload, badOpening }, call.endsWith("-stream"));
    if (flaw !== "none") this.#limited.add(request.key);
    return flaw;
  }

  #cooling(
    rolled: { readonly limit: number; readonly overload: number; readonly opening: number },
    flaws: Required<Omit<Flaws, "reset">>,
    isStream: boolean,
  ): Flaw | "none" {
    if (rolled.limit < flaws.limit) return "limit";
    if (rolled.overload < flaws.overload) return "overload";
    return isStream && rolled.opening < flaws.badOpening ? "badOpening" : "none";
  }
}

/** Mulberry32: the same row of numbers in every run. */
function randomOf(seed: number): () => number {
  let state = seed;
  return () => {
    state = (state + 0x6d2b79f5) | 0;
    let mixed = Math.imul(state ^ (state >>> 15), 1 | state);
    mixed = (mixed + Math.imul(mixed ^ (mixed >>> 7), 61 | mixed)) ^ mixed;
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 4_294_967_296;
  };
}

const answers: Record<Flaw, (kind: ScriptedKind) => Reply> = {
  limit(kind) {
    if (kind === "anthropic") return anthropicError(429, "rate_limit_error", "Slow down");
    if (kind === "gemini") return geminiError(429, "RESOURCE_EXHAUSTED", "Slow down");
    return reply.json(429, {}, { error: { message: "Slow down", type: "requests", code: "rate_limit_exceeded" } });
  },
  overload: (kind) =>
    kind === "anthropic" ? anthropicError(529, "overloaded_error", "Overloaded") : reply.status(529),
  badOpening(kind) {
    if (kind === "anthropic") {
      const error = { type: "overloaded_error", message: "Overloaded" };
      return reply.sse([
        { event: "ping", data: { type: "ping" } },
        { event: "error", data: { type: "error", error } },
      ]);
    }
    const code = kind === "gemini" ? { code: 429, status: "RESOURCE_EXHAUSTED" } : { code: "rate_limit_exceeded" };
    return reply.sse([": one moment\n\n", { data: { error: { message: "Slow down", ...code } } }]);
  },
  reset: () => ({ ...reply.cutBeforeHeaders("rst"), readsBody: false }),
};
