import { type FieldError, PoolError } from "../errors.ts";
import type { Clock } from "../ports/clock.ts";
import type { Journal } from "../ports/journal.ts";
import { defaultAffinity, type PoolState, type StatePolicy } from "../ports/shared-state.ts";
import type { Provider } from "../providers/presets.ts";
import { defaultCooldownPolicy } from "../rules/cooldown.ts";
import type { DurationMs } from "../rules/time.ts";
import type { PoolStore } from "./snapshot.ts";

/** A key with what may be said about it. A plain string is a key with nothing said. */
export interface KeyOptions {
  /**
   * The key itself, or `$NAME` for an environment variable that holds it, which is looked up when the pool is made and whenever
   * `setKeys` is called.
   */
  readonly apiKey: string;
  /**
   * What the key is called in events, snapshots and errors; default: its mask (`sk-…9f2c`). Give one to keep a key's name over
   * a change of its value.
   */
  readonly id?: string;
  /** For people; default "". */
  readonly label?: string;
  /** Its share of the turns: an integer from 1 to 100, default 1. */
  readonly weight?: number;
  /** False: it is held, but takes no turns. Default true. */
  readonly enabled?: boolean;
  /**
   * A name of your own for keys that share their limits, as keys of one organization or project do: a limit (429, a spent
   * quota) that one of them meets rests them all, so that none is asked in vain. At most 100 characters; default "", by itself.
   *
   * @see `KeyView.reason`, whose `sharedFrom` names the key whose limit it was
   */
  readonly group?: string;
}

/** How long failures rest a key. @see contract §4 rule 2 */
export interface CooldownOptions {
  /** After the first failure, ms; each further one doubles it. 100 to 86,400,000, default 60,000. */
  readonly baseMs?: DurationMs;
  /** The longest rest, ms; also of a wait that the provider names. At least `baseMs`, at most 86,400,000, default 900,000. */
  readonly capMs?: DurationMs;
  /** What a limit rests that is proven to be one model's: the whole key (default), or the key for that model alone. */
  readonly scope?: "key" | "model";
}

/** Whether sessions keep their key. */
export interface AffinityOptions {
  /** Default true. */
  readonly enabled?: boolean;
  /** A session that is not used for so long is forgotten, ms; default 86,400,000 (a day). */
  readonly idleTtlMs?: DurationMs;
}

export interface PoolOptions {
  /** Whose keys these are: one of `providers`, or what `providers.openaiCompatible` and its kin make. */
  readonly provider: Provider;
  /** The keys, in the order of the wheel. */
  readonly keys: readonly (string | KeyOptions)[];
  /**
   * Where the keys may be sent besides the provider's own hosts: the `baseURL` that the SDK is given, if it is given one
   * (a proxy, a region, a local server).
   */
  readonly baseURL?: string;
  readonly cooldown?: CooldownOptions;
  readonly affinity?: AffinityOptions;
  /** Errors of the provider's own (500, 502, 503 …) that are tried again with another key, 0 to 10 a request; default 0. */
  readonly retry?: { readonly providerErrors?: number };
  /** What the pool is called in events, and what keeps its sessions apart from those of others; default: the provider's slug. */
  readonly name?: string;
  /** Where `$NAME` is looked up; default: `process.env` where there is one. In a Worker without it: the `env` of the handler. */
  readonly env?: Readonly<Record<string, unknown>>;
  /** What requests are sent with; default: the global `fetch`. */
  readonly fetch?: typeof globalThis.fetch;
  /** Where the state outlives the process; default: nowhere. */
  readonly store?: PoolStore;
  /**
   * Sessions that are remembered at the most, and as many conversations and as many stored objects; default 100,000 (some 18 MB
   * each, once they are there).
   */
  readonly maxSessions?: number;
  /** Shared state of one's own, for instance one that several processes share; default: in memory. `maxSessions` is its own then. */
  readonly state?: PoolState;
  /** Told of every change of a key that must outlive the process, before its consequence is seen; default: nobody. */
  readonly journal?: Journal;
  /** Where the time comes from; default: the system's. */
  readonly clock?: Clock;
}

const longestMs = 86_400_000;
const shortestMs = 100;

/** Collects what is wrong with options, to tell all of it at once. */
export class Faults {
  readonly #found: FieldError[] = [];

  add(path: string, message: string): void {
    this.#found.push({ path, message });
  }

  integer(path: string, value: number | undefined, min: number, max: number): void {
    if (value === undefined || (Number.isInteger(value) && value >= min && value <= max)) return;
    this.add(path, `Expected \`${path}\` to be an integer from ${min} to ${max}, got ${String(value)}`);
  }

  /** @throws KeywheelError with all that was found, if anything was */
  check(): void {
    if (this.#found.length === 0) return;
    const message = this.#found.map((fault) => fault.message).join("; ");
    throw new PoolError("validation_failed", message, {
      details: this.#found,
      hint: "Correct what is named.",
    });
  }
}

/**
 * What programs without types get wrong at once.
 *
 * @throws KeywheelError that says what is wanted
 */
export function checkShape({ provider, keys }: Partial<Record<"provider" | "keys", unknown>>): void {
  const faults = new Faults();
  if (typeof provider !== "object" || provider === null || !("slug" in provider)) {
    const got = typeof provider === "string" ? JSON.stringify(provider) : typeof provider;
    faults.add(
      "provider",
      `Expected \`provider\` to be one of \`providers\`, such as \`providers.openai\`, got ${got}`,
    );
  }
  if (!Array.isArray(keys)) faults.add("keys", `Expected \`keys\` to be a list of keys, got ${typeof keys}`);
  faults.check();
}

/** The rules that options amount to. @throws KeywheelError for numbers out of their range */
export function policyOf({ cooldown = {}, affinity = {}, retry = {} }: PoolOptions): StatePolicy {
  const { baseMs = defaultCooldownPolicy.baseMs, capMs = Math.max(defaultCooldownPolicy.capMs, baseMs) } = cooldown;
  const { enabled = defaultAffinity.enabled, idleTtlMs = defaultAffinity.idleTtlMs } = affinity;
  const faults = new Faults();
  faults.integer("cooldown.baseMs", baseMs, shortestMs, longestMs);
  faults.integer("cooldown.capMs", capMs, baseMs, longestMs);
  faults.integer("affinity.idleTtlMs", idleTtlMs, 1, Number.MAX_SAFE_INTEGER);
  faults.integer("retry.providerErrors", retry.providerErrors, 0, 10);
  faults.check();
  return {
    cooldown: { baseMs, capMs },
    cooldownScope: cooldown.scope ?? "key",
    affinity: { enabled, idleTtlMs },
  };
}
