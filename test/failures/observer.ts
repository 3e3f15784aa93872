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
import { type PooledProvider, storedKey } from "../pooled-provider.ts";

/** The header in which a client's request carries its number. */
export const callHeader = "x-test-call";

/** Epoch ms with fractions, on a clock that never steps back. */
export function now(): number {
  return performance.timeOrigin + performance.now();
}

type OpenAttempt = { -readonly [Name in keyof AttemptEntry]?: AttemptEntry[Name] };

/** Writes down what clients, provider and operator see of a pool, for `violationsOf`. */
export class Observer {
  readonly #gateway: RunningGateway;
  readonly #pool: PooledProvider;
  readonly #policy: History["policy"];
  /** Which key holds or held a value. */
  readonly #keyOfValue = new Map<string, string>();
  readonly #attempts = new Map<string, OpenAttempt[]>();
  readonly #calls: Omit<CallEntry, "attempts">[] = [];
  readonly #changes: ChangeEntry[] = [];
  readonly #snapshots: SnapshotEntry[] = [];
  readonly #events: KeyEventEntry[] = [];
  readonly #leaving = new AbortController();
  #listening: Promise<void> = Promise.resolve();

  constructor(gateway: RunningGateway, pool: PooledProvider, policy: History["policy"]) {
    this.#gateway = gateway;
    this.#pool = pool;
    this.#policy = policy;
    for (const [at, key] of pool.keys.entries()) this.#keyOfValue.set(pool.values[at] ?? "", key.id);
  }

  get history(): History {
    const calls = this.#calls.map((call) => ({
      ...call,
      attempts: (this.#attempts.get(call.id) ?? []).map(closed),
    }));
    return {
      policy: this.#policy,
      calls,
      changes: this.#changes,
      snapshots: this.#snapshots,
      events: this.#events,
    };
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
      ...(previous?.answer?.kind === "refused" ? { previousStored: this.#stored(previous.keyId ?? "") } : {}),
    };
    attempts.push(attempt);
    return (answer) => (attempt.answer = { ...answer, at: now() });
  }

  /** Sends a client's request and reads its answer to the end. */
  async call(id: string, init: Parameters<PooledProvider["send"]>[0]): Promise<void> {
    const sentAt = now();
    let status: number | undefined;
    let ownError: string | undefined;
    try {
      const response = await this.#pool.send({ ...init, headers: { ...init?.headers, [callHeader]: id } });
      status = response.status;
      ownError = response.headers.get("x-keywheel-error") ?? undefined;
      await response.arrayBuffer();
    } catch (error) {
      // A provider that breaks its stream off breaks the client's: `fetch` calls that a TypeError.
      if (!(error instanceof TypeError)) throw error;
    }
    this.#calls.push({ id, sentAt, endedAt: now(), status, ownError });
  }

  /** Changes a key through the API. */
  async change(kind: ChangeEntry["kind"], keyId: string, method: string, path: string, body?: object): Promise<void> {
    const value = body !== undefined && "api_key" in body ? String(body.api_key) : undefined;
    if (value !== undefined) this.#keyOfValue.set(value, keyId);
    const beganAt = now();
    await this.#gateway.api(method, path, body);
    this.#changes.push({ kind, keyId, beganAt, returnedAt: now(), ...(value === undefined ? {} : { value }) });
  }

  /** Adds a key. @returns its id */
  async add(value: string): Promise<string> {
    const beganAt = now();
    const [key] = await this.#gateway.addKeys(this.#pool.record, [value]);
    if (key === undefined) throw new Error("no key was added");
    this.#keyOfValue.set(value, key.id);
    this.#changes.push({ kind: "add", keyId: key.id, beganAt, returnedAt: now(), value });
    return key.id;
  }

  async snapshot(): Promise<SnapshotEntry> {
    const beganAt = now();
    const keys = await this.#gateway.keys(this.#pool.record);
    const snapshot = {
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

  /** Listens to the gateway's events until `close`. */
  async listen(): Promise<void> {
    const response = await fetch(`${this.#gateway.url}/api/events`, {
      headers: { authorization: `Bearer ${this.#gateway.adminToken}` },
      signal: this.#leaving.signal,
    });
    this.#listening = this.#read(response).catch((error: unknown) => {
      if (!this.#leaving.signal.aborted) throw error;
    });
  }

  async close(): Promise<void> {
    this.#leaving.abort();
    await this.#listening;
  }

  async #read(response: Response): Promise<void> {
    let text = "";
    const decoder = new TextDecoder();
    for await (const bytes of response.body ?? []) {
      text += decoder.decode(bytes, { stream: true });
      const blocks = text.split("\n\n");
      text = blocks.pop() ?? "";
      for (const block of blocks) this.#hear(block);
    }
  }

  #hear(block: string): void {
    const data = block.split("\n").find((line) => line.startsWith("data:"));
    if (data === undefined) return;
    const event = JSON.parse(data.slice(5)) as Record<string, string | number>;
    const { type, key_id: keyId, at, failures, until } = event;
    if (type !== "key-cooled" && type !== "key-disabled" && type !== "key-recovered") return;
    this.#events.push({
      type,
      keyId: String(keyId),
      at: Date.parse(String(at)),
      ...(failures === undefined ? {} : { failures: Number(failures) }),
      ...(until === undefined ? {} : { until: Date.parse(String(until)) }),
    });
  }

  #stored(keyId: string): "on" | "off" | "gone" {
    try {
      return storedKey(this.#gateway, keyId).enabled === 1 ? "on" : "off";
    } catch {
      // There is no row: the operator has deleted the key meanwhile.
      return "gone";
    }
  }
}

function closed({ keyId, value, arrivedAt, answer, ...rest }: OpenAttempt): AttemptEntry {
  if (keyId === undefined || value === undefined || arrivedAt === undefined || answer === undefined) {
    throw new Error(`an attempt with the key ${keyId} was never answered`);
  }
  return { keyId, value, arrivedAt, answer, ...rest };
}
