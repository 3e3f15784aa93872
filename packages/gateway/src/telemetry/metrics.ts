import type { PoolEvent, Usage } from "@keywheel/pool";
import type { Instruments } from "./instruments.ts";

/** A request that has ended, as far as it is counted. */
export interface ServedRequest {
  readonly providerId?: string | undefined;
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
}

/** What is looked up when somebody asks, rather than counted as it happens. */
export interface Readings {
  /** Keys by provider and status. */
  readonly keys: readonly { readonly provider: string; readonly status: string; readonly count: number }[];
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

/** What happened before the library was there; more than this is dropped. */
const mostPending = 10_000;

/**
 * What is counted while the gateway runs, in the words of Prometheus. Labels are slugs, key ids, codes and statuses:
 * nothing that a client chooses, and no secret.
 *
 * The library behind it is loaded after the start and takes up what happened until then: it would be a fifth of the time
 * to the first answer.
 */
export class Metrics {
  readonly #options: MetricsOptions;
  #instruments: Instruments | undefined;
  #pending: ((instruments: Instruments) => void)[] = [];
  #loading: Promise<Instruments> | undefined;

  constructor(options: MetricsOptions) {
    this.#options = options;
  }

  /** Loads what counts. May be called twice. */
  load(): Promise<Instruments> {
    this.#loading ??= import("./instruments.ts").then(({ Instruments: Loaded }) => {
      const instruments = new Loaded(this.#options);
      this.#instruments = instruments;
      for (const record of this.#pending.splice(0)) record(instruments);
      return instruments;
    });
    return this.#loading;
  }

  /** Counts an event of the pools. Never throws. */
  event(event: PoolEvent): void {
    this.#record((instruments) => instruments.event(event));
  }

  /** Counts a request that has ended. Never throws. */
  request(record: ServedRequest): void {
    this.#record((instruments) => instruments.request(record));
  }

  /** What Prometheus asks for. */
  async text(): Promise<{ readonly contentType: string; readonly body: string }> {
    return (await this.load()).text();
  }

  #record(record: (instruments: Instruments) => void): void {
    if (this.#instruments !== undefined) record(this.#instruments);
    else if (this.#pending.length < mostPending) this.#pending.push(record);
  }
}
