import type { ConfigExport, DeclaredKey, DeclaredProvider, DeclaredToken } from "../../contract/config-file.ts";
import type { KeyRecord, KeySecret, TokenRecord } from "../../store/store.ts";
import { showSecret } from "../key-text.ts";
import { kindOfUrl, presetBySlug, presetOfUrl } from "../presets.ts";
import type { ProviderEntry } from "../provider-entry.ts";
import type { DeclaredGround } from "./declared-plan.ts";

/**
 * What is here, in the shape of a file of configuration. Defaults are left out. In the place of a value that is in the
 * database stands the variable that it is to be put into.
 */
export function exportDeclared(
  entries: readonly ProviderEntry[],
  tokens: readonly TokenRecord[],
  ground: Pick<DeclaredGround, "byId">,
): ConfigExport {
  const naming = new VariableNames(entries);
  const variables: ConfigExport["variables"] = [];
  const providers = entries.map((entry) => {
    const { slug } = entry.record;
    const textOf = (secret: KeySecret, label: string): string => {
      if (secret.kind === "reference") return showSecret(secret);
      const name = naming.next(slug);
      variables.push({ name, provider: slug, label, masked: showSecret(secret) });
      return `$${name}`;
    };
    return [slug, providerOf(entry, textOf)] as const;
  });
  const names = new Set<string>();
  const shownTokens = Object.fromEntries(
    tokens
      // One whose providers are all gone is good for nothing, and no file can say so.
      .filter(({ providerIds }) => providerIds === null || providerIds.some((id) => ground.byId(id) !== undefined))
      .map((token) => [distinct(token.name, names), tokenOf(token, ground)]),
  );
  return {
    document: {
      version: 1,
      providers: Object.fromEntries(providers),
      ...(names.size === 0 ? {} : { tokens: shownTokens }),
    },
    variables,
  };
}

/** Names are one's own in a file, and not here. */
function distinct(name: string, taken: Set<string>): string {
  let own = name;
  for (let n = 2; taken.has(own); n += 1) own = `${name} ${n}`;
  taken.add(own);
  return own;
}

type TextOf = (secret: KeySecret, label: string) => string;

function providerOf(entry: ProviderEntry, textOf: TextOf): DeclaredProvider {
  const { slug, name, kind, preset, baseUrl, apiKey, enabled, settings } = entry.record;
  const found = presetOfUrl(baseUrl);
  const named = presetBySlug(slug);
  const isNamed = named !== undefined && named.baseUrl === baseUrl && named.slug === preset && named.kind === kind;
  const writtenPreset = (found?.slug ?? null) === preset ? undefined : preset;
  const byDefault = isNamed ? named.name : (presetBySlug(writtenPreset ?? "")?.name ?? slug);
  return {
    ...(name === byDefault ? {} : { name }),
    ...(isNamed
      ? {}
      : {
          ...(writtenPreset === undefined ? {} : { preset: preset as DeclaredProvider["preset"], kind }),
          ...(writtenPreset === undefined && kindOfUrl(baseUrl, found) !== kind ? { kind } : {}),
          base_url: baseUrl,
        }),
    ...(enabled ? {} : { enabled }),
    ...(Object.keys(settings).length === 0 ? {} : { settings }),
    ...(apiKey === null ? {} : { api_key: textOf(apiKey, "") }),
    ...(entry.hasKeys ? { keys: entry.cells().map(({ record }) => keyOf(record, textOf)) } : {}),
  };
}

function keyOf({ secret, label, weight, group, enabled, disabledReason }: KeyRecord, textOf: TextOf): DeclaredKey {
  // A refusal is what happened to it, not what was wished.
  const isOff = !enabled && (disabledReason?.code ?? "disabled_by_operator") === "disabled_by_operator";
  return {
    api_key: textOf(secret, label),
    ...(label === "" ? {} : { label }),
    ...(weight === 1 ? {} : { weight }),
    ...(group === "" ? {} : { group }),
    ...(isOff ? { enabled: false } : {}),
  };
}

function tokenOf(token: TokenRecord, { byId }: Pick<DeclaredGround, "byId">): DeclaredToken {
  const { hash, providerIds, expiresAt, maxRequestsPerMinute, maxConcurrent } = token;
  const slugs = providerIds?.flatMap((id) => byId(id)?.record.slug ?? []);
  return {
    sha256: hash,
    ...(slugs === undefined ? {} : { providers: slugs }),
    ...(expiresAt === null ? {} : { expires_at: new Date(expiresAt).toISOString() }),
    ...(maxRequestsPerMinute === null ? {} : { max_requests_per_minute: maxRequestsPerMinute }),
    ...(maxConcurrent === null ? {} : { max_concurrent: maxConcurrent }),
  };
}

/** `OPENAI_KEY_1`, `OPENAI_KEY_2` …, none that a key refers to already. */
class VariableNames {
  readonly #taken: Set<string>;
  readonly #counts = new Map<string, number>();

  constructor(entries: readonly ProviderEntry[]) {
    const secrets = entries.flatMap((entry) => [
      entry.record.apiKey,
      ...entry.cells().map(({ record }) => record.secret),
    ]);
    this.#taken = new Set(secrets.flatMap((secret) => (secret?.kind === "reference" ? [secret.name] : [])));
  }

  next(slug: string): string {
    const stem = slug
      .toUpperCase()
      .replaceAll("-", "_")
      .replace(/^(?=\d)/, "_");
    for (let n = (this.#counts.get(stem) ?? 0) + 1; ; n += 1) {
      this.#counts.set(stem, n);
      const name = `${stem}_KEY_${n}`;
      if (this.#taken.has(name)) continue;
      this.#taken.add(name);
      return name;
    }
  }
}
