import type { Insertable, Kysely, Selectable, Transaction } from "kysely";
import { KeywheelError } from "@keywheel/pool";
import type { Database, WebhookTable } from "./schema.ts";
import { type SealedSecrets, unreadableValue } from "./sealed-secrets.ts";
import type { WebhookPatch, WebhookRecord } from "./store.ts";

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
  };
  await trx.insertInto("webhooks").values(row).execute();
}

/** @throws KeywheelError not_found */
export async function updateWebhook(trx: Transaction<Database>, id: string, patch: WebhookPatch): Promise<void> {
  const { name, url, events, enabled, disabledReason, updatedAt } = patch;
  const done = await trx
    .updateTable("webhooks")
    .set({
      updated_at: updatedAt,
      ...(name !== undefined && { name }),
      ...(url !== undefined && { url }),
      ...(events !== undefined && { events: events === null ? null : JSON.stringify(events) }),
      ...(enabled !== undefined && { enabled: enabled ? (1 as const) : (0 as const) }),
      ...(disabledReason !== undefined && { disabled_reason: disabledReason }),
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
  for (const { id, name, secret } of await readWebhooks(trx, from)) {
    if (secret.kind === "undecryptable") throw unreadableValue(`webhook ${name === "" ? id : name}`);
    await trx
      .updateTable("webhooks")
      .set(to.toColumns(secret, placeOf(id)))
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
    createdAt: row.created_at,
    updatedAt: row.updated_at,
  };
}

function placeOf(id: string): { table: string; id: string; version: number } {
  return { table: "webhooks", id, version: 0 };
}
