import { collectDefaultMetrics, Counter, Gauge, Histogram, Registry } from "prom-client";
import { keyGaugesText, type KeyReading } from "./key-gauges.ts";
import { KeyTokens } from "./key-tokens.ts";
import type { AffinityReading, CountedEvent, MetricsOptions, Readings } from "./metrics.ts";
import { addTokens, type ProviderTally, type Tokens } from "./tally.ts";

/** From nothing that anybody would notice to a database that is waited for, seconds. */
const overheadBuckets = [0.0001, 0.00025, 0.0005, 0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 1, 5];

const affinityResults = ["hit", "moved", "unbound"] as const;
const keyStates = ["available", "cooling_down", "disabled", "unresolved"] as const;

/** From a cached answer to the longest thought of a model, seconds. */
const durationBuckets = [0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30, 60, 120, 300, 600];

/** The counters themselves. Loaded when they are needed; see `Metrics`. */
export class Instruments {
  readonly #options: MetricsOptions;
  readonly #registry = new Registry();
  readonly #requests = this.#counter("requests_total", "Requests of clients that have ended.", [
    "provider",
    "status",
    "error",
    "ending",
  ]);
  readonly #requestBytes = this.#counter("request_bytes_total", "Bytes of request bodies.", ["provider"]);
  readonly #responseBytes = this.#counter("response_bytes_total", "Bytes of response bodies.", ["provider"]);
  readonly #tokens = this.#counter(
    "tokens_total",
    "Tokens that answers told: input, cache_read, cache_write and output add up; reasoning is a part of output.",
    ["provider", "kind"],
  );
  readonly #attempts = this.#counter("attempts_total", "Attempts with a key, by their outcome.", [
    "provider",
    "key",
    "outcome",
  ]);
  readonly #cooldowns = this.#counter("key_cooldowns_total", "Cooldowns begun or extended.", [
    "provider",
    "key",
    "reason",
  ]);
  readonly #disablings = this.#counter("keys_disabled_total", "Keys disabled because the provider refused them.", [
    "provider",
    "key",
  ]);
  readonly #exhausted = this.#counter("pool_exhausted_total", "Requests for which no key was left.", ["provider"]);
  readonly #moved = this.#counter("bindings_moved_total", "Sessions that moved to another key.", ["provider"]);
  readonly #webhooks = this.#counter(
    "webhook_deliveries_total",
    "Attempts to tell a webhook, by event and outcome: delivered, retried, failed (given up), dropped (too many waited).",
    ["event", "outcome"],
  );
  readonly #choices = this.#counter(
    "key_choices_total",
    "Attempts with a key, by why it was chosen: its turn, the session or conversation that it serves, or an object it made.",
    ["provider", "key", "why"],
  );
  readonly #failovers = this.#counter("failovers_total", "Times that a request went on with another key.", [
    "provider",
  ]);
  readonly #affinity = this.#counter(
    "affinity_requests_total",
    "Requests that a session, a conversation or a stored object ties to a key: hit if that key served, moved if another one " +
      "had to, unbound if it is the first one, which has no key yet. The ratio of hits is hit / (hit + moved).",
    ["provider", "source", "result"],
  );
  readonly #affinityInput = this.#counter(
    "affinity_input_tokens_total",
    "Input tokens of these requests, as answers told them: what keeping a key is worth.",
    ["provider", "result", "kind"],
  );
  readonly #keyTokens = new KeyTokens();
  readonly #duration = this.#histogram("request_duration_seconds", "Time from a request to the end of its answer.");
  readonly #firstByte = this.#histogram("first_byte_seconds", "Time from a request to the head of its answer.");
  readonly #overhead = this.#histogram(
    "overhead_seconds",
    "What the gateway itself took of the time to the head of an answer: without the provider, and without the client's body.",
    overheadBuckets,
  );
  readonly #keys = this.#gauge("keys", "Keys by what they can do now.", ["provider", "status"]);
  readonly #running = this.#gauge("requests_running", "Requests of clients under way.");
  readonly #limit = this.#gauge("requests_limit", "Requests that may be under way at once.");
  readonly #refusedShare = this.#gauge("refused_share", "Part of new requests that is refused as too much, 0 to 1.");
  readonly #workers = this.#gauge(
    "workers",
    "Other processes of this gateway that serve requests; 0 without --workers.",
  );
  readonly #subscribers = this.#gauge("event_subscribers", "Pages that follow the events.");
  readonly #storeOk = this.#gauge("store_ok", "1 while the database can be written, else 0.");
  readonly #sharedStateOk = this.#gauge(
    "shared_state_ok",
    "1 while state is shared as it should be, 0 while Redis is away and this gateway decides alone.",
  );

  constructor(options: MetricsOptions) {
    this.#options = options;
    this.#gauge("info", "Always 1; the version is a label.", ["version"]).set({ version: options.version }, 1);
    collectDefaultMetrics({ register: this.#registry });
  }

  /** @param provider the slug of the event's provider */
  event(provider: string, event: CountedEvent): void {
    if (event.type === "key-cooled") this.#cooldowns.inc({ provider, key: event.keyId, reason: event.reason });
    else if (event.type === "key-disabled") this.#disablings.inc({ provider, key: event.keyId });
    else if (event.type === "pool-exhausted") this.#exhausted.inc({ provider });
    else this.#moved.inc({ provider });
  }

  webhook(event: string, outcome: string): void {
    this.#webhooks.inc({ event, outcome });
  }

  async text(): Promise<{ readonly contentType: string; readonly body: string }> {
    const readings = await this.#options.read();
    this.#set(readings);
    const general = await this.#registry.metrics();
    const ofKeys = `${await keyGaugesText(readings.keys)}${await this.#keyTokens.text()}`;
    return { contentType: this.#registry.contentType, body: `${general}\n${ofKeys}` };
  }

  #set({
    providers,
    keys,
    requestsRunning,
    requestsLimit,
    refusedShare,
    workers,
    eventSubscribers,
    storeOk,
    sharedStateOk,
    affinity,
  }: Readings): void {
    this.#setAffinity(affinity);
    // What a provider had that is gone by now must not stay.
    this.#keys.reset();
    for (const provider of providers) {
      for (const status of keyStates) this.#keys.set({ provider, status }, 0);
    }
    for (const { provider, status, count } of countStates(keys)) this.#keys.set({ provider, status }, count);
    this.#running.set(requestsRunning);
    this.#limit.set(requestsLimit);
    this.#refusedShare.set(refusedShare);
    this.#workers.set(workers);
    this.#subscribers.set(eventSubscribers);
    this.#storeOk.set(storeOk ? 1 : 0);
    this.#sharedStateOk.set(sharedStateOk ? 1 : 0);
  }

  /** They are counted where they are written down; here they are only given on. */
  #setAffinity(readings: readonly AffinityReading[]): void {
    this.#affinity.reset();
    this.#affinityInput.reset();
    for (const { provider, source, ...reading } of readings) {
      // Each result from 0 on: a ratio of which one part is missing is none.
      for (const result of affinityResults) this.#affinity.inc({ provider, source, result }, 0);
      const { result } = reading;
      this.#affinity.inc({ provider, source, result }, reading.requests);
      this.#affinityInput.inc({ provider, result, kind: "input" }, reading.inputTokens);
      this.#affinityInput.inc({ provider, result, kind: "cache_read" }, reading.cacheReadTokens);
      this.#affinityInput.inc({ provider, result, kind: "cache_write" }, reading.cacheWriteTokens);
    }
  }

  /** Counts what was tallied up. */
  count(tally: ProviderTally): void {
    const { provider } = tally;
    for (const { status, error, ending, count } of tally.requests.values())
      this.#requests.inc({ provider, status, error, ending }, count);
    for (const { key, outcome, why, count } of tally.attempts.values()) {
      this.#attempts.inc({ provider, key, outcome }, count);
      this.#choices.inc({ provider, key, why }, count);
    }
    this.#countCourses(tally);
    if (tally.requests.size > 0) {
      this.#requestBytes.inc({ provider }, tally.requestBytes);
      this.#responseBytes.inc({ provider }, tally.responseBytes);
    }
    if (tally.usages.size > 0) this.#countTokens(tally);
    for (const seconds of tally.durations) this.#duration.observe({ provider }, seconds);
    for (const seconds of tally.firstBytes) this.#firstByte.observe({ provider }, seconds);
    for (const seconds of tally.overheads) this.#overhead.observe({ provider }, seconds);
  }

  #countCourses({ provider, failovers, overheads }: ProviderTally): void {
    if (overheads.length > 0 || failovers > 0) this.#failovers.inc({ provider }, failovers);
  }

  #countTokens({ provider, usages }: ProviderTally): void {
    const sums = new Map<string, Tokens>();
    for (const [key, usage] of usages) {
      addTokens(sums, "", usage);
      if (key !== "") this.#keyTokens.add({ provider, key, usage });
    }
    const usage = sums.get("");
    if (usage === undefined) return;
    this.#tokens.inc({ provider, kind: "input" }, usage.inputTokens);
    this.#tokens.inc({ provider, kind: "cache_read" }, usage.cacheReadTokens);
    this.#tokens.inc({ provider, kind: "cache_write" }, usage.cacheWriteTokens);
    this.#tokens.inc({ provider, kind: "output" }, usage.outputTokens);
    this.#tokens.inc({ provider, kind: "reasoning" }, usage.reasoningTokens);
  }

  #counter<T extends string>(name: string, help: string, labelNames: readonly T[]): Counter<T> {
    return new Counter({ name: `keywheel_${name}`, help, labelNames, registers: [this.#registry] });
  }

  #gauge<T extends string>(name: string, help: string, labelNames: readonly T[] = []): Gauge<T> {
    return new Gauge({ name: `keywheel_${name}`, help, labelNames, registers: [this.#registry] });
  }

  #histogram(name: string, help: string, buckets = durationBuckets): Histogram<"provider"> {
    return new Histogram({
      name: `keywheel_${name}`,
      help,
      labelNames: ["provider"],
      buckets,
      registers: [this.#registry],
    });
  }
}

/** Looked up once a provider and state rather than once a key: each look-up in the library takes a microsecond or two. */
function countStates(keys: readonly KeyReading[]) {
  const counts = new Map<string, { readonly provider: string; readonly status: string; count: number }>();
  for (const { provider, state: status } of keys) {
    const name = `${provider} ${status}`;
    const known = counts.get(name);
    if (known === undefined) counts.set(name, { provider, status, count: 1 });
    else known.count++;
  }
  return [...counts.values()];
}
