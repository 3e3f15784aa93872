import { createHash } from "node:crypto";
import { existsSync } from "node:fs";
import { join } from "node:path";
import { KeywheelError } from "@keywheel/pool";
import { Kysely, sql, type Transaction } from "kysely";
import { lockDataDir } from "./data-dir-lock.ts";
import type { DatabaseEngine } from "./engine.ts";
import { migrate } from "./migrations.ts";
import { createPostgresEngine } from "./postgres-engine.ts";
import type { Database } from "./schema.ts";
import { createSqliteEngine, databaseFile } from "./sqlite-engine.ts";
import { toKeywheelError } from "./store-errors.ts";

type Table = Exclude<keyof Database, "migrations">;

/** Each with the columns of its key, in an order in which nothing refers to what is not there yet. */
const tables: Readonly<Record<Table, readonly string[]>> = {
  providers: ["seq"],
  keys: ["seq"],
  key_healths: ["key_id", "model"],
  tokens: ["seq"],
  webhooks: ["seq"],
  webhook_deliveries: ["seq"],
  exhausted_pools: ["provider_id"],
  sessions: ["seq"],
  pins: ["provider_id", "kind", "fingerprint_high", "fingerprint_low"],
  request_blocks: ["last_seq"],
  request_marks: ["mark", "last_seq"],
  usage_sums: ["span", "at", "provider_id", "key_id", "token_id", "model"],
  affinity_sums: ["at", "provider_id", "source", "fate"],
  key_totals: ["key_id"],
  meta: ["name"],
};
const tableNames = Object.keys(tables) as Table[];
/** Those whose rows the database numbers. */
const numbered: readonly Table[] = ["providers", "keys", "tokens", "webhooks", "webhook_deliveries", "sessions"];

/** Rows read and written at once: few enough for the parameters that one statement takes. */
const rowsAtOnce = 500;
/** The same of a table whose rows are large. */
const blocksAtOnce = 20;

export interface MoveOptions {
  readonly dataDir: string;
  /** `postgres://…` */
  readonly to: string;
  /** Told of each table once it is there. */
  readonly onTable?: (table: string, rows: number) => void;
  /** Told how many rows of all were copied, page by page. */
  readonly onRows?: (done: number, all: number) => void;
  /** Called when everything is there and compared, and nothing is durable; tests cut it off there. */
  readonly beforeCommit?: () => void;
}

export interface MoveOutcome {
  /** Without a password. */
  readonly to: string;
  /** Rows by table. */
  readonly rows: Readonly<Record<string, number>>;
  /** Everything was there already, from an earlier run. */
  readonly wasDone: boolean;
}

/**
 * Copies the embedded database into an empty PostgreSQL database, compares every row, and leaves the embedded one as it is.
 *
 * All of it is one transaction there: what is cut off has done nothing, and is simply done again. Sealed values are copied
 * as they are, and opened by the same master key.
 *
 * @throws KeywheelError conflict while a gateway has the data directory or if the other database is not empty, not_found
 *   where there is no embedded one, store_unavailable if anything cannot be read or written or comes out different
 */
export async function moveStore(options: MoveOptions): Promise<MoveOutcome> {
  const { dataDir, to } = options;
  if (!existsSync(join(dataDir, databaseFile))) {
    throw new KeywheelError("not_found", `There is no database in ${dataDir}`, {
      hint: "Say which data directory you mean with --data-dir.",
    });
  }
  const lock = lockDataDir(dataDir);
  const [source, target] = [createSqliteEngine({ dataDir, busyTimeoutMs: 5000 }), createPostgresEngine(to)];
  const [from, into] = [source, target].map((engine) => new Kysely<Database>({ dialect: engine.writer }));
  if (from === undefined || into === undefined) throw new Error("two engines, two databases");
  try {
    // An older database is brought to this version's shape first, as a start would.
    await explained(source, () => from.transaction().execute((trx) => migrate(trx, source, { now: Date.now() })));
    return await explained(target, () => into.transaction().execute((trx) => move(from, trx, target, options)));
  } finally {
    await Promise.allSettled([from.destroy(), into.destroy()]);
    lock.release();
  }
}

async function move(
  from: Kysely<Database>,
  into: Transaction<Database>,
  engine: DatabaseEngine,
  { onTable = () => {}, onRows, beforeCommit = () => {} }: MoveOptions,
): Promise<MoveOutcome> {
  await engine.shared?.lockTables(into);
  await migrate(into, engine, { now: Date.now() });
  const filled = await firstFilled(into);
  if (filled !== undefined)
    return { to: engine.name, rows: await compareDone(from, into, engine, filled), wasDone: true };
  const rows: Record<string, number> = {};
  const all = onRows === undefined ? 0 : await countRows(from);
  let copied = 0;
  for (const table of tableNames) {
    const digest = new Digest();
    for await (const page of pagesOf(from, table)) {
      await into.insertInto(table).values(page).execute();
      digest.add(page);
      copied += page.length;
      onRows?.(copied, all);
    }
    await compare(table, digest, await digestOf(into, table));
    rows[table] = digest.count;
    onTable(table, digest.count);
  }
  for (const table of numbered) await continueNumbers(into, table);
  beforeCommit();
  return { to: engine.name, rows, wasDone: false };
}

async function countRows(db: Kysely<Database>): Promise<number> {
  let count = 0;
  for (const table of tableNames) {
    const { rows } = await sql<{ count: number }>`select count(*) as count from ${sql.table(table)}`.execute(db);
    count += rows[0]?.count ?? 0;
  }
  return count;
}

/** An earlier run may have been cut off when all was done, before it could say so. @throws KeywheelError conflict */
async function compareDone(
  from: Kysely<Database>,
  into: Kysely<Database>,
  engine: DatabaseEngine,
  filled: Table,
): Promise<Record<string, number>> {
  const rows: Record<string, number> = {};
  for (const table of tableNames) {
    const [here, there] = [await digestOf(from, table), await digestOf(into, table)];
    if (!here.equals(there)) {
      const message = `${engine.name} is not empty: it holds rows in ${filled}, and is no copy of this data directory`;
      throw new KeywheelError("conflict", message, { hint: "Name an empty database. Nothing was changed." });
    }
    rows[table] = here.count;
  }
  return rows;
}

async function firstFilled(db: Kysely<Database>): Promise<Table | undefined> {
  for (const table of tableNames) {
    const { rows } = await sql`select 1 from ${sql.table(table)} limit 1`.execute(db);
    if (rows.length > 0) return table;
  }
  return undefined;
}

type Row = Readonly<Record<string, unknown>>;

/** All rows of a table in the order of its key, which is an index. */
async function* pagesOf(db: Kysely<Database>, table: Table): AsyncIterable<readonly Row[]> {
  const key = tables[table].map((column) => sql.ref(column));
  const atOnce = table === "request_blocks" ? blocksAtOnce : rowsAtOnce;
  let last: Row | undefined;
  for (;;) {
    const values = tables[table].map((column) => sql`${last?.[column]}`);
    const behind = last === undefined ? sql`` : sql`where (${sql.join(key)}) > (${sql.join(values)})`;
    const { rows } = await sql<Row>`
      select * from ${sql.table(table)} ${behind} order by ${sql.join(key)} limit ${sql.lit(atOnce)}`.execute(db);
    last = rows.at(-1);
    const kept = table === "meta" ? rows.filter(({ name }) => !ownNames.has(String(name))) : rows;
    if (kept.length > 0) yield kept;
    if (rows.length < atOnce) return;
  }
}

/** What a database says of itself, not of what it holds. */
const ownNames: ReadonlySet<string> = new Set(["scrub_due", "last_opened_at", "last_recovered_at", "database_id"]);

async function digestOf(db: Kysely<Database>, table: Table): Promise<Digest> {
  const digest = new Digest();
  for await (const page of pagesOf(db, table)) digest.add(page);
  return digest;
}

async function compare(table: Table, here: Digest, there: Digest): Promise<void> {
  if (here.equals(there)) return;
  const message = `The copy of ${table} is not what was copied: ${here.count} rows here, ${there.count} there`;
  throw new KeywheelError("store_unavailable", message, {
    hint: "Nothing was kept of it. Please report this; the embedded database is as it was.",
  });
}

/** Of all rows and everything in them, whatever their order: two databases may order the same texts differently. */
class Digest {
  count = 0;
  #sum = 0n;

  add(rows: readonly Row[]): void {
    for (const row of rows) {
      const values = Object.entries(row).map(([name, value]) => [
        name,
        value instanceof Uint8Array ? digestOfBytes(value) : value,
      ]);
      const text = JSON.stringify(values.sort(([one], [other]) => (String(one) < String(other) ? -1 : 1)));
      this.#sum += BigInt(`0x${createHash("sha256").update(text).digest("hex")}`);
      this.count += 1;
    }
  }

  equals(other: Digest): boolean {
    return this.count === other.count && this.#sum === other.#sum;
  }
}

function digestOfBytes(bytes: Uint8Array): string {
  return createHash("sha256").update(bytes).digest("base64");
}

async function continueNumbers(into: Kysely<Database>, table: Table): Promise<void> {
  await sql`
    select setval(pg_get_serial_sequence(${sql.lit(table)}, 'seq'), coalesce(max(seq), 0) + 1, false)
    from ${sql.table(table)}`.execute(into);
}

async function explained<T>(engine: DatabaseEngine, work: () => Promise<T>): Promise<T> {
  try {
    return await work();
  } catch (error) {
    throw toKeywheelError(error, engine);
  }
}
