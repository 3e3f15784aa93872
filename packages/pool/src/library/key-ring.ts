import { Secret } from "../ports/secrets.ts";
import type { KeyEntry } from "../ports/shared-state.ts";
import type { Unresolved } from "../key-status.ts";
import { readKeyText, readVariable } from "../rules/key-text.ts";
import type { EpochMs } from "../rules/time.ts";
import { Faults, type KeyOptions } from "./options.ts";

/** A key of the pool. */
export interface RingKey {
  readonly id: string;
  readonly label: string;
  readonly weight: number;
  readonly enabled: boolean;
  /** "" for a key by itself. */
  readonly group: string;
  /** Undefined while its variable cannot be resolved. */
  readonly secret: Secret | undefined;
  /** The value masked, or `$NAME`. */
  readonly masked: string;
  readonly unresolved: Unresolved | undefined;
  /** Grows with each new value. */
  readonly secretVersion: number;
  readonly changedAt: EpochMs;
}

const longestGroup = 100;

/** Where `$NAME` is looked up. */
export type Variables = Readonly<Record<string, unknown>>;

/**
 * The keys as they were given: read, checked, named.
 *
 * @param before the keys that are replaced; one that goes on under its id keeps its version unless its value is another
 * @throws KeywheelError that names the keys by position, never by value
 */
export function readKeys(
  given: readonly (string | KeyOptions)[],
  { env, now, before = [] }: { readonly env: Variables; readonly now: EpochMs; readonly before?: readonly RingKey[] },
): readonly RingKey[] {
  const faults = new Faults();
  const ids = new Set<string>();
  const values = new Map<string, number>();
  const keys = given.flatMap((one: string | KeyOptions | undefined, position) => {
    const path = `keys[${position}]`;
    const options = typeof one === "string" ? { apiKey: one } : one;
    if (typeof options?.apiKey !== "string") {
      faults.add(path, `\`${path}\` is no key: is an environment variable not set? Write "$NAME" to have it named`);
      return [];
    }
    const { apiKey, label = "", weight = 1, enabled = true, group = "" } = options;
    faults.integer(`${path}.weight`, weight, 1, 100);
    if (typeof group !== "string" || group.length > longestGroup)
      faults.add(`${path}.group`, `Expected \`${path}.group\` to be a text of at most ${longestGroup} characters`);
    const read = readKeyText(apiKey);
    if (read.kind === "refused") {
      faults.add(path, `\`${path}\`: ${read.fault.message}`);
      return [];
    }
    const same = values.get(apiKey.trim());
    if (same !== undefined) faults.add(path, `\`${path}\` is the same key as \`keys[${same}]\``);
    values.set(apiKey.trim(), position);
    const { secret, masked, unresolved } = valueOf(read, env, now);
    const id = options.id ?? freeId(masked, ids);
    if (options.id !== undefined && ids.has(id)) faults.add(`${path}.id`, `\`${path}.id\` is taken by another key`);
    ids.add(id);
    const known = before.find((key) => key.id === id);
    const isSame = known !== undefined && known.secret?.reveal() === secret?.reveal();
    const secretVersion = known === undefined ? 1 : known.secretVersion + (isSame ? 0 : 1);
    const changedAt = isSame && known.enabled === enabled ? known.changedAt : now;
    return [{ id, label, weight, enabled, group, secret, masked, unresolved, secretVersion, changedAt }];
  });
  faults.check();
  return keys;
}

/** A key as the wheel needs it. @param isRefused whether the provider has refused it */
export function entryOf({ id, weight, enabled, group, secret, secretVersion }: RingKey, isRefused: boolean): KeyEntry {
  const entry = { id, weight, enabled: enabled && !isRefused, resolved: secret !== undefined, secretVersion };
  return group === "" ? entry : { ...entry, group };
}

function valueOf(
  read: Exclude<ReturnType<typeof readKeyText>, { kind: "refused" }>,
  env: Variables,
  now: EpochMs,
): Pick<RingKey, "secret" | "masked" | "unresolved"> {
  if (read.kind === "literal") {
    const secret = new Secret(read.value);
    return { secret, masked: secret.masked, unresolved: undefined };
  }
  const { name } = read;
  const raw = env[name];
  const variable = readVariable(name, typeof raw === "string" ? raw : undefined);
  const masked = `$${name}`;
  if (variable.kind === "resolved") return { secret: new Secret(variable.value), masked, unresolved: undefined };
  return { secret: undefined, masked, unresolved: { code: "unresolved", message: variable.message, since: now } };
}

/** Two keys may look the same when masked. */
function freeId(masked: string, taken: ReadonlySet<string>): string {
  let id = masked;
  for (let number = 2; taken.has(id); number++) id = `${masked}-${number}`;
  return id;
}
