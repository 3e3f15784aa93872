/** What SQLite can hold, as it crosses between the threads. */
export type SqliteValue = null | number | bigint | string | Uint8Array;

/** What the thread of the database is asked to do. Commands take effect in the order in which they were sent. */
export type SqliteCommand =
  | { readonly kind: "open"; readonly file: string; readonly readOnly: boolean; readonly busyTimeoutMs: number }
  /** Begins a transaction, unless the files that were opened are no longer those of their names; waits so long for a lock. */
  | { readonly kind: "begin"; readonly sql: "begin" | "begin immediate"; readonly waitMs: number }
  | { readonly kind: "query"; readonly sql: string; readonly parameters: readonly SqliteValue[] }
  /** One statement for each row of parameters, prepared once. */
  | { readonly kind: "batch"; readonly sql: string; readonly rows: readonly (readonly SqliteValue[])[] }
  /** Statements for many rows of parameters, all in one transaction of their own. @see SqliteTransaction */
  | ({ readonly kind: "transaction" } & SqliteTransaction)
  /** Ends the open transaction; none is open any more after a full disk, and that is no error. */
  | { readonly kind: "rollback" }
  | { readonly kind: "close" };

export interface SqliteTransaction {
  readonly parts: readonly { readonly sql: string; readonly rows: readonly (readonly SqliteValue[])[] }[];
  /** How long a lock is waited for, ms. */
  readonly waitMs: number;
  /** Whether it outlives a power cut; else it outlives the process, `kill -9` included. */
  readonly outlivesPower: boolean;
}

/** Extended result codes that SQLite leaves free, for what only a look at the files can tell. The low byte is SQLite's. */
export const ownFaults = {
  /** SQLITE_CANTOPEN. */
  replaced: 14 | (200 << 8),
  logReplaced: 14 | (201 << 8),
  /** SQLITE_CORRUPT. */
  cutShort: 11 | (200 << 8),
} as const;

export interface SqliteRequest {
  readonly id: number;
  readonly command: SqliteCommand;
}

export interface SqliteResult {
  readonly rows: readonly Readonly<Record<string, SqliteValue>>[];
  readonly changes: number;
  /** Of a transaction in one piece: what each row of each part has changed. */
  readonly changesOf?: readonly (readonly number[])[];
}

export interface SqliteFault {
  readonly message: string;
  /** SQLite's extended result code; undefined for what did not come from SQLite. */
  readonly code: number | undefined;
}

export type SqliteReply =
  | { readonly id: number; readonly result: SqliteResult }
  | { readonly id: number; readonly fault: SqliteFault };
