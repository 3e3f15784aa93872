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
import type { BatchingConnection } from "./run-many.ts";
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
  /** Whether the last transaction found the database locked, for as long as it would wait. */
  #isLocked = false;

  constructor(options: SqliteDialectOptions) {
    this.#options = options;
  }

  async init(): Promise<void> {
    this.#connection = await openConnection(this.#options);
  }

  /** The connection; opened anew if the last one is in doubt, so that a disk that came back is used again. */
  async acquireConnection(): Promise<DatabaseConnection> {
    if (this.#connection?.isSound === true) return this.#connection;
    await this.#connection?.close();
    this.#connection = undefined;
    this.#connection = await openConnection(this.#options);
    return this.#connection;
  }

  async beginTransaction(connection: DatabaseConnection): Promise<void> {
    // Immediate: the lock is waited for here, where the busy timeout counts. A read that turns into a write gets no wait.
    if (!(connection instanceof SqliteConnection)) return;
    const { readOnly, busyTimeoutMs } = this.#options;
    // Whoever stands behind one that waited in vain has waited as well: forty of them must not wait forty times as long.
    const waitMs = this.#isLocked ? Math.min(lockedWaitMs, busyTimeoutMs) : busyTimeoutMs;
    try {
      await connection.begin(readOnly ? "begin" : "begin immediate", waitMs);
      this.#isLocked = false;
    } catch (error) {
      this.#isLocked = error instanceof SqliteError && ((error.code ?? 0) & 0xff) === sqliteBusy;
      throw error;
    }
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

async function openConnection({ file, readOnly, busyTimeoutMs }: SqliteDialectOptions): Promise<SqliteConnection> {
  const thread = new SqliteThread();
  try {
    await thread.send({ kind: "open", file, readOnly, busyTimeoutMs });
    return new SqliteConnection(thread);
  } catch (error) {
    await thread.close();
    throw error;
  }
}

// SQLITE_READONLY, SQLITE_IOERR, SQLITE_CORRUPT, SQLITE_CANTOPEN, SQLITE_NOTADB: the file behind the handle may have
// been replaced, and a handle keeps what it once saw.
const doubtfulCodes: ReadonlySet<number> = new Set([8, 10, 11, 14, 26]);

class SqliteConnection implements DatabaseConnection, BatchingConnection {
  readonly #thread: SqliteThread;
  #isDoubtful = false;

  constructor(thread: SqliteThread) {
    this.#thread = thread;
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
