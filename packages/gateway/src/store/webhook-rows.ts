import type { Insertable, Kysely, Selectable, Transaction } from "kysely";
import { KeywheelError, Secret } from "@keywheel/pool";
import type { Database, WebhookTable } from "./schema.ts";
import { type SealedSecrets, unreadableValue } from "./sealed-secrets.ts";
import type { FormerSecret, WebhookPatch, WebhookRecord } from "./store.ts";

/** In order of creation. */
export async function readWebhooks(db: Kysely<Database>, secrets: SealedSecrets): Promise<readonly WebhookRecord[]> {
  const rows = await db.selectFrom("webhooks").selectAll().orderBy("seq").execute();
  return rows.map((row) => toRecord(row, secrets));
}

export async function insertWebhook(
  trx: Transaction<Database>,
  secrets: SealedSecrets,
  webhook: WebhookRecord,
): Promise<void> {
  const { id, name, url, events, enabled, disabledReason, createdAt, updatedAt } = webhook;
  const row: Insertable<WebhookTable> = {
    id,
    name,
    url,
    events: events === null ? null : JSON.stringify(events),
    enabled: enabled ? 1 : 0,
    disabled_reason: disabledReason,
    created_at: createdAt,
    updated_at: updatedAt,
    ...secrets.toColumns(webhook.secret, placeOf(id)),
    former_sealed: sealFormer(webhook.formerSecrets, { secrets, id }),
  };
  await trx.insertInto("webhooks").values(row).execute();
}

/** @throws KeywheelError not_found */
export async function updateWebhook(
  trx: Transaction<Database>,
  secrets: SealedSecrets,
  { id, patch }: { readonly id: string; readonly patch: WebhookPatch },
): Promise<void> {
  const { name, url, events, enabled, disabledReason, secret, formerSecrets, updatedAt } = patch;
  const done = await trx
    .updateTable("webhooks")
    .set({
      updated_at: updatedAt,
      ...(name !== undefined && { name }),
      ...(url !== undefined && { url }),
      ...(events !== undefined && { events: events === null ? null : JSON.stringify(events) }),
      ...(enabled !== undefined && { enabled: enabled ? (1 as const) : (0 as const) }),
      ...(disabledReason !== undefined && { disabled_reason: disabledReason }),
      ...(secret !== undefined && secrets.toColumns(secret, placeOf(id))),
      ...(formerSecrets !== undefined && { former_sealed: sealFormer(formerSecrets, { secrets, id }) }),
    })
    .where("id", "=", id)
    .executeTakeFirst();
  if (done.numUpdatedRows === 0n) throw new KeywheelError("not_found", `There is no webhook ${id}`);
}

/** With what waits to be sent to it. */
export async function deleteWebhook(trx: Transaction<Database>, id: string): Promise<void> {
  await trx.deleteFrom("webhooks").where("id", "=", id).execute();
}

/** Seals every secret with another master key. @throws KeywheelError store_unavailable for one that cannot be opened */
export async function resealWebhooks(
  trx: Transaction<Database>,
  from: SealedSecrets,
  to: SealedSecrets,
): Promise<void> {
  for (const { id, name, secret, formerSecrets } of await readWebhooks(trx, from)) {
    if (secret.kind === "undecryptable") throw unreadableValue(`webhook ${name === "" ? id : name}`);
    await trx
      .updateTable("webhooks")
      .set({
        ...to.toColumns(secret, placeOf(id)),
        former_sealed: sealFormer(formerSecrets, { secrets: to, id }),
      })
      .where("id", "=", id)
      .execute();
  }
}

function toRecord(row: Selectable<WebhookTable>, secrets: SealedSecrets): WebhookRecord {
  return {
    id: row.id,
    name: row.name,
    url: row.url,
    events: row.events === null ? null : (JSON.parse(row.events) as readonly string[]),
    enabled: row.enabled === 1,
    disabledReason: row.disabled_reason,
    secret: secrets.fromColumns(row, placeOf(row.id)),
    formerSecrets: openFormer(row, secrets),
    createdAt: row.created_at,
    updatedAt: row.updated_at,
  };
}

interface StoredFormer {
  readonly secret: string;
  readonly until: number;
}

function sealFormer(
  former: readonly FormerSecret[],
  { secrets, id }: { readonly secrets: SealedSecrets; readonly id: string },
): string | null {
  if (former.length === 0) return null;
  const plain: readonly StoredFormer[] = former.map(({ value, until }) => ({ secret: value.reveal(), until }));
  return secrets.seal(JSON.stringify(plain), formerPlaceOf(id));
}

/** Those that cannot be opened sign nothing: the present secret cannot be either then. */
function openFormer({ id, former_sealed: sealed }: Selectable<WebhookTable>, secrets: SealedSecrets): FormerSecret[] {
  const text = sealed === null ? undefined : secrets.open(sealed, formerPlaceOf(id));
  if (text === undefined) return [];
  return (JSON.parse(text) as readonly StoredFormer[]).map(({ secret, until }) => ({
    value: new Secret(secret),
    until,
  }));
}

function formerPlaceOf(id: string) {
  return { ...placeOf(id), column: "former" };
}

function placeOf(id: string): { table: string; id: string; version: number } {
  return { table: "webhooks", id, version: 0 };
}
