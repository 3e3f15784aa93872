import { type CreateTableBuilder, type Kysely, sql, type Transaction } from "kysely";
import { KeywheelError } from "@keywheel/pool";
import type { Database } from "./schema.ts";
import type { DatabaseEngine } from "./engine.ts";
import { moveRequestRows } from "./request-row-move.ts";

interface Migration {
  /** Begins with its number; never renamed, never changed once released. */
  readonly name: string;
  readonly up: (db: Kysely<Database>, engine: DatabaseEngine) => Promise<void>;
}

/** In the order in which they are applied. */
export const migrations: readonly Migration[] = [
  { name: "0001-first", up: createFirstTables },
  { name: "0002-webhooks", up: createWebhooks },
  { name: "0003-affinity", up: createAffinity },
  { name: "0004-groups", up: addGroups },
  { name: "0005-request-blocks", up: putRequestsInBlocks },
  { name: "0006-webhook-states", up: addWebhookStates },
];

/**
 * Brings a database to the newest shape, all or nothing.
 *
 * Not kysely's own Migrator: that one asks the database for all its tables first and cannot tell a newer database from
 * a broken list.
 *
 * @throws KeywheelError store_unavailable if a newer version made it
 */
export async function migrate(
  trx: Transaction<Database>,
  engine: DatabaseEngine,
  options: { readonly now: number; readonly migrations?: readonly Migration[] },
): Promise<void> {
  const known = options.migrations ?? migrations;
  await trx.schema
    .createTable("migrations")
    .ifNotExists()
    .addColumn("name", "text", (column) => column.primaryKey())
    .addColumn("applied_at", "bigint", (column) => column.notNull())
    .execute();
  const applied = new Set((await trx.selectFrom("migrations").select("name").execute()).map(({ name }) => name));
  const unknown = [...applied].find((name) => known.every((migration) => migration.name !== name));
  if (unknown !== undefined) throw newerDatabase(engine, unknown);
  for (const { name, up } of known) {
    if (applied.has(name)) continue;
    await up(trx, engine);
    await trx.insertInto("migrations").values({ name, applied_at: options.now }).execute();
  }
}

function newerDatabase(engine: DatabaseEngine, unknown: string): KeywheelError {
  const message = `${engine.name} was made by a newer version of Keywheel (it knows "${unknown}")`;
  return new KeywheelError("store_unavailable", message, {
    hint: "Start that version, or name another data directory. Nothing was changed.",
  });
}

async function createFirstTables(db: Kysely<Database>, engine: DatabaseEngine): Promise<void> {
  await createProviders(db, engine);
  await createKeys(db, engine);
  await createHealths(db);
  await createTokens(db, engine);
  await createSessions(db, engine);
  await createPins(db);
  await createRequests(db);
  await createUsage(db);
  await db.schema
    .createTable("meta")
    .addColumn("name", "text", (column) => column.primaryKey())
    .addColumn("value", "text", (column) => column.notNull())
    .execute();
}

async function createProviders(db: Kysely<Database>, engine: DatabaseEngine): Promise<void> {
  await withSecret(engine.addSequence(db.schema.createTable("providers")))
    .addColumn("id", "text", (column) => column.notNull().unique())
    .addColumn("slug", "text", (column) => column.notNull().unique())
    .addColumn("name", "text", (column) => column.notNull())
    .addColumn("kind", "text", (column) => column.notNull())
    .addColumn("preset", "text")
    .addColumn("base_url", "text", (column) => column.notNull())
    .addColumn("enabled", "integer", (column) => column.notNull())
    .addColumn("settings", "text", (column) => column.notNull())
    .addColumn("created_at", "bigint", (column) => column.notNull())
    .addColumn("updated_at", "bigint", (column) => column.notNull())
    .execute();
}

async function createKeys(db: Kysely<Database>, engine: DatabaseEngine): Promise<void> {
  await withSecret(engine.addSequence(db.schema.createTable("keys")))
    .addColumn("id", "text", (column) => column.notNull().unique())
    .addColumn("provider_id", "text", (column) => column.notNull().references("providers.id").onDelete("cascade"))
    .addColumn("fingerprint", "text", (column) => column.notNull())
    .addColumn("secret_version", "bigint", (column) => column.notNull())
    .addColumn("label", "text", (column) => column.notNull())
    .addColumn("weight", "integer", (column) => column.notNull())
    .addColumn("enabled", "integer", (column) => column.notNull())
    .addColumn("order", "bigint", (column) => column.notNull())
    .addColumn("disabled_code", "text")
    .addColumn("disabled_http_status", "integer")
    .addColumn("disabled_message", "text")
    .addColumn("disabled_at", "bigint")
    .addColumn("bindings_ended_at", "bigint")
    .addColumn("created_at", "bigint", (column) => column.notNull())
    .addColumn("updated_at", "bigint", (column) => column.notNull())
    .addUniqueConstraint("keys_value_once", ["provider_id", "fingerprint"])
    .execute();
}

async function createHealths(db: Kysely<Database>): Promise<void> {
  await db.schema
    .createTable("key_healths")
    .addColumn("key_id", "text", (column) => column.notNull().references("keys.id").onDelete("cascade"))
    .addColumn("model", "text", (column) => column.notNull())
    .addColumn("secret_version", "bigint", (column) => column.notNull())
    .addColumn("failures", "bigint", (column) => column.notNull())
    .addColumn("cooldowns", "bigint", (column) => column.notNull())
    .addColumn("failures_seen", "bigint", (column) => column.notNull())
    .addColumn("cooled_at", "bigint", (column) => column.notNull())
    .addColumn("cool_until", "bigint", (column) => column.notNull())
    .addColumn("wait", "text", (column) => column.notNull())
    .addColumn("reason_code", "text")
    .addColumn("reason_http_status", "integer")
    .addColumn("reason_message", "text")
    .addColumn("reason_at", "bigint")
    .addPrimaryKeyConstraint("key_healths_once", ["key_id", "model"])
    .execute();
}

async function createTokens(db: Kysely<Database>, engine: DatabaseEngine): Promise<void> {
  await engine
    .addSequence(db.schema.createTable("tokens"))
    .addColumn("id", "text", (column) => column.notNull().unique())
    .addColumn("name", "text", (column) => column.notNull())
    .addColumn("hash", "text", (column) => column.notNull().unique())
    .addColumn("prefix", "text", (column) => column.notNull())
    .addColumn("provider_ids", "text")
    .addColumn("expires_at", "bigint")
    .addColumn("max_requests_per_minute", "integer")
    .addColumn("max_concurrent", "integer")
    .addColumn("created_at", "bigint", (column) => column.notNull())
    .addColumn("last_used_at", "bigint")
    .execute();
}

async function createSessions(db: Kysely<Database>, engine: DatabaseEngine): Promise<void> {
  await engine
    .addSequence(db.schema.createTable("sessions"))
    .addColumn("id", "text", (column) => column.notNull())
    .addColumn("value_hash", "text", (column) => column.notNull())
    .addColumn("carrier", "text", (column) => column.notNull())
    .addColumn("provider_id", "text", (column) => column.notNull().references("providers.id").onDelete("cascade"))
    .addColumn("key_id", "text", (column) => column.notNull().references("keys.id").onDelete("cascade"))
    .addColumn("fingerprint_high", "bigint", (column) => column.notNull())
    .addColumn("fingerprint_low", "bigint", (column) => column.notNull())
    .addColumn("bound_at", "bigint", (column) => column.notNull())
    .addColumn("last_used_at", "bigint", (column) => column.notNull())
    .addColumn("requests", "bigint", (column) => column.notNull())
    .addUniqueConstraint("sessions_once", ["provider_id", "fingerprint_high", "fingerprint_low"])
    .execute();
  // The one index that every use of a session changes: pages of a provider, and what was idle for long.
  await createIndex(db, "sessions_by_use", ["provider_id", "last_used_at", "seq"]);
  await createIndex(db, "sessions_by_key", ["key_id"]);
  await createIndex(db, "sessions_by_id", ["id"]);
  await createIndex(db, "sessions_by_value", ["value_hash"]);
}

async function createPins(db: Kysely<Database>): Promise<void> {
  await db.schema
    .createTable("pins")
    .addColumn("provider_id", "text", (column) => column.notNull().references("providers.id").onDelete("cascade"))
    .addColumn("kind", "text", (column) => column.notNull())
    .addColumn("fingerprint_high", "bigint", (column) => column.notNull())
    .addColumn("fingerprint_low", "bigint", (column) => column.notNull())
    .addColumn("key_id", "text", (column) => column.notNull().references("keys.id").onDelete("cascade"))
    .addColumn("at", "bigint", (column) => column.notNull())
    .addPrimaryKeyConstraint("pins_once", ["provider_id", "kind", "fingerprint_high", "fingerprint_low"])
    .execute();
  await db.schema.createIndex("pins_by_age").on("pins").columns(["kind", "at"]).execute();
  await db.schema.createIndex("pins_by_key").on("pins").columns(["key_id"]).execute();
}

async function createRequests(db: Kysely<Database>): Promise<void> {
  await db.schema
    .createTable("requests")
    .addColumn("seq", "bigint", (column) => column.primaryKey())
    .addColumn("id", "text", (column) => column.notNull())
    .addColumn("provider_id", "text")
    .addColumn("key_id", "text")
    .addColumn("session_id", "text")
    .addColumn("status", "integer", (column) => column.notNull())
    .addColumn("failed", "integer", (column) => column.notNull())
    .addColumn("detail", "text", (column) => column.notNull())
    .execute();
  await db.schema.createIndex("requests_by_id").on("requests").columns(["id"]).execute();
  await db.schema.createIndex("requests_by_provider").on("requests").columns(["provider_id", "seq"]).execute();
  await db.schema.createIndex("requests_by_key").on("requests").columns(["key_id", "seq"]).execute();
  await db.schema
    .createIndex("requests_by_session")
    .on("requests")
    .columns(["session_id", "seq"])
    .where(sql`session_id`, "is not", null)
    .execute();
  await db.schema
    .createTable("request_tries")
    .addColumn("key_id", "text", (column) => column.notNull())
    .addColumn("seq", "bigint", (column) => column.notNull())
    .addPrimaryKeyConstraint("request_tries_once", ["key_id", "seq"])
    .execute();
  await db.schema.createIndex("request_tries_by_age").on("request_tries").columns(["seq"]).execute();
}

async function createUsage(db: Kysely<Database>): Promise<void> {
  await db.schema
    .createTable("usage_sums")
    .addColumn("span", "text", (column) => column.notNull())
    .addColumn("at", "bigint", (column) => column.notNull())
    .addColumn("provider_id", "text", (column) => column.notNull())
    .addColumn("key_id", "text", (column) => column.notNull())
    .addColumn("token_id", "text", (column) => column.notNull())
    .addColumn("model", "text", (column) => column.notNull())
    .addColumn("label", "text", (column) => column.notNull())
    .addColumn("requests", "bigint", (column) => column.notNull())
    .addColumn("errors", "bigint", (column) => column.notNull())
    .addColumn("failovers", "bigint", (column) => column.notNull())
    .addColumn("input_tokens", "bigint", (column) => column.notNull())
    .addColumn("cache_read_tokens", "bigint", (column) => column.notNull())
    .addColumn("cache_write_tokens", "bigint", (column) => column.notNull())
    .addColumn("output_tokens", "bigint", (column) => column.notNull())
    .addColumn("reasoning_tokens", "bigint", (column) => column.notNull())
    .addPrimaryKeyConstraint("usage_sums_once", ["span", "at", "provider_id", "key_id", "token_id", "model"])
    .execute();
  await db.schema
    .createTable("key_totals")
    .addColumn("key_id", "text", (column) => column.primaryKey())
    .addColumn("requests", "bigint", (column) => column.notNull())
    .addColumn("successes", "bigint", (column) => column.notNull())
    .addColumn("failures", "bigint", (column) => column.notNull())
    .addColumn("last_used_at", "bigint", (column) => column.notNull())
    .execute();
}

async function createWebhooks(db: Kysely<Database>, engine: DatabaseEngine): Promise<void> {
  await withSecret(engine.addSequence(db.schema.createTable("webhooks")))
    .addColumn("id", "text", (column) => column.notNull().unique())
    .addColumn("name", "text", (column) => column.notNull())
    .addColumn("url", "text", (column) => column.notNull())
    .addColumn("events", "text")
    .addColumn("enabled", "integer", (column) => column.notNull())
    .addColumn("disabled_reason", "text")
    .addColumn("created_at", "bigint", (column) => column.notNull())
    .addColumn("updated_at", "bigint", (column) => column.notNull())
    .execute();
  await engine
    .addSequence(db.schema.createTable("webhook_deliveries"))
    .addColumn("id", "text", (column) => column.notNull().unique())
    .addColumn("webhook_id", "text", (column) => column.notNull().references("webhooks.id").onDelete("cascade"))
    .addColumn("type", "text", (column) => column.notNull())
    .addColumn("body", "text", (column) => column.notNull())
    .addColumn("created_at", "bigint", (column) => column.notNull())
    .addColumn("attempts", "integer", (column) => column.notNull())
    .addColumn("next_at", "bigint")
    .addColumn("delivered", "integer", (column) => column.notNull())
    .addColumn("last_status", "integer")
    .addColumn("last_error", "text")
    .addColumn("last_at", "bigint")
    .execute();
  await db.schema.createIndex("webhook_deliveries_due").on("webhook_deliveries").columns(["next_at"]).execute();
  await db.schema
    .createIndex("webhook_deliveries_by_webhook")
    .on("webhook_deliveries")
    .columns(["webhook_id", "seq"])
    .execute();
}

async function createAffinity(db: Kysely<Database>): Promise<void> {
  await db.schema
    .createTable("affinity_sums")
    .addColumn("at", "bigint", (column) => column.notNull())
    .addColumn("provider_id", "text", (column) => column.notNull())
    .addColumn("source", "text", (column) => column.notNull())
    .addColumn("fate", "text", (column) => column.notNull())
    .addColumn("requests", "bigint", (column) => column.notNull())
    .addColumn("input_tokens", "bigint", (column) => column.notNull())
    .addColumn("cache_read_tokens", "bigint", (column) => column.notNull())
    .addColumn("cache_write_tokens", "bigint", (column) => column.notNull())
    .addPrimaryKeyConstraint("affinity_sums_once", ["at", "provider_id", "source", "fate"])
    .execute();
}

async function addGroups(db: Kysely<Database>): Promise<void> {
  await db.schema
    .alterTable("keys")
    .addColumn("group_name", "text", (column) => column.notNull().defaultTo(""))
    .execute();
  await db.schema.alterTable("key_healths").addColumn("reason_shared_from", "text").execute();
}

async function putRequestsInBlocks(db: Kysely<Database>, engine: DatabaseEngine): Promise<void> {
  await db.schema
    .createTable("request_blocks")
    .addColumn("last_seq", "bigint", (column) => column.primaryKey())
    .addColumn("first_seq", "bigint", (column) => column.notNull())
    .addColumn("first_started_at", "bigint", (column) => column.notNull())
    .addColumn("requests", "integer", (column) => column.notNull())
    .addColumn("data", engine.bytes, (column) => column.notNull())
    .execute();
  await db.schema
    .createTable("request_marks")
    .addColumn("mark", "text", (column) => column.notNull())
    .addColumn("last_seq", "bigint", (column) => column.notNull())
    .addPrimaryKeyConstraint("request_marks_once", ["mark", "last_seq"])
    .execute();
  await db.schema.createIndex("request_marks_by_age").on("request_marks").columns(["last_seq"]).execute();
  await moveRequestRows(db);
  await db.schema.dropTable("request_tries").execute();
  await db.schema.dropTable("requests").execute();
}

async function addWebhookStates(db: Kysely<Database>): Promise<void> {
  await db.schema
    .createTable("exhausted_pools")
    .addColumn("provider_id", "text", (column) => column.primaryKey().references("providers.id").onDelete("cascade"))
    .addColumn("at", "bigint", (column) => column.notNull())
    .addColumn("watched_at", "bigint", (column) => column.notNull())
    .execute();
  await db.schema.alterTable("webhooks").addColumn("former_sealed", "text").execute();
}

async function createIndex(db: Kysely<Database>, name: string, columns: (keyof Database["sessions"])[]): Promise<void> {
  await db.schema.createIndex(name).on("sessions").columns(columns).execute();
}

function withSecret<Table extends string, Columns extends string>(
  table: CreateTableBuilder<Table, Columns>,
): CreateTableBuilder<Table, Columns | "secret_kind" | "secret_sealed" | "secret_reference" | "secret_masked"> {
  return table
    .addColumn("secret_kind", "text")
    .addColumn("secret_sealed", "text")
    .addColumn("secret_reference", "text")
    .addColumn("secret_masked", "text");
}
