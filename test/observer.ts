import { setTimeout as sleep } from "node:timers/promises";
import type {
  AnswerEntry,
  AttemptEntry,
  CallEntry,
  ChangeEntry,
  History,
  KeyEventEntry,
  RecordedRequest,
  RunningGateway,
  SnapshotEntry,
} from "@keywheel/testkit";
import type { CallInit, PooledProvider } from "./pooled-provider.ts";

/** The header in which a client's request carries its number. */
export const callHeader = "x-test-call";

/** Epoch ms with fractions, on a clock that never steps back. */
export function now(): number {
  return performance.timeOrigin + performance.now();
}

type OpenAttempt = { -readonly [Name in keyof AttemptEntry]?: AttemptEntry[Name] };

type Stored = NonNullable<AttemptEntry["previousStored"]>;

export interface ObserverOptions {
  /** In the history each goes by its place in this row. */
  readonly gateways: readonly RunningGateway[];
  readonly pool: PooledProvider;
  readonly policy: History["policy"];
  /** Whether a key is on in the database just now; undefined where that cannot be told. */
  readonly stored: (keyId: string) => Stored | undefined | Promise<Stored | undefined>;
}

/** Writes down what clients, provider and operator see of a pool, for `violationsOf`. */
export class Observer {
  readonly #options: ObserverOptions;
  /** Which key holds or held a value. */
  readonly #keyOfValue = new Map<string, string>();
  readonly #attempts = new Map<string, OpenAttempt[]>();
  readonly #calls: Omit<CallEntry, "attempts">[] = [];
  readonly #changes: ChangeEntry[] = [];
  readonly #snapshots: SnapshotEntry[] = [];
  readonly #events: KeyEventEntry[] = [];
  readonly #leaving = new AbortController();
  readonly #listening: Promise<void>[] = [];

  constructor(options: ObserverOptions) {
    this.#options = options;
    const { keys, values } = options.pool;
    for (const [at, key] of keys.entries()) this.#keyOfValue.set(values[at] ?? "", key.id);
  }

  /** @param told what only the one who makes the history knows */
  historyWith(told: Pick<History, "absences" | "rounds" | "stored">): History {
    const calls = this.#calls.map((call) => ({
      ...call,
      attempts: (this.#attempts.get(call.id) ?? []).map(closed),
    }));
    return {
      policy: this.#options.policy,
      calls,
      changes: this.#changes,
      snapshots: this.#snapshots,
      events: this.#events,
      ...told,
    };
  }

  get history(): History {
    return this.historyWith({});
  }

  /** A request reached the provider. @returns how to say what it was answered */
  arrived(request: RecordedRequest): (answer: Omit<AnswerEntry, "at">) => void {
    const call = request.header(callHeader) ?? "";
    const value = request.key ?? "";
    const attempts = this.#attempts.get(call) ?? [];
    this.#attempts.set(call, attempts);
    const previous = attempts.at(-1);
    const attempt: OpenAttempt = {
      keyId: this.#keyOfValue.get(value) ?? `unknown value ${value}`,
      value,
      arrivedAt: performance.timeOrigin + request.beganAt,
    };
    attempts.push(attempt);
    if (previous?.answer?.kind === "refused") void this.#look(attempt, previous.keyId ?? "");
    return (answer) => (attempt.answer = { ...answer, at: now() });
  }

  /** Sends a client's request and reads its answer to the end. @returns the status, if there was one */
  async call(id: string, init: CallInit, instance = 0): Promise<number | undefined> {
    const sentAt = now();
    const { session } = init;
    const through = this.#gateway(instance);
    let status: number | undefined;
    let ownError: string | undefined;
    try {
      const headers = { ...init.headers, [callHeader]: id };
      const response = await this.#options.pool.send({ ...init, headers, through });
      status = response.status;
      ownError = response.headers.get("x-keywheel-error") ?? undefined;
      await response.arrayBuffer();
    } catch (error) {
      // A provider that breaks its stream off breaks the client's: `fetch` calls that a TypeError.
      if (!(error instanceof TypeError)) throw error;
    }
    const named = session === undefined ? {} : { session };
    this.#calls.push({ id, instance, sentAt, endedAt: now(), status, ownError, ...named });
    return status;
  }

  /** Changes a key through the API. @throws what the API throws; in the history the change may then have been made */
  async change(
    kind: ChangeEntry["kind"],
    keyId: string,
    [method, path, body]: readonly [method: string, path: string, body?: object],
    instance = 0,
  ): Promise<void> {
    const value = body !== undefined && "api_key" in body ? String(body.api_key) : undefined;
    if (value !== undefined) this.#keyOfValue.set(value, keyId);
    const beganAt = now();
    let returnedAt = Infinity;
    try {
      await this.#gateway(instance).api(method, path, body);
      returnedAt = now();
    } finally {
      const given = value === undefined ? {} : { value };
      this.#changes.push({ kind, keyId, instance, beganAt, returnedAt, ...given });
    }
  }

  /** Adds a key. @returns its id */
  async add(value: string): Promise<string> {
    const beganAt = now();
    const [key] = await this.#gateway(0).addKeys(this.#options.pool.record, [value]);
    if (key === undefined) throw new Error("no key was added");
    this.#keyOfValue.set(value, key.id);
    this.#changes.push({ kind: "add", keyId: key.id, beganAt, returnedAt: now(), value });
    return key.id;
  }

  async snapshot(instance = 0): Promise<SnapshotEntry> {
    const beganAt = now();
    const keys = await this.#gateway(instance).keys(this.#options.pool.record);
    const snapshot = {
      instance,
      beganAt,
      returnedAt: now(),
      keys: keys.map((key) => ({
        id: key.id,
        status: key.status,
        reason: key.status_reason?.code,
        failures: key.consecutive_failures,
        cooldownUntil: key.cooldown_until === null ? undefined : Date.parse(key.cooldown_until),
      })),
    };
    this.#snapshots.push(snapshot);
    return snapshot;
  }

  /** Listens to a gateway's events until `close`, or until its process ends. */
  async listen(instance = 0): Promise<void> {
    const gateway = this.#gateway(instance);
    const response = await fetch(`${gateway.url}/api/events`, {
      headers: { authorization: `Bearer ${gateway.adminToken}` },
      signal: this.#leaving.signal,
    });
    const reading = this.#read(response, instance).catch(async (error: unknown) => {
      if (this.#leaving.signal.aborted) return;
      // The connections of a process break a moment before it is known to have ended.
      await sleep(200);
      if (gateway.isRunning) throw error;
    });
    this.#listening.push(reading);
  }

  async close(): Promise<void> {
    this.#leaving.abort();
    await Promise.all(this.#listening);
  }

  #gateway(instance: number): RunningGateway {
    const gateway = this.#options.gateways[instance];
    if (gateway === undefined) throw new Error(`there is no gateway ${instance}`);
    return gateway;
  }

  async #look(attempt: OpenAttempt, keyId: string): Promise<void> {
    const looked = this.#options.stored(keyId);
    const stored = looked instanceof Promise ? await looked : looked;
    if (stored !== undefined) attempt.previousStored = stored;
  }

  async #read(response: Response, instance: number): Promise<void> {
    let text = "";
    const decoder = new TextDecoder();
    for await (const bytes of response.body ?? []) {
      text += decoder.decode(bytes, { stream: true });
      const blocks = text.split("\n\n");
      text = blocks.pop() ?? "";
      for (const block of blocks) this.#hear(block, instance);
    }
  }

  #hear(block: string, instance: number): void {
    const data = block.split("\n").find((line) => line.startsWith("data:"));
    if (data === undefined) return;
    const event = JSON.parse(data.slice(5)) as Record<string, string | number>;
    const { type, key_id: keyId, at, failures, until } = event;
    if (type !== "key-cooled" && type !== "key-disabled" && type !== "key-recovered") return;
    if (event["provider_id"] !== this.#options.pool.record.id) return;
    this.#events.push({
      instance,
      type,
      keyId: String(keyId),
      at: Date.parse(String(at)),
      ...(failures === undefined ? {} : { failures: Number(failures) }),
      ...(until === undefined ? {} : { until: Date.parse(String(until)) }),
    });
  }
}

function closed({ keyId, value, arrivedAt, answer, ...rest }: OpenAttempt): AttemptEntry {
  if (keyId === undefined || value === undefined || arrivedAt === undefined || answer === undefined) {
    throw new Error(`an attempt with the key ${keyId} was never answered`);
  }
  return { keyId, value, arrivedAt, answer, ...rest };
}
