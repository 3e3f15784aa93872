import {
  CompiledQuery,
  type DatabaseConnection,
  type Dialect,
  type Driver,
  type QueryResult,
  SqliteAdapter,
  SqliteIntrospector,
  SqliteQueryCompiler,
} from "kysely";
import type { BatchingConnection, TransactingConnection, TransactionPart } from "./run-many.ts";
import type { SqliteValue } from "./sqlite-protocol.ts";
import { SqliteError, SqliteThread } from "./sqlite-thread.ts";

export interface SqliteDialectOptions {
  readonly file: string;
  readonly readOnly: boolean;
  /** How long a statement waits for a lock that another process holds. */
  readonly busyTimeoutMs: number;
}

/** SQLite of Node itself, in a worker thread: a locked or slow database never holds up the event loop. */
export function createSqliteDialect(options: SqliteDialectOptions): Dialect {
  return {
    createDriver: () => new SqliteThreadDriver(options),
    createQueryCompiler: () => new SqliteQueryCompiler(),
    // One connection: kysely hands it to one transaction at a time.
    createAdapter: () => new SqliteAdapter(),
    createIntrospector: (db) => new SqliteIntrospector(db),
  };
}

const sqliteBusy = 5;
/** How long a lock is waited for that has just been waited for in vain. */
const lockedWaitMs = 250;

class SqliteThreadDriver implements Driver {
  readonly #options: SqliteDialectOptions;
  #connection: SqliteConnection | undefined;
  readonly #patience = new Patience();

  constructor(options: SqliteDialectOptions) {
    this.#options = options;
  }

  async init(): Promise<void> {
    this.#connection = await openConnection(this.#options, this.#patience);
  }

  /** The connection; opened anew if the last one is in doubt, so that a disk that came back is used again. */
  async acquireConnection(): Promise<DatabaseConnection> {
    if (this.#connection?.isSound === true) return this.#connection;
    await this.#connection?.close();
    this.#connection = undefined;
    this.#connection = await openConnection(this.#options, this.#patience);
    return this.#connection;
  }

  async beginTransaction(connection: DatabaseConnection): Promise<void> {
    // Immediate: the lock is waited for here, where the busy timeout counts. A read that turns into a write gets no wait.
    if (!(connection instanceof SqliteConnection)) return;
    const { readOnly, busyTimeoutMs } = this.#options;
    await this.#patience.within(busyTimeoutMs, (waitMs) =>
      connection.begin(readOnly ? "begin" : "begin immediate", waitMs),
    );
  }

  async commitTransaction(connection: DatabaseConnection): Promise<void> {
    await connection.executeQuery(CompiledQuery.raw("commit"));
  }

  async rollbackTransaction(connection: DatabaseConnection): Promise<void> {
    if (connection instanceof SqliteConnection) await connection.rollback();
  }

  async releaseConnection(): Promise<void> {
    // The one connection stays open.
  }

  async destroy(): Promise<void> {
    await this.#connection?.close();
  }
}

/** Whoever stands behind one that waited for a lock in vain has waited as well: forty must not wait forty times as long. */
class Patience {
  /** Whether the last transaction found the database locked, for as long as it would wait. */
  #isLocked = false;

  async within<T>(usualMs: number, begin: (waitMs: number) => Promise<T>): Promise<T> {
    try {
      const begun = await begin(this.#isLocked ? Math.min(lockedWaitMs, usualMs) : usualMs);
      this.#isLocked = false;
      return begun;
    } catch (error) {
      this.#isLocked = error instanceof SqliteError && ((error.code ?? 0) & 0xff) === sqliteBusy;
      throw error;
    }
  }
}

async function openConnection(options: SqliteDialectOptions, patience: Patience): Promise<SqliteConnection> {
  const { file, readOnly, busyTimeoutMs } = options;
  const thread = new SqliteThread();
  try {
    await thread.send({ kind: "open", file, readOnly, busyTimeoutMs });
    return new SqliteConnection(thread, patience, busyTimeoutMs);
  } catch (error) {
    await thread.close();
    throw error;
  }
}

// SQLITE_READONLY, SQLITE_IOERR, SQLITE_CORRUPT, SQLITE_CANTOPEN, SQLITE_NOTADB: the file behind the handle may have
// been replaced, and a handle keeps what it once saw.
const doubtfulCodes: ReadonlySet<number> = new Set([8, 10, 11, 14, 26]);

class SqliteConnection implements DatabaseConnection, BatchingConnection, TransactingConnection {
  readonly #thread: SqliteThread;
  readonly #patience: Patience;
  readonly #busyTimeoutMs: number;
  #isDoubtful = false;

  constructor(thread: SqliteThread, patience: Patience, busyTimeoutMs: number) {
    this.#thread = thread;
    this.#patience = patience;
    this.#busyTimeoutMs = busyTimeoutMs;
  }

  get isSound(): boolean {
    return !this.#isDoubtful && !this.#thread.hasEnded;
  }

  async executeQuery<R>({ sql, parameters }: CompiledQuery): Promise<QueryResult<R>> {
    const { rows, changes } = await this.#watch(
      this.#thread.send({ kind: "query", sql, parameters: parameters as readonly SqliteValue[] }),
    );
    return { rows: rows as R[], numAffectedRows: BigInt(changes) };
  }

  async executeBatch(sql: string, rows: readonly (readonly unknown[])[]): Promise<number> {
    const batch = rows as readonly (readonly SqliteValue[])[];
    return (await this.#watch(this.#thread.send({ kind: "batch", sql, rows: batch }))).changes;
  }

  async executeTransaction(
    parts: readonly TransactionPart[],
    outlivesPower: boolean,
  ): Promise<readonly (readonly number[])[]> {
    const texts = parts.map(({ query: { sql }, rows }) => ({ sql, rows: rows as readonly (readonly SqliteValue[])[] }));
    const { changesOf } = await this.#patience.within(this.#busyTimeoutMs, (waitMs) =>
      this.#watch(this.#thread.send({ kind: "transaction", parts: texts, waitMs, outlivesPower })),
    );
    return changesOf ?? [];
  }

  // oxlint-disable-next-line require-yield -- the interface asks for it; every reader of ours pages by key instead
  async *streamQuery<R>(): AsyncIterableIterator<QueryResult<R>> {
    throw new Error("streaming is not supported: an open cursor would hold up the other statements of the thread");
  }

  async begin(sql: "begin" | "begin immediate", waitMs: number): Promise<void> {
    await this.#watch(this.#thread.send({ kind: "begin", sql, waitMs }));
  }

  async rollback(): Promise<void> {
    await this.#thread.send({ kind: "rollback" });
  }

  async close(): Promise<void> {
    await this.#thread.close();
  }

  async #watch<T>(answer: Promise<T>): Promise<T> {
    try {
      return await answer;
    } catch (error) {
      if (error instanceof SqliteError && doubtfulCodes.has((error.code ?? 0) & 0xff)) this.#isDoubtful = true;
      throw error;
    }
  }
}
