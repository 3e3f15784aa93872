import type { CompiledQuery, DatabaseConnection, Kysely } from "kysely";

/** A connection that runs one statement for many rows of parameters in one go. */
export interface BatchingConnection {
  /** @returns how many rows were changed in all */
  executeBatch(sql: string, rows: readonly (readonly unknown[])[]): Promise<number>;
}

/** A connection that runs a whole transaction in one go. */
export interface TransactingConnection {
  /** @returns what each row of each part has changed */
  executeTransaction(
    parts: readonly TransactionPart[],
    outlivesPower: boolean,
  ): Promise<readonly (readonly number[])[]>;
}

/** One statement, run once for each row of parameters, which replace the compiled ones. */
export interface TransactionPart {
  readonly query: CompiledQuery;
  readonly rows: readonly (readonly unknown[])[];
}

/** Rows in one message to the thread: large enough that the journey costs little, small enough to copy in a few ms. */
const batchSize = 1000;

/**
 * Runs a statement once for each row of parameters: no limit of variables, compiled once.
 *
 * A connection that is no `BatchingConnection` is sent them one behind the other, and has to take them without waiting for
 * the answers in between (`pipeline` of node-postgres). Inside a transaction they are part of it.
 *
 * @param query compiled with any parameters; each row replaces them, in the order of the compiled ones
 * @returns how many rows were changed in all
 */
export async function runMany<DB>(
  db: Kysely<DB>,
  query: CompiledQuery,
  rows: readonly (readonly unknown[])[],
): Promise<number> {
  return await db.getExecutor().provideConnection(async (connection) => {
    let changed = 0;
    for (let start = 0; start < rows.length; start += batchSize) {
      const batch = rows.slice(start, start + batchSize);
      if (isBatching(connection)) {
        changed += await connection.executeBatch(query.sql, batch);
        continue;
      }
      const answers = await Promise.allSettled(
        batch.map((parameters) => connection.executeQuery({ ...query, parameters })),
      );
      for (const answer of answers) {
        // The first failure is the reason; those behind it only say that the transaction has failed.
        if (answer.status === "rejected") throw answer.reason;
        changed += Number(answer.value.numAffectedRows ?? 0);
      }
    }
    return changed;
  });
}

/**
 * Runs statements in a transaction of their own, in one go.
 *
 * @param outlivesPower whether it is to be safe from a power cut as well, not only from the end of the process
 * @returns what each row of each part has changed; undefined if the connection cannot do that, and nothing was done
 */
export async function runTransaction<DB>(
  db: Kysely<DB>,
  parts: readonly TransactionPart[],
  outlivesPower: boolean,
): Promise<readonly (readonly number[])[] | undefined> {
  return await db.getExecutor().provideConnection(async (connection) => {
    if (!("executeTransaction" in connection)) return undefined;
    return await (connection as DatabaseConnection & TransactingConnection).executeTransaction(parts, outlivesPower);
  });
}

/**
 * Rows in the order of some columns, those of one kind all over the program in the same: transactions of several gateways
 * that lock the same rows in one order never wait for each other in a circle.
 */
export function inLockOrder<Row extends object>(rows: readonly Row[], columns: readonly (keyof Row)[]): Row[] {
  // Thousands at a time, where a pool has thousands of keys: no closure for each comparison.
  return [...rows].sort((one, other) => {
    for (let at = 0; at < columns.length; at++) {
      const column = columns[at] as keyof Row;
      if (one[column] !== other[column]) return one[column] < other[column] ? -1 : 1;
    }
    return 0;
  });
}

/** Rows as parameters of an insert of the first one. All come from one function, so their columns have one order. */
export function parametersOf(rows: readonly Readonly<Record<string, unknown>>[]): readonly (readonly unknown[])[] {
  return rows.map((row) => Object.values<unknown>(row));
}

function isBatching<T extends object>(connection: T): connection is T & BatchingConnection {
  return "executeBatch" in connection;
}
