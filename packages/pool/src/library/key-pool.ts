import type { KeyStatus, ShownReason } from "../key-status.ts";
import type { PoolEvent } from "../ports/events.ts";
import type { EpochMs } from "../rules/time.ts";
import type { PoolEventOf } from "./listeners.ts";
import type { KeyOptions, PoolOptions } from "./options.ts";
import { RunningPool } from "./running-pool.ts";
import type { PoolSnapshot } from "./snapshot.ts";

/** A key as people see it. It holds no secret. */
export interface KeyView {
  readonly id: string;
  readonly label: string;
  /** The value masked (`sk-…9f2c`), or `$NAME`. */
  readonly masked: string;
  readonly weight: number;
  /** The name of the keys that share its limits; "" for a key by itself. */
  readonly group: string;
  readonly status: KeyStatus;
  /** Why it is not available, or its last failure until a success or a reset. */
  readonly reason: ShownReason | null;
  /** The end of a running cooldown, epoch ms. */
  readonly cooldownUntil: EpochMs | null;
  readonly consecutiveFailures: number;
  readonly boundSessions: number;
}

/**
 * The keys of one provider, and a `fetch` that uses them.
 *
 * A request goes out with the key whose turn it is, or with the key of its session. A key that is limited (429, 529) rests and
 * the request goes on with the next one; a key that is refused (401, 403) is out until `reset` or a new value. Whoever asked
 * sees the answer that came of it, or, with no key left, an error in the provider's own shape.
 */
export interface KeyPool extends AsyncDisposable {
  /** What it is called in events. */
  readonly name: string;

  /**
   * A `fetch` for the `fetch` option of an SDK, or for calls of one's own.
   *
   * Credentials that the SDK puts into the request are taken out; what it was given as its API key does not matter.
   *
   * @param session names what shall stay with one key, such as a chat; default: what the request itself tells (the header
   *   `x-keywheel-session`, headers and fields that clients use for it, the conversation that it continues)
   *
   * @example A call of one's own, that stays with one key
   * ```ts
   * import { createPool, providers } from "@keywheel/pool";
   *
   * const pool = createPool({ provider: providers.openai, keys: ["$OPENAI_KEY_1", "$OPENAI_KEY_2"] });
   * const response = await pool.fetch("chat-42")("https://api.openai.com/v1/chat/completions", {
   *   method: "POST",
   *   headers: { "content-type": "application/json" },
   *   body: JSON.stringify({ model: "gpt-5-mini", messages: [{ role: "user", content: "Hello" }] }),
   *   signal: AbortSignal.timeout(60_000),
   * });
   * console.log(response.status, response.headers.get("x-keywheel-key"));
   * ```
   */
  fetch(session?: string): typeof globalThis.fetch;

  /** How the keys stand now, in the order of the wheel. */
  keys(): Promise<readonly KeyView[]>;
  /**
   * Replaces the keys. Those that stay, by id and value, keep cooldowns, counts and sessions; running requests end as they began.
   *
   * @throws KeywheelError `validation_failed`, and nothing is changed
   */
  setKeys(keys: readonly (string | KeyOptions)[]): Promise<void>;
  /** Clears cooldown, failure count and refusal of a key. @returns false if there is no such key */
  reset(keyId: string): Promise<boolean>;
  /** The ids of the keys that serve the next `count` turns, taking none. */
  preview(count: number): Promise<readonly string[]>;
  /** Lets go of a session that was named with `fetch(session)` or the header. @returns whether it was known */
  endSession(session: string): Promise<boolean>;

  /**
   * Calls back on what happens. Listeners are called at once, on the way of the request; what one throws is reported as an
   * uncaught error and harms no request.
   *
   * @example
   * ```ts
   * import { createPool, providers } from "@keywheel/pool";
   *
   * const pool = createPool({ provider: providers.openai, keys: ["$OPENAI_KEY_1", "$OPENAI_KEY_2"] });
   * const stop = pool.on("key-disabled", ({ keyId, reason, at }) => console.error(keyId, reason, new Date(at)));
   * stop();
   * ```
   *
   * @returns how to stop it
   */
  on<Type extends PoolEvent["type"]>(type: Type, listener: (event: PoolEventOf<Type>) => void): () => void;

  /** Where everything stands, as plain data without secrets. Sessions are in it unless the pool has a `state` of its own. */
  snapshot(): Promise<PoolSnapshot>;
  /**
   * Takes up a snapshot. Keys are found by id, and only if their value is still the same; what the snapshot does not know
   * stays as it is.
   *
   * @example
   * ```ts
   * import { createPool, providers } from "@keywheel/pool";
   *
   * const options = { provider: providers.openai, keys: ["$OPENAI_KEY_1", "$OPENAI_KEY_2"] };
   * const before = createPool(options);
   * const text = JSON.stringify(await before.snapshot());
   *
   * const after = createPool(options);
   * await after.restore(JSON.parse(text));
   * ```
   *
   * @throws KeywheelError `validation_failed` if it is no snapshot
   */
  restore(snapshot: PoolSnapshot): Promise<void>;

  /**
   * Saves what is to be saved and takes no more requests; those that run end as they would. May be called twice. The same as
   * `await using`.
   */
  close(): Promise<void>;
}

/**
 * Makes a pool of API keys of one provider.
 *
 * Nothing is sent, and nothing has to be waited for: requests wait themselves for a store that is still being read.
 *
 * @example With an SDK
 * ```ts
 * import { createPool, providers } from "@keywheel/pool";
 * import OpenAI from "openai";
 *
 * const pool = createPool({ provider: providers.openai, keys: ["$OPENAI_KEY_1", "$OPENAI_KEY_2", "$OPENAI_KEY_3"] });
 * const client = new OpenAI({ apiKey: "pool", fetch: pool.fetch() });
 * const models = await client.models.list();
 * console.log(models.data.map(({ id }) => id));
 * ```
 *
 * @example With weights, rules of its own and a server of one's own
 * ```ts
 * import { createPool, providers } from "@keywheel/pool";
 *
 * await using pool = createPool({
 *   provider: providers.openaiCompatible({ name: "My vLLM", baseURL: "http://localhost:8000/v1" }),
 *   keys: [{ apiKey: "$OPENAI_KEY_1", label: "Large", weight: 3 }, "$OPENAI_KEY_2"],
 *   cooldown: { baseMs: 10_000, capMs: 60_000, scope: "model" },
 *   retry: { providerErrors: 1 },
 * });
 * console.log(await pool.preview(4));
 * ```
 * @throws KeywheelError `validation_failed` that names every option that is wrong
 */
export function createPool(options: PoolOptions): KeyPool {
  return new RunningPool(options);
}
