import type { FileSetup, Place } from "./client.ts";
import type { Plan } from "./files.ts";
import { change, type Change, valueAt } from "./format.ts";

/** The part of a file that is the gateway's, as it would stand in a file of its own. */
export function contentOf({ format, changes }: FileSetup): string {
  return change(format, "", changes);
}

export interface Difference {
  readonly name: string;
  /** Null: it is not there. A secret is not repeated, nor is what may be one. */
  readonly from: string | null;
  readonly to: string | null;
}

export function differencesOf({ setup, before, after }: Plan): readonly Difference[] {
  if (before === after) return [];
  const former = setup.format.read(before ?? "");
  return setup.changes.flatMap((one) => {
    const { path, value } = one;
    const from = valueAt(former, path);
    if (from === value) return [];
    return [{ name: path.join("."), from: formerly(one, from), to: hidden(one, value) }];
  });
}

function hidden({ secret }: Change, value: string | undefined): string | null {
  if (value === undefined) return null;
  return secret && value.startsWith("kw_") ? "(the token)" : value;
}

/** What stood there is someone else's, and may hold a key: only what is plainly none is shown. */
function formerly({ secret }: Change, value: unknown): string | null {
  if (value === undefined) return null;
  const isPlain =
    typeof value === "string" && !secret && /^(https?:\/\/[\w.:[\]-]+(\/[\w./-]*)?|[a-z][\w-]{0,30})$/.test(value);
  return isPlain ? value : "(another value)";
}

export function shortPath(path: string, { home }: Place): string {
  return path.startsWith(`${home}/`) ? `~${path.slice(home.length)}` : path;
}

/** For shells of the Bourne family. */
export function exportLine([name, value]: readonly [string, string]): string {
  return `export ${name}=${/^[\w:/.,@%+-]+$/.test(value) ? value : `'${value.replaceAll("'", String.raw`'\''`)}'`}`;
}
