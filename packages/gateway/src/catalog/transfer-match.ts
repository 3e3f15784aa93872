import type { ExportedKey } from "../contract/transfer.ts";
import type { KeyRecord, KeySecret, ProviderRecord } from "../store/store.ts";
import { showSecret } from "./key-text.ts";
import type { KeyCell, ProviderEntry } from "./provider-entry.ts";
import { isSameSecret } from "./same-secret.ts";

/** A secret of a document: known, or one that stayed behind. */
export type TakenSecret = { readonly secret: KeySecret } | { readonly missing: string };

/** What differs between the provider that is here and the one that comes. */
export function differencesOf(here: ProviderRecord, comes: ProviderRecord, own: TakenSecret | null): string[] {
  const names = ["name", "kind", "preset", "enabled"] as const;
  const differences: string[] = names.filter((name) => here[name] !== comes[name]);
  if (here.baseUrl !== comes.baseUrl) differences.push("base_url");
  if (JSON.stringify(here.settings) !== JSON.stringify(comes.settings)) differences.push("settings");
  const isMissing = own !== null && "missing" in own;
  if (!isMissing && !isSameSecret(here.apiKey, comes.apiKey)) differences.push("api_key");
  return differences;
}

export function differencesOfKey(here: KeyRecord, comes: ExportedKey): string[] {
  const { group = "" } = comes;
  const differences: string[] = (["label", "weight", "enabled", "order"] as const).filter(
    (name) => here[name] !== comes[name],
  );
  return here.group === group ? differences : [...differences, "group"];
}

export function cellOf(entry: ProviderEntry | undefined, secret: KeySecret): KeyCell | undefined {
  const holder = entry?.holderOf(secret);
  return holder === undefined ? undefined : entry?.cell(holder);
}

/** A value that stayed behind is told by what is seen of it. */
export function cellShownAs(
  entry: ProviderEntry | undefined,
  { label }: ExportedKey,
  masked: string,
): KeyCell | undefined {
  return entry?.cells().find(({ record }) => record.label === label && isShownAs(record.secret, masked));
}

export function isShownAs(secret: KeySecret | null | undefined, masked: string): boolean {
  return secret !== null && secret !== undefined && showSecret(secret) === masked;
}
