import { isDeepStrictEqual } from "node:util";

/** One value that a client's configuration is to have. */
export interface Change {
  /** From the outside in: `["env", "ANTHROPIC_BASE_URL"]`. */
  readonly path: readonly [string, ...string[]];
  /** Undefined: it must not be there. */
  readonly value: string | undefined;
  /** Not repeated to people. */
  readonly secret?: true;
}

/** How a configuration file is written. */
export interface Format {
  /** What the file holds. @throws Unreadable */
  readonly read: (text: string) => unknown;
  /** The text with the changes made, everything else as it stands. May give a text that holds something else. */
  readonly edit: (text: string, changes: readonly Change[]) => string;
}

/** A file that cannot be changed. The message finishes the sentence "… cannot be changed: ". */
export class Unreadable extends Error {}

/**
 * The text with the changes made. What comes out is read again: it holds what was there before and the changes, or nothing
 * is given back.
 *
 * @throws Unreadable
 */
export function change(format: Format, text: string, changes: readonly Change[]): string {
  const before = format.read(text);
  const due = changes.filter(({ path, value }) => valueAt(before, path) !== value);
  if (due.length === 0) return text;
  const wanted = due.reduce(withChange, before);
  const changed = format.edit(text, due);
  if (!isDeepStrictEqual(normal(format.read(changed)), normal(wanted)))
    throw new Unreadable("it is written in a way that cannot be changed without touching the rest of it");
  return changed;
}

/** @returns undefined where there is none */
export function valueAt(value: unknown, path: readonly string[]): unknown {
  return path.reduce<unknown>((inner, name) => (isRecord(inner) ? inner[name] : undefined), value);
}

/** A copy of what a file holds, with one change. @throws Unreadable where something else stands in the way */
export function withChange(whole: unknown, { path, value }: Change): unknown {
  if (!isRecord(whole)) throw new Unreadable("it does not hold named values");
  const [name, ...rest] = path;
  const [next, ...others] = rest;
  if (next === undefined) {
    const { [name]: _former, ...remaining } = whole;
    return value === undefined ? remaining : { ...whole, [name]: value };
  }
  const inner = whole[name];
  if (inner === undefined && value === undefined) return whole;
  if (inner !== undefined && !isRecord(inner)) throw new Unreadable(`its \`${name}\` does not hold named values`);
  return { ...whole, [name]: withChange(inner ?? {}, { path: [next, ...others], value }) };
}

export function isRecord(value: unknown): value is Readonly<Record<string, unknown>> {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}

/** Without what parsers put on their objects besides the values: a prototype, symbols. */
function normal(value: unknown): unknown {
  if (Array.isArray(value)) return value.map(normal);
  if (!isRecord(value) || value instanceof Date) return value;
  return Object.fromEntries(Object.entries(value).map(([name, inner]) => [name, normal(inner)]));
}
