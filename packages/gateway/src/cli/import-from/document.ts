import { isKeywheelError, maskSecret } from "@keywheel/pool";
import { presetBySlug, presetOfUrl } from "../../catalog/presets.ts";
import { parseKeyText, showSecret } from "../../catalog/key-text.ts";
import { recordOf } from "../../catalog/provider-record.ts";
import type { ExportDocument, ExportedKey, ExportedProvider } from "../../contract/transfer.ts";
import type { ProviderCreate } from "../../contract/provider.ts";
import type { Found, FoundKey, FoundPool, Left } from "./foreign.ts";

/**
 * What was found, as a document that the gateway imports.
 *
 * Keys that go to the same place by the same kind of API make one pool: that is what a pool is for.
 *
 * @returns the document, and all that is not in it
 */
export function documentOf(
  found: Found,
  now: number,
): { readonly document: ExportDocument; readonly left: readonly Left[] } {
  const left = [...found.left];
  const places = new Map<string, Place>();
  const slugs = new Set<string>();
  for (const pool of found.pools) {
    const record = recordFor(pool, slugs, left);
    if (record === undefined) continue;
    const name = `${record.kind} ${record.base_url}`;
    const place = places.get(name);
    if (place === undefined) {
      places.set(name, { record, pools: [pool] });
      slugs.add(record.slug);
    } else place.pools.push(pool);
  }
  const providers = [...places.values()].flatMap((place) => {
    const provider = providerAt(place, left);
    if (provider.keys.length > 0) return [provider];
    left.push({ what: `provider ${provider.slug}`, why: "it has no key that could be taken" });
    return [];
  });
  const exportedAt = new Date(now).toISOString();
  return {
    document: { format: "keywheel-export", version: 1, exported_at: exportedAt, providers, secrets: null },
    left,
  };
}

/** Where keys go, and whose pools there lead to it. */
interface Place {
  readonly record: ExportedProvider;
  readonly pools: FoundPool[];
}

/** What was switched off as a whole: the provider, or, where something else leads there as well, its keys. */
function providerAt({ record, pools }: Place, left: Left[]): ExportedProvider {
  const enabled = pools.some((pool) => pool.enabled);
  const keys = pools.flatMap((pool) =>
    pool.keys.map((key) => ({ ...key, enabled: key.enabled && (pool.enabled || !enabled) })),
  );
  return { ...record, enabled, keys: keysOf(record.slug, keys, left) };
}

function recordFor(pool: FoundPool, slugs: ReadonlySet<string>, left: Left[]): ExportedProvider | undefined {
  const baseUrl = addressOf(pool);
  const preset = pool.preset === undefined ? undefined : presetBySlug(pool.preset)?.slug;
  // A name is a person's own; a pool of a vendor's keys is called as the vendor is, so that it meets the one that is here.
  const vendor = preset ?? (baseUrl === undefined ? undefined : presetAt(baseUrl));
  const body: ProviderCreate = {
    ...(vendor === undefined && pool.name !== "" ? { name: pool.name.slice(0, 200) } : {}),
    ...(preset === undefined ? {} : { preset }),
    ...(baseUrl === undefined ? {} : { base_url: baseUrl }),
    ...(pool.kind === undefined ? {} : { kind: pool.kind }),
    enabled: pool.enabled,
  };
  try {
    const ground = {
      allowPrivateMetadata: false,
      newId: () => "",
      now: () => 0,
      hasSlug: (slug: string) => slugs.has(slug),
    };
    const record = recordOf(ground, body);
    return {
      slug: record.slug,
      name: record.name,
      kind: record.kind,
      preset: record.preset as ExportedProvider["preset"],
      base_url: record.baseUrl,
      enabled: record.enabled,
      settings: {},
      api_key: null,
      keys: [],
    };
  } catch (error) {
    if (!isKeywheelError(error)) throw error;
    left.push({ what: `"${pool.name}" with ${pool.keys.length} keys`, why: error.message });
    return undefined;
  }
}

/** The base URL as ours are: a vendor's own in full, others with the version that the other tool puts behind them. */
function addressOf({ baseUrl, behind }: FoundPool): string | undefined {
  if (baseUrl === undefined) return undefined;
  const bare = baseUrl.trim().replace(/\/+$/, "");
  const url = URL.parse(bare);
  // What it is not is said by those who make the record.
  if (url === null) return bare;
  const preset = presetOfUrl(bare);
  const isPart = preset !== undefined && (preset.baseUrl === bare || preset.baseUrl.startsWith(`${bare}/`));
  if (isPart && preset.slug !== "azure") return preset.baseUrl;
  const isVersioned = /\/v\d[a-z0-9]*(\/|$)/.test(url.pathname);
  // Ollama's own API has none, its other one has: clients say which.
  return isVersioned || preset?.slug === "ollama" ? bare : `${bare}${behind ?? ""}`;
}

function presetAt(baseUrl: string): string | undefined {
  if (URL.parse(baseUrl) === null) return undefined;
  const preset = presetOfUrl(baseUrl);
  return preset?.baseUrl === baseUrl ? preset.slug : undefined;
}

function keysOf(slug: string, found: readonly FoundKey[], left: Left[]): ExportedKey[] {
  const keys = new Map<string, ExportedKey>();
  for (const { apiKey, label, weight, enabled, group } of found) {
    const name = `${slug}: key ${label === "" ? maskSecret(apiKey) : `"${label}"`}`;
    const parsed = parseKeyText(apiKey);
    if (!parsed.ok) {
      left.push({ what: name, why: parsed.fault.message });
      continue;
    }
    const { secret } = parsed;
    const text = secret.kind === "literal" ? secret.value.reveal() : showSecret(secret);
    const held = keys.get(text);
    const ours = Math.min(100, Math.max(1, Math.round(weight)));
    if (ours !== weight)
      left.push({ what: `the weight ${weight} of ${name}`, why: `it is ${ours}: they go from 1 to 100` });
    const named = held?.group ?? lineOf(group ?? "", 100);
    // Named several times, as for each model: on if one of them is, and as often as most.
    keys.set(text, {
      api_key: text,
      label: held?.label ?? lineOf(label, 200),
      weight: Math.max(held?.weight ?? 1, ours),
      enabled: enabled || held?.enabled === true,
      order: held?.order ?? keys.size,
      ...(named === "" ? {} : { group: named }),
    });
  }
  return [...keys.values()];
}

function lineOf(text: string, most: number): string {
  return text
    .replace(/\p{Cc}+/gu, " ")
    .trim()
    .slice(0, most);
}
