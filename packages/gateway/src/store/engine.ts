import type { CreateTableBuilder, Dialect, Kysely, Transaction } from "kysely";
import type { Database } from "./schema.ts";

/** What a database made of a statement that failed, told apart as far as the store's callers must. */
export type EngineFault =
  /** A unique column holds that value already: `keys.id`, `providers.slug`. */
  | { readonly kind: "taken"; readonly columns: readonly string[] }
  /** The row that this one belongs to is gone. */
  | { readonly kind: "orphan" }
  /** Another transaction was in the way, and this one was given up: it may be run again. */
  | { readonly kind: "crossed" }
  /** Nothing can be written or read at the moment. */
  | {
      readonly kind: "unavailable";
      readonly message: string;
      readonly hint: string;
      /** Waiting may help: it is not there, as against refusing us. */
      readonly mayPass?: boolean;
    }
  /** What is stored cannot be read, or not all of it; nothing but a backup brings that back. */
  | { readonly kind: "damaged"; readonly message: string; readonly hint: string }
  /** A mistake of ours. */
  | { readonly kind: "unexpected" };

/** Everything in which one database differs from another. What lies above speaks kysely. */
export interface DatabaseEngine {
  /** For messages: the file, or the address without its password. */
  readonly name: string;
  /** A connection for writing, one at a time. */
  readonly writer: Dialect;
  /** A connection beside it for long reads; made when first used. */
  readonly reader: Dialect;
  /** What a column of bytes is. */
  readonly bytes: "blob" | "bytea";
  /** Adds the primary key `seq`, which grows with each row. */
  addSequence<Table extends string, Columns extends string>(
    table: CreateTableBuilder<Table, Columns>,
  ): CreateTableBuilder<Table, Columns | "seq">;
  /**
   * Takes out of the database's files what deleted and replaced values have left there.
   *
   * @param db the writer; it is kept from others meanwhile
   * @returns false if somebody reads just now and it has to be tried again
   */
  scrub(db: Kysely<Database>): Promise<boolean>;
  /**
   * Looks at the tables without which nothing can be served, before anything is written. Tables that are not there yet are
   * none to look at.
   *
   * @throws whatever `explain` takes for damage
   */
  examine(db: Kysely<Database>, tables: readonly (keyof Database)[]): Promise<void>;
  /** The same with everything there is, over a connection of its own. Takes its time; nobody waits for it meanwhile. */
  examineAll(): Promise<void>;
  /**
   * Puts what lies in the log into the database itself, as far as nobody reads it just now: a log that is lost, to somebody
   * who tidies up, takes little with it then.
   *
   * @param db the writer
   */
  foldLog(db: Kysely<Database>): Promise<void>;
  explain(error: unknown): EngineFault;
  /** What several gateways on one database need; undefined where this process has the database alone. */
  readonly shared?: SharedDatabase;
}

/** How gateways that share a database keep out of each other's way, and hear of each other. */
export interface SharedDatabase {
  /** Holds up other gateways that are about to change the tables, until the end of the transaction. */
  lockTables(trx: Transaction<Database>): Promise<void>;
  /**
   * Lets the transaction count before it is on the disk, where a second's worth may be lost with the server's machine. Many
   * gateways add to the same sums: while one waited for the disk, all others would wait for it.
   */
  relax(trx: Transaction<Database>): Promise<void>;
  /** Tells all gateways, once the transaction is durable, that the configuration has changed. */
  announce(trx: Transaction<Database>): Promise<void>;
  /**
   * Listens for what others announce, over a connection of its own that is made anew when it breaks.
   *
   * @param onNews also called when it has begun to listen: what was announced before was missed
   */
  listen(onNews: () => void): { close(): Promise<void> };
}
