import type { AttemptRecord, PoolEvent, Usage } from "@keywheel/pool";
import type { Instruments } from "./instruments.ts";
import type { KeyReading } from "./key-gauges.ts";
import { Tally } from "./tally.ts";

/** A request that has ended, as far as it is counted. */
export interface ServedRequest {
  readonly providerId?: string | undefined;
  /** The key that its answer came from, if any. */
  readonly keyId?: string | undefined;
  /** 0 if the client left before it got anything. */
  readonly status: number;
  /** The code of an error of our own. */
  readonly error?: string | undefined;
  readonly ending: string;
  readonly durationMs: number;
  readonly firstByteMs?: number | undefined;
  readonly requestBytes: number;
  readonly responseBytes?: number | undefined;
  /** What the answer cost, if it told. */
  readonly usage?: Usage | undefined;
  readonly attempts?: readonly AttemptRecord[];
  /** How long the client's body was waited for, ms. */
  readonly bodyMs?: number | undefined;
}

/** Whether a request was served by the key that it belongs to; `unbound` if it was the first one and belongs to none yet. */
export type AffinityResult = "hit" | "moved" | "unbound";

/** Requests of one provider that a session, a conversation or an object tied to a key. They only grow. */
export interface AffinityReading {
  /** Its slug. */
  readonly provider: string;
  readonly source: string;
  readonly result: AffinityResult;
  readonly requests: number;
  readonly inputTokens: number;
  readonly cacheReadTokens: number;
  readonly cacheWriteTokens: number;
}

/** What is looked up when somebody asks, rather than counted as it happens. */
export interface Readings {
  /** Slugs of providers, those without keys included. */
  readonly providers: readonly string[];
  readonly keys: readonly KeyReading[];
  /** What became of affinity since the process began. */
  readonly affinity: readonly AffinityReading[];
  readonly requestsRunning: number;
  /** How many there may be at once. */
  readonly requestsLimit: number;
  /** What part of new requests is refused as too much, 0 to 1. */
  readonly refusedShare: number;
  /** Other processes that serve the data plane. */
  readonly workers: number;
  readonly eventSubscribers: number;
  /** Whether the database can be written. */
  readonly storeOk: boolean;
  /** Whether state is shared with other gateways as it should be. */
  readonly sharedStateOk: boolean;
}

export interface MetricsOptions {
  readonly version: string;
  /** The slug of a provider, for the labels. */
  readonly slugOf: (providerId: string) => string | undefined;
  readonly read: () => Promise<Readings>;
}

/** What waits for the library to be loaded; more than this is dropped. */
const mostPending = 10_000;
const noProvider = "";

/**
 * What is counted while the gateway runs, in the words of Prometheus. Labels are slugs, key ids, codes and statuses:
 * nothing that a client chooses, and no secret.
 *
 * The library behind it is loaded when it is first needed: it would be a fifth of the time to the first answer, and a gateway
 * that nobody asks and that serves little has no use for it.
 */
export class Metrics {
  readonly #options: MetricsOptions;
  readonly #tally: Tally;
  #instruments: Instruments | undefined;
  #pending: ((instruments: Instruments) => void)[] = [];
  #loading: Promise<Instruments> | undefined;

  constructor(options: MetricsOptions) {
    this.#options = options;
    this.#tally = new Tally(
      (id) => this.#slug(id),
      (tally) => this.#record((instruments) => instruments.count(tally)),
    );
  }

  /** Counts an event of the pools. Never throws. */
  event(event: PoolEvent): void {
    if (event.type === "attempt-ended") this.#tally.attempt(event.poolId, event.attempt);
    else if (isCounted(event)) {
      // By its name of now: it may be gone when the library is there.
      const provider = this.#slug(event.poolId);
      this.#record((instruments) => instruments.event(provider, event));
    }
  }

  /** Counts a request that has ended. Never throws. */
  request(record: ServedRequest): void {
    this.#tally.request(record);
  }

  /** Counts an attempt to tell a webhook. Never throws. */
  webhook(type: string, outcome: string): void {
    this.#record((instruments) => instruments.webhook(type, outcome));
  }

  /** What Prometheus asks for. */
  async text(): Promise<{ readonly contentType: string; readonly body: string }> {
    const instruments = await this.#load();
    this.#tally.handOver();
    return await instruments.text();
  }

  #record(record: (instruments: Instruments) => void): void {
    if (this.#instruments !== undefined) return record(this.#instruments);
    if (this.#pending.length < mostPending) this.#pending.push(record);
    void this.#load();
  }

  #load(): Promise<Instruments> {
    this.#loading ??= import("./instruments.ts").then(({ Instruments: Loaded }) => {
      const instruments = new Loaded(this.#options);
      this.#instruments = instruments;
      for (const record of this.#pending.splice(0)) record(instruments);
      return instruments;
    });
    return this.#loading;
  }

  /** Empty where a request named no provider that there is: its slug is the client's word and may be anything. */
  #slug(providerId: string | undefined): string {
    return providerId === undefined ? noProvider : (this.#options.slugOf(providerId) ?? noProvider);
  }
}

const counted = ["key-cooled", "key-disabled", "pool-exhausted", "binding-moved"] as const;

/** An event with a counter of its own. */
export type CountedEvent = Extract<PoolEvent, { readonly type: (typeof counted)[number] }>;

function isCounted(event: PoolEvent): event is CountedEvent {
  return counted.some((type) => type === event.type);
}
