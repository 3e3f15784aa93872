import type { TextFault } from "../contract/field-faults.ts";
import type { KeyView, ProviderEntry } from "./provider-entry.ts";
import type { ImportedKey, ParsedImport, SkippedKey } from "./import-text.ts";
import { showSecret } from "./key-text.ts";

/** A key that a pasted list holds, as it was understood. */
export interface UnderstoodKey {
  readonly line: number;
  readonly masked: string;
  readonly label: string;
  readonly weight: number;
}

/** What became of a pasted list. */
export interface ImportOutcome {
  /** Empty in a dry run. */
  readonly added: readonly KeyView[];
  readonly understood: readonly UnderstoodKey[];
  readonly skipped: readonly SkippedKey[];
}

export function showImported({ line, secret, label, weight }: ImportedKey): UnderstoodKey {
  return { line, masked: showSecret(secret), label, weight };
}

/** Leaves out what is in the list twice, or held already. */
export function sift(
  entry: ProviderEntry,
  parsed: ParsedImport,
): { readonly fresh: readonly ImportedKey[]; readonly skipped: readonly SkippedKey[] } {
  const fresh: ImportedKey[] = [];
  const skipped = [...parsed.skipped];
  const lines = new Map<string, number>();
  for (const key of parsed.keys) {
    const { line, secret } = key;
    const skip = (code: SkippedKey["code"], fault: TextFault): void => {
      skipped.push({ line, code, fault, masked: showSecret(secret) });
    };
    const value = secret.kind === "literal" ? secret.value.reveal() : `$${secret.name}`;
    const before = lines.get(value);
    const holder = entry.holderOf(secret);
    if (before !== undefined) {
      skip("repeated", { code: "repeated_line", message: `It is on line ${before} already`, params: { line: before } });
    } else if (holder !== undefined) {
      skip("held", { code: "key_held", message: `The provider holds it already, as ${nameOf(entry, holder)}` });
    } else {
      lines.set(value, line);
      fresh.push(key);
    }
  }
  return { fresh, skipped: skipped.sort((one, other) => one.line - other.line) };
}

/** A key for people: its id, and its label if it has one. */
export function nameOf(entry: ProviderEntry, keyId: string): string {
  const label = entry.labelOf(keyId);
  return label === "" ? keyId : `${keyId} (${label})`;
}
