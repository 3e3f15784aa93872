import type { CreateTableBuilder, Dialect, Kysely } from "kysely";
import type { Database } from "./schema.ts";

/** What a database made of a statement that failed, told apart as far as the store's callers must. */
export type EngineFault =
  /** A unique column holds that value already: `keys.id`, `providers.slug`. */
  | { readonly kind: "taken"; readonly columns: readonly string[] }
  /** The row that this one belongs to is gone. */
  | { readonly kind: "orphan" }
  /** Nothing can be written or read at the moment. */
  | { readonly kind: "unavailable"; readonly message: string; readonly hint: string }
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
  explain(error: unknown): EngineFault;
}
