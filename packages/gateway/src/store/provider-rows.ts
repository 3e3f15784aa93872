import type { Insertable, Kysely, Selectable, Transaction } from "kysely";
import { KeywheelError } from "@keywheel/pool";
import type { Database, OptionalSecretColumns, ProviderTable, SecretColumns } from "./schema.ts";
import { noSecret, type SealedSecrets, unreadableValue } from "./sealed-secrets.ts";
import type { KeySecret, ProviderPatch, ProviderRecord, StoredSettings } from "./store.ts";

export async function readProviders(db: Kysely<Database>, secrets: SealedSecrets): Promise<readonly ProviderRecord[]> {
  const rows = await db.selectFrom("providers").selectAll().orderBy("seq").execute();
  return rows.map((row) => toRecord(row, secrets));
}

export async function insertProvider(
  trx: Transaction<Database>,
  secrets: SealedSecrets,
  provider: ProviderRecord,
): Promise<void> {
  const { id, slug, name, kind, preset } = provider;
  const row: Insertable<ProviderTable> = {
    id,
    slug,
    name,
    kind,
    preset,
    base_url: provider.baseUrl,
    enabled: provider.enabled ? 1 : 0,
    settings: JSON.stringify(provider.settings),
    created_at: provider.createdAt,
    updated_at: provider.updatedAt,
    ...secretColumns(secrets, id, provider.apiKey),
  };
  await trx.insertInto("providers").values(row).execute();
}

/** @throws KeywheelError not_found */
export async function updateProvider(
  trx: Transaction<Database>,
  secrets: SealedSecrets,
  { id, patch }: { readonly id: string; readonly patch: ProviderPatch },
): Promise<void> {
  const found = await trx.selectFrom("providers").select("id").where("id", "=", id).executeTakeFirst();
  if (found === undefined) throw new KeywheelError("not_found", `There is no provider ${id}`);
  const { slug, name, kind, preset, baseUrl, enabled, settings, updatedAt, apiKey } = patch;
  const set = {
    ...(slug !== undefined && { slug }),
    ...(name !== undefined && { name }),
    ...(kind !== undefined && { kind }),
    ...(preset !== undefined && { preset }),
    ...(baseUrl !== undefined && { base_url: baseUrl }),
    ...(enabled !== undefined && { enabled: enabled ? (1 as const) : (0 as const) }),
    ...(settings !== undefined && { settings: JSON.stringify(settings) }),
    ...(updatedAt !== undefined && { updated_at: updatedAt }),
    ...(apiKey !== undefined && secretColumns(secrets, id, apiKey)),
  };
  if (Object.keys(set).length === 0) return;
  await trx.updateTable("providers").set(set).where("id", "=", id).execute();
}

export async function deleteProvider(trx: Transaction<Database>, id: string): Promise<void> {
  await trx.deleteFrom("providers").where("id", "=", id).execute();
}

/**
 * Seals every value with another master key. @returns how many
 *
 * @throws KeywheelError store_unavailable for a value that cannot be opened
 */
export async function resealProviders(
  trx: Transaction<Database>,
  from: SealedSecrets,
  to: SealedSecrets,
): Promise<number> {
  let resealed = 0;
  for (const { id, slug, apiKey } of await readProviders(trx, from)) {
    if (apiKey === null || apiKey.kind === "reference") continue;
    if (apiKey.kind === "undecryptable") throw unreadableValue(`provider ${slug}`);
    await trx
      .updateTable("providers")
      .set(secretColumns(to, id, apiKey))
      .where("id", "=", id)
      .execute();
    resealed += 1;
  }
  return resealed;
}

function secretColumns(secrets: SealedSecrets, id: string, secret: KeySecret | null): OptionalSecretColumns {
  return secret === null ? noSecret : secrets.toColumns(secret, placeOf(id));
}

function toRecord(row: Selectable<ProviderTable>, secrets: SealedSecrets): ProviderRecord {
  return {
    id: row.id,
    slug: row.slug,
    name: row.name,
    kind: row.kind,
    preset: row.preset,
    baseUrl: row.base_url,
    apiKey: hasSecret(row) ? secrets.fromColumns(row, placeOf(row.id)) : null,
    enabled: row.enabled === 1,
    settings: JSON.parse(row.settings) as StoredSettings,
    createdAt: row.created_at,
    updatedAt: row.updated_at,
  };
}

function hasSecret<Row extends OptionalSecretColumns>(row: Row): row is Row & SecretColumns {
  return row.secret_kind !== null;
}

function placeOf(id: string): { table: string; id: string; version: number } {
  return { table: "providers", id, version: 0 };
}
