import {
  type ColumnDataType,
  type DataTypeNode,
  type Dialect,
  PostgresAdapter,
  PostgresDriver,
  PostgresIntrospector,
  PostgresQueryCompiler,
  sql,
} from "kysely";
import type { DatabaseEngine } from "./engine.ts";
import { explainPostgres } from "./postgres-faults.ts";
import { listenFor } from "./postgres-listener.ts";
import { createPool } from "./postgres-pool.ts";
import { nameOfDatabase } from "./postgres-url.ts";

/** What `NOTIFY` is sent on; each database has channels of its own. */
const channel = "keywheel_changed";
/** Of the lock under which tables are changed: "keywheel" in ASCII, as far as a bigint holds it. */
const tableLock = 7_738_151_095_927_727;

/** A PostgreSQL database, which several gateways may share. Nothing is opened before it is used. */
export function createPostgresEngine(url: string): DatabaseEngine {
  const name = nameOfDatabase(url);
  return {
    name,
    writer: createDialect(url, "write"),
    reader: createDialect(url, "search"),
    bytes: "bytea",
    addSequence: (table) =>
      table.addColumn("seq", "bigint", (column) => column.generatedByDefaultAsIdentity().primaryKey()),
    // What is deleted stays in dead rows until the database's own VACUUM, and in its log and backups: docs/scaling.md.
    scrub: async () => true,
    // Its checksums and its log are its own affair: damage is told by the statement that comes upon it.
    examine: async () => {},
    examineAll: async () => {},
    foldLog: async () => {},
    explain: (error) => explainPostgres(error, name),
    shared: {
      lockTables: async (trx) => void (await sql`select pg_advisory_xact_lock(${sql.lit(tableLock)})`.execute(trx)),
      relax: async (trx) => void (await sql`set local synchronous_commit to off`.execute(trx)),
      announce: async (trx) => void (await sql`select pg_notify(${sql.lit(channel)}, '')`.execute(trx)),
      listen: (onNews) => listenFor({ url, channel, onNews }),
    },
  };
}

function createDialect(url: string, purpose: "write" | "search"): Dialect {
  return {
    createDriver: () => new PostgresDriver({ pool: async () => createPool(url, purpose) }),
    createQueryCompiler: () => new ByteOrderCompiler(),
    createAdapter: () => new PostgresAdapter(),
    createIntrospector: (db) => new PostgresIntrospector(db),
  };
}

const text: ColumnDataType = "text";

/**
 * Makes columns of text compare byte by byte, as SQLite does. An order of words would differ from server to server, and an
 * index in one has to be made anew when the operating system's collations change.
 */
class ByteOrderCompiler extends PostgresQueryCompiler {
  protected override visitDataType(node: DataTypeNode): void {
    super.visitDataType(node);
    if (node.dataType === text) this.append(` collate "C"`);
  }
}
