import { createHash } from "node:crypto";
import pg from "pg";

/** How long a connection may take to be made, ms. */
const connectMs = 5000;
/** How long an answer may take, ms; a network that swallows everything says nothing. */
const answerMs = 10_000;
/** How long a statement waits for another gateway's transaction, ms: one that hangs must not hold up all others. */
const lockMs = 5000;
/** After this a transaction whose gateway has stopped in it is ended by the database, ms. */
const abandonedMs = 15_000;

/** What the driver gives otherwise than it is meant here, by the numbers of their types. */
type Parser = (text: string) => unknown;
const parsers: Readonly<Record<number, Parser>> = {
  // int8: all of ours count in what a number holds, and the driver would give them as text.
  20: Number,
  // text
  25: withNul,
};

/** What every connection to the database is made with. TLS is as the address says (`sslmode`, `sslrootcert` …). */
export function clientConfig(url: string): pg.ClientConfig {
  return {
    connectionString: url,
    application_name: "keywheel",
    connectionTimeoutMillis: connectMs,
    query_timeout: answerMs,
    lock_timeout: lockMs,
    idle_in_transaction_session_timeout: abandonedMs,
    keepAlive: true,
    keepAliveInitialDelayMillis: 10_000,
    types: { getTypeParser: (oid, format) => parsers[oid] ?? (pg.types.getTypeParser(oid, format) as Parser) },
  };
}

/** A kind of connection for a pool. What texts of PostgreSQL cannot hold is written otherwise, and read back as it was. */
export function pipeliningClient(config: pg.ClientConfig): typeof pg.Client {
  return class extends PostgresClient {
    constructor() {
      // Rows of one batch are sent without waiting for the answer to each.
      super({ ...config, pipeline: true });
      const send = this.query.bind(this) as (...call: readonly unknown[]) => unknown;
      let last: unknown;
      this.query = ((statement: unknown, values: unknown, callback: unknown) => {
        const isRepeated = typeof statement === "string" && statement === last;
        last = statement;
        if (!Array.isArray(values)) return send(statement, values, callback);
        const sent = values.map(withoutNul);
        return isRepeated ? send(prepared(statement, sent), callback) : send(statement, sent, callback);
      }) as typeof this.query;
    }
  };
}

/** Read and planned once for all rows of a batch. Only for those: the server keeps it until the connection ends. */
function prepared(text: string, values: unknown[]): pg.QueryConfig {
  return { name: createHash("sha256").update(text).digest("base64url"), text, values };
}

/** How long a server may take to say goodbye, ms. */
const goodbyeMs = 1000;

/** A connection that breaks, or is ended, without taking the process with it or holding it up. */
export class PostgresClient extends pg.Client {
  constructor(config: pg.ClientConfig) {
    super(config);
    // Whoever uses the connection hears it from the statement that fails; without a listener the process would end.
    this.on("error", () => {});
  }

  override end(): Promise<void>;
  override end(callback: (error: Error) => void): void;
  override end(callback?: (error: Error) => void): Promise<void> | void {
    // A server that answers nothing does not close the connection either.
    const timer = setTimeout(() => streamOf(this)?.destroy(), goodbyeMs);
    this.once("end", () => clearTimeout(timer));
    return callback === undefined ? super.end() : super.end(callback);
  }
}

/** The socket; not among the driver's types. */
function streamOf(client: pg.Client): Destroyable | undefined {
  return (client as { readonly connection?: { readonly stream?: Destroyable } }).connection?.stream;
}

interface Destroyable {
  destroy(): void;
}

const nul = "\0";
/** A character as rare, which stands for that one with `0` behind it, and for itself with `1`. */
const stand = "\x1A";

/** The one character that PostgreSQL's text cannot hold; clients may put it into names of models and sessions. */
function withoutNul(value: unknown): unknown {
  if (typeof value !== "string" || !(value.includes(nul) || value.includes(stand))) return value;
  return value.replaceAll(stand, `${stand}1`).replaceAll(nul, `${stand}0`);
}

function withNul(text: string): string {
  return text.includes(stand) ? text.replaceAll(`${stand}0`, nul).replaceAll(`${stand}1`, stand) : text;
}
