import { existsSync } from "node:fs";
import { join } from "node:path";
import { backUp } from "../../store/backup.ts";
import { masterKeyFile } from "../../store/master-key.ts";
import { nameOfDatabase } from "../../store/postgres-url.ts";
import { failed } from "../exit.ts";
import { type DataDirContext, printJson, say } from "./context.ts";
import { bytes, counted } from "./words.ts";

/** PostgreSQL has tools of its own, which its keepers know and run already. */
function notHere(databaseUrl: string): Error {
  return failed(
    `${nameOfDatabase(databaseUrl)} is backed up with its own tools: pg_dump --format=custom --file=keywheel.dump "$KEYWHEEL_DATABASE_URL", and back with pg_restore.\nThe master key is not in it: keep a copy of it in another place. To copy the embedded database all the same, say --database-url sqlite.`,
  );
}

/** @throws KeywheelError conflict, not_found, store_unavailable */
export async function makeBackup(
  context: DataDirContext,
  file: string,
  { force = false }: { readonly force?: boolean },
): Promise<void> {
  const { connection, terminal } = context;
  const { dataDir, masterKey, databaseUrl } = connection;
  if (databaseUrl !== undefined) throw notHere(databaseUrl);
  const interruption = new AbortController();
  const interrupt = (): void => interruption.abort();
  for (const signal of ["SIGINT", "SIGTERM"] as const) process.once(signal, interrupt);
  const outcome = await backUp({ dataDir, file, replaces: force, signal: interruption.signal });

  const keyFile = join(dataDir, masterKeyFile);
  const holder = masterKey === undefined && existsSync(keyFile) ? keyFile : "KEYWHEEL_MASTER_KEY";
  if (context.json) {
    return printJson(context, JSON.stringify({ ...outcome, includes_master_key: false, master_key: holder }));
  }
  const { providers, keys } = outcome;
  say(
    context,
    `Wrote ${outcome.file}: ${bytes(outcome.bytes)}, ${counted(providers, "provider")}, ${counted(keys, "key")}.`,
  );
  terminal.err(
    `The master key is not in it. Keep a copy of it in another place (${
      holder === keyFile ? holder : "what KEYWHEEL_MASTER_KEY holds"
    }): without it the keys in the backup cannot be read.\n`,
  );
}
