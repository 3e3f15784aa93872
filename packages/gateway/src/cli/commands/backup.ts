import { existsSync } from "node:fs";
import { join } from "node:path";
import { backUp } from "../../store/backup.ts";
import { masterKeyFile } from "../../store/master-key.ts";
import { type DataDirContext, printJson, say } from "./context.ts";
import { bytes, counted } from "./words.ts";

/** @throws KeywheelError conflict, not_found, store_unavailable */
export async function makeBackup(
  context: DataDirContext,
  file: string,
  { force = false }: { readonly force?: boolean },
): Promise<void> {
  const { connection, terminal } = context;
  const { dataDir, masterKey } = connection;
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
