import { Worker } from "node:worker_threads";
import { entryUrl } from "../package-root.ts";
import type { SqliteCommand, SqliteFault, SqliteReply, SqliteRequest, SqliteResult } from "./sqlite-protocol.ts";

/** What SQLite, or the thread that runs it, refused. The message holds names of tables and columns, never values. */
export class SqliteError extends Error {
  /** SQLite's extended result code; undefined if the thread itself failed. */
  readonly code: number | undefined;

  constructor({ message, code }: SqliteFault) {
    super(message);
    this.name = "SqliteError";
    this.code = code;
  }
}

interface Waiting {
  readonly resolve: (result: SqliteResult) => void;
  readonly reject: (error: SqliteError) => void;
}

/** A connection to a database, in a thread of its own. It keeps the process alive only while it owes an answer. */
export class SqliteThread {
  readonly #worker: Worker;
  readonly #waiting = new Map<number, Waiting>();
  readonly #exited: Promise<void>;
  #lastId = 0;
  #fault: SqliteFault | undefined;

  constructor() {
    this.#worker = new Worker(entryUrl("store/sqlite-worker"), {
      env: {},
      execArgv: ["--disable-warning=ExperimentalWarning"],
    });
    this.#worker.unref();
    this.#worker.on("message", (reply: SqliteReply) => this.#settle(reply));
    this.#worker.on("error", (error: unknown) => this.#fail(error instanceof Error ? error.message : String(error)));
    this.#exited = new Promise((resolve) => {
      this.#worker.once("exit", () => {
        this.#fail("it is closed");
        resolve();
      });
    });
  }

  /** Whether the thread has ended; it is not started again, a new one is. */
  get hasEnded(): boolean {
    return this.#fault !== undefined;
  }

  /** @throws SqliteError */
  send(command: SqliteCommand): Promise<SqliteResult> {
    if (this.#fault !== undefined) return Promise.reject(new SqliteError(this.#fault));
    const id = ++this.#lastId;
    const request: SqliteRequest = { id, command };
    return new Promise((resolve, reject) => {
      // oxlint-disable-next-line unicorn/require-post-message-target-origin -- a thread has no origin, a window would
      this.#worker.postMessage(request);
      if (this.#waiting.size === 0) this.#worker.ref();
      this.#waiting.set(id, { resolve, reject });
    });
  }

  /** Closes the connection and ends the thread; what was sent before is done first. */
  async close(): Promise<void> {
    if (this.#fault === undefined) await this.send({ kind: "close" });
    // The answer has let go of the process; the end of the thread is worth waiting for.
    this.#worker.ref();
    await this.#exited;
  }

  /** Ends the thread in the middle of what it does. */
  cut(): void {
    this.#fail("it was cut off");
    void this.#worker.terminate();
  }

  #settle(reply: SqliteReply): void {
    const waiting = this.#waiting.get(reply.id);
    this.#waiting.delete(reply.id);
    if (this.#waiting.size === 0) this.#worker.unref();
    if ("fault" in reply) waiting?.reject(new SqliteError(reply.fault));
    else waiting?.resolve(reply.result);
  }

  #fail(why: string): void {
    this.#fault ??= { message: `the thread of the database has ended: ${why}`, code: undefined };
    const error = new SqliteError(this.#fault);
    for (const waiting of this.#waiting.values()) waiting.reject(error);
    this.#waiting.clear();
  }
}
