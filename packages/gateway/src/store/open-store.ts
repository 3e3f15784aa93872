import type { EpochMs } from "@keywheel/pool";
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
  /** Default: SQLite in the data directory. */
  readonly createEngine?: (options: { readonly dataDir: string; readonly busyTimeoutMs: number }) => DatabaseEngine;
}

/**
 * Opens the store of a data directory for this process alone, and makes what is missing: the directory, the master key,
 * the database.
 *
 * @throws KeywheelError conflict if another gateway has the directory, validation_failed for a master key that is none,
 *   store_unavailable if anything cannot be made, read or written, or is damaged; nothing is changed then
 */
export async function openStore(options: OpenStoreOptions): Promise<OpenedStore> {
  const { dataDir, now = Date.now, busyTimeoutMs = 5000, probeEveryMs = 2000 } = options;
  preparePrivateFolder(dataDir);
  const lock = lockDataDir(dataDir);
  try {
    await settleMasterKey({ dataDir, masterKey: options.masterKey }, options.createEngine);
    const masterKey = loadMasterKey({ dataDir, masterKey: options.masterKey });
    return await KyselyStore.open({
      engine: (options.createEngine ?? createSqliteEngine)({ dataDir, busyTimeoutMs }),
      secrets: new SealedSecrets(new Vault(masterKey)),
      now,
      probeEveryMs,
      onDamage: options.onDamage,
      operatorToken: deriveOperatorToken(masterKey),
      release: () => lock.release(),
    });
  } catch (error) {
    lock.release();
    throw error;
  }
}
