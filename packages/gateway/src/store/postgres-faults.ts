import pg from "pg";
import type { EngineFault } from "./engine.ts";

type Unavailable = EngineFault & { kind: "unavailable" };

/** By SQLSTATE. @see https://www.postgresql.org/docs/current/errcodes-appendix.html */
export function explainPostgres(error: unknown, name: string): EngineFault {
  if (!(error instanceof pg.DatabaseError)) return explainConnection(error, name);
  const { code = "" } = error;
  switch (code) {
    case "23505": // unique_violation
      return { kind: "taken", columns: columnsOf(error.constraint ?? "") };
    case "23503": // foreign_key_violation
      return { kind: "orphan" };
    case "40001": // serialization_failure
    case "40P01": // deadlock_detected
      return { kind: "crossed" };
    case "25006": // read_only_sql_transaction
      return unavailable(`${name} takes no writes`, "It is a standby, or was made read-only: name the primary.");
    case "55P03": // lock_not_available
      return unavailable(`${name} is held up by another transaction`, "End whatever holds its tables locked.");
    case "57014": // query_canceled
      return unavailable(`${name} gave up a statement: ${error.message}`, "See what keeps it busy; it is tried again.");
    case "3D000": // invalid_catalog_name
      return unavailable(`${name} does not exist`, "Make the database (createdb), or correct --database-url.");
    case "42501": // insufficient_privilege
      return unavailable(
        `${name} does not let this user in: ${error.message}`,
        "The user must own the database's tables: GRANT CREATE ON SCHEMA public, or give it a database of its own.",
      );
    case "42P01": // undefined_table
      return unavailable(
        `${name} has lost tables: ${error.message}`,
        "Put them back from a backup. What this gateway still serves can be kept: keywheel export.",
      );
    case "53100": // disk_full
      return unavailable(`The disk of ${name} is full`, "Free some space.");
    case "53300": // too_many_connections
      return unavailable(`${name} has no connection left`, "Raise max_connections: each gateway takes up to four.");
    case "57P03": // cannot_connect_now
      return away(`${name} is starting or stopping`);
  }
  if (code === "XX001" || code === "XX002") {
    // data_corrupted, index_corrupted
    const hint = "Put a backup in its place, or see what pg_amcheck says. It was not touched.";
    // Not `damaged`, which lasts until a look at the whole database finds nothing: that look is pg_amcheck's.
    return unavailable(`${name} is damaged: ${error.message}`, hint);
  }
  // By class: authorization, connection, resources, operator intervention, system error, corruption.
  if (code.startsWith("28")) return unavailable(`${name} refused the sign-in: ${error.message}`, signIn);
  if (/^(08|53|57|58|XX|25P03)/.test(code)) return away(`${name}: ${error.message}`);
  return { kind: "unexpected" };
}

const tls =
  "Correct sslmode, sslrootcert, sslcert and sslkey in --database-url; `sslmode=disable` only where nobody listens in.";
const signIn = "Check the user and the password in --database-url, and pg_hba.conf of the server.";

/** Words of node-postgres for a connection that is gone; it gives them no code. */
const gone = /^(Connection terminated|timeout expired|Query read timeout|Client (has encountered|was closed))/;

function explainConnection(error: unknown, name: string): EngineFault {
  if (!(error instanceof Error)) return { kind: "unexpected" };
  const code = "code" in error && typeof error.code === "string" ? error.code : undefined;
  if ("syscall" in error && error.syscall === "open" && "path" in error) {
    return unavailable(`${name}: ${String(error.path)} cannot be read (${code})`, tls);
  }
  if (gone.test(error.message)) return away(`${name}: ${lowerFirst(error.message)}`);
  if (code === "ECONNREFUSED" || code === "ENOENT") return away(`${name} is not there: nothing listens`);
  if (code === "ENOTFOUND" || code === "EAI_AGAIN") return away(`${name}: its host is not found`);
  if (code !== undefined && /^E[A-Z]+$/.test(code)) return away(`${name} is not to be reached (${code})`);
  if (/SSL|certificate/i.test(`${code} ${error.message}`)) {
    return unavailable(`${name}: no TLS connection (${error.message})`, tls);
  }
  // The driver's own words for an address without a password.
  if (/client password must be a string/.test(error.message)) {
    return unavailable(`${name} asks for a password`, "Put it into --database-url, or into PGPASSWORD.");
  }
  if (/^SASL|password/i.test(error.message))
    return unavailable(`${name} refused the sign-in: ${error.message}`, signIn);
  return { kind: "unexpected" };
}

function unavailable(message: string, hint: string): Unavailable {
  return { kind: "unavailable", message, hint };
}

function away(message: string): Unavailable {
  return { kind: "unavailable", message, hint: "Start it, or see its log; it is tried again.", mayPass: true };
}

/** Names that we gave, and those that PostgreSQL makes of `unique()`. Its message would depend on the server's language. */
function columnsOf(constraint: string): readonly string[] {
  if (constraint === "keys_value_once") return ["provider_id", "fingerprint"];
  return [constraint.replace(/^(providers|keys|tokens)_/, "").replace(/_key$/, "")];
}

function lowerFirst(text: string): string {
  return text.slice(0, 1).toLowerCase() + text.slice(1);
}
