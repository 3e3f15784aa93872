import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";

/** `full`: the database cannot grow (SQLITE_FULL). `read-only`: nothing can be written (SQLITE_READONLY). */
export type DiskState = "well" | "full" | "read-only";

/** The disk under a gateway's database, as far as SQLite sees it. Needs no rights and no mount. */
export interface FaultyDisk extends Disposable {
  /** For the gateway's environment. */
  readonly env: Readonly<Record<string, string>>;
  /** From the next statement on. */
  set(state: DiskState): void;
}

/**
 * A disk that a test can fill and forbid to be written. SQLite itself refuses then, as it would on such a disk: the gateway
 * loads a part that sets the pragmas for it before each statement.
 */
export function aFaultyDisk(): FaultyDisk {
  const folder = mkdtempSync(join(tmpdir(), "keywheel-disk-"));
  const stateFile = join(folder, "state");
  const shift = join(folder, "disk.mjs");
  const set = (state: DiskState): void => writeFileSync(stateFile, state);
  set("well");
  writeFileSync(shift, scriptOf(stateFile));
  return {
    env: { NODE_OPTIONS: `--import=${shift}` },
    set,
    [Symbol.dispose]: () => rmSync(folder, { recursive: true, force: true }),
  };
}

function scriptOf(stateFile: string): string {
  return `
    import { readFileSync } from "node:fs";
    import { syncBuiltinESMExports } from "node:module";
    import sqlite from "node:sqlite";
    import threads from "node:worker_threads";
    // A thread does not take over what its process was told to import.
    const PlainWorker = threads.Worker;
    threads.Worker = class Worker extends PlainWorker {
      constructor(url, options = {}) {
        super(url, { ...options, execArgv: [...(options.execArgv ?? []), "--import=" + import.meta.url] });
      }
    };
    const pragmas = {
      well: "PRAGMA max_page_count = 4294967294; PRAGMA query_only = OFF",
      full: "PRAGMA max_page_count = 1; PRAGMA query_only = OFF",
      "read-only": "PRAGMA max_page_count = 4294967294; PRAGMA query_only = ON",
    };
    const { prepare, exec } = sqlite.DatabaseSync.prototype;
    const states = new WeakMap();
    const settle = (database) => {
      const state = readFileSync(${JSON.stringify(stateFile)}, "utf8");
      if (state === (states.get(database) ?? "well") || !(state in pragmas)) return;
      if (!database.location()?.endsWith("keywheel.db")) return;
      states.set(database, state);
      exec.call(database, pragmas[state]);
    };
    sqlite.DatabaseSync.prototype.prepare = function (sql) {
      settle(this);
      const statement = prepare.call(this, sql);
      for (const name of ["run", "all"]) {
        const plain = statement[name].bind(statement);
        statement[name] = (...values) => (settle(this), plain(...values));
      }
      return statement;
    };
    sqlite.DatabaseSync.prototype.exec = function (sql) {
      settle(this);
      return exec.call(this, sql);
    };
    syncBuiltinESMExports();
  `;
}
