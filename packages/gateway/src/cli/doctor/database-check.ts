import { existsSync } from "node:fs";
import { join } from "node:path";
import { DatabaseSync } from "node:sqlite";
import { databaseFile } from "../../store/sqlite-engine.ts";
import { reasonOf } from "../../store/private-files.ts";
import { type Check, fail, ok } from "./check.ts";

export interface DatabaseFinding {
  readonly check: Check;
  /** Whether a start made an admin token and it is kept there. */
  readonly hasAdminToken: boolean;
}

/**
 * Has SQLite look at every page of the database. It only reads, and does not hold up a gateway that writes meanwhile; this
 * process must not have the database open otherwise (see the README of the store).
 */
export function checkDatabase(dataDir: string): DatabaseFinding {
  const file = join(dataDir, databaseFile);
  if (!existsSync(file)) {
    return { check: ok("database", "There is none yet; the first start makes it."), hasAdminToken: false };
  }
  let database: DatabaseSync | undefined;
  try {
    database = new DatabaseSync(file, { readOnly: true });
    database.exec("PRAGMA busy_timeout = 5000");
    const rows = database.prepare("PRAGMA integrity_check(3)").all();
    const faults = rows.map((row) => String(Object.values(row)[0])).filter((line) => line !== "ok");
    if (faults.length > 0) return damaged(file, faults.join("; "));
    const { count } = database
      .prepare("SELECT count(*) AS count FROM meta WHERE name = 'admin_token_sha256'")
      .get() as { readonly count: number };
    return { check: ok("database", `${file} is sound.`), hasAdminToken: count > 0 };
  } catch (error) {
    return damaged(file, error instanceof Error && error.message !== "" ? error.message : reasonOf(error));
  } finally {
    if (database?.isOpen === true) database.close();
  }
}

function damaged(file: string, why: string): DatabaseFinding {
  const advice = "Stop the gateway, keep a copy of the data directory, and put the database back from a backup.";
  return { check: fail("database", `${file} is damaged or cannot be read: ${why}.`, advice), hasAdminToken: false };
}
