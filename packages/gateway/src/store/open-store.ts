import { setTimeout as wait } from "node:timers/promises";
import { type EpochMs, isKeywheelError, KeywheelError } from "@keywheel/pool";
import { lockDataDir } from "./data-dir-lock.ts";
import type { DatabaseEngine } from "./engine.ts";
import { KyselyStore } from "./kysely-store.ts";
import { deriveOperatorToken, loadMasterKey } from "./master-key.ts";
import { settleMasterKey } from "./master-key-rotation.ts";
import { preparePrivateFolder } from "./private-files.ts";
import { SealedSecrets } from "./sealed-secrets.ts";
import { createSqliteEngine } from "./sqlite-engine.ts";
import type { OpenedStore, StoreTrouble } from "./store.ts";
import { Vault } from "./vault.ts";

export interface OpenStoreOptions {
  /** Made if it is missing; closed to everybody but this user. */
  readonly dataDir: string;
  /** What KEYWHEEL_MASTER_KEY holds; without it the key in the data directory is used, or made. */
  readonly masterKey?: string | undefined;
  /** Default: the machine's clock. */
  readonly now?: () => EpochMs;
  /** How long a statement waits while another process holds the database, ms; default 5000. */
  readonly busyTimeoutMs?: number;
  /** How long after a failed write the database is tried again for its own sake, ms; default 2000. */
  readonly probeEveryMs?: number;
  /** Told when the database is found damaged, and when (undefined) it is sound again; default: nobody. */
  readonly onDamage?: (damage: StoreTrouble | undefined) => void;
  /** `postgres://…`, a database that other gateways may share. Default: SQLite in the data directory. */
  readonly databaseUrl?: string | undefined;
  /** How long a PostgreSQL that is away is waited for, ms; default 0. */
  readonly patienceMs?: number;
  /** Told each time that it is still away. */
  readonly onWait?: (why: string) => void;
  /** Default: what `databaseUrl` says. */
  readonly createEngine?: (options: { readonly dataDir: string; readonly busyTimeoutMs: number }) => DatabaseEngine;
}

const firstRestMs = 250;
const longestRestMs = 5000;

/**
 * Opens the store of a data directory for this process alone, and makes what is missing: the directory, the master key,
 * the database's tables.
 *
 * @throws KeywheelError conflict if another gateway has the directory, validation_failed for a master key that is none,
 *   store_unavailable if anything cannot be made, read or written, or is damaged; nothing is changed then
 */
export async function openStore(options: OpenStoreOptions): Promise<OpenedStore> {
  const { dataDir, now = Date.now, busyTimeoutMs = 5000, probeEveryMs = 2000 } = options;
  const createEngine = options.createEngine ?? (await engineFor(options.databaseUrl));
  preparePrivateFolder(dataDir);
  const lock = lockDataDir(dataDir);
  try {
    await settleMasterKey({ dataDir, masterKey: options.masterKey }, createEngine);
    const masterKey = loadMasterKey({ dataDir, masterKey: options.masterKey });
    const secrets = new SealedSecrets(new Vault(masterKey));
    return await openPatiently(options, () => {
      const engine = createEngine({ dataDir, busyTimeoutMs });
      const release = (): void => lock.release();
      const { onDamage } = options;
      return { engine, secrets, now, probeEveryMs, onDamage, operatorToken: deriveOperatorToken(masterKey), release };
    });
  } catch (error) {
    lock.release();
    throw error;
  }
}

type StoreParts = Parameters<(typeof KyselyStore)["open"]>[0];

/** Tries again, with growing rests, for as long as the database is away and patience lasts. */
async function openPatiently(
  { patienceMs = 0, onWait = () => {} }: OpenStoreOptions,
  makeParts: () => StoreParts,
): Promise<OpenedStore> {
  const giveUpAt = performance.now() + patienceMs;
  for (let restMs = firstRestMs; ; restMs = Math.min(restMs * 2, longestRestMs)) {
    const parts = makeParts();
    try {
      // Given up with the lock only when it is open: until then this process tries again.
      let isOpen = false;
      const store = await KyselyStore.open({ ...parts, release: () => void (isOpen && parts.release()) });
      isOpen = true;
      return store;
    } catch (error) {
      if (!isAway(error, parts.engine)) throw error;
      if (performance.now() + restMs > giveUpAt) throw patienceMs === 0 ? error : waitedInVain(error, patienceMs);
      onWait(error.message);
      await wait(restMs);
    }
  }
}

function isAway(error: unknown, engine: DatabaseEngine): error is KeywheelError {
  if (!isKeywheelError(error) || error.code !== "store_unavailable") return false;
  const fault = engine.explain(error.cause);
  return fault.kind === "unavailable" && fault.mayPass === true;
}

function waitedInVain(error: KeywheelError, patienceMs: number): KeywheelError {
  const message = `${error.message}, and was waited for in vain (${Math.round(patienceMs / 1000)} s)`;
  return new KeywheelError("store_unavailable", message, {
    hint: "Start the database, or correct --database-url. Nothing was changed.",
    cause: error.cause,
  });
}

async function engineFor(databaseUrl: string | undefined): Promise<NonNullable<OpenStoreOptions["createEngine"]>> {
  if (databaseUrl === undefined) return createSqliteEngine;
  // Loaded where it is used: it takes its time.
  const { createPostgresEngine } = await import("./postgres-engine.ts");
  return () => createPostgresEngine(databaseUrl);
}
