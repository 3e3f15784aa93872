import { join } from "node:path";
import { isKeywheelError } from "@keywheel/pool";
import { type MoveOutcome, moveStore } from "../../store/move-store.ts";
import { isPostgresUrl } from "../../store/postgres-url.ts";
import { databaseFile } from "../../store/sqlite-engine.ts";
import { finish } from "../client/explain.ts";
import { failed, wrongWords } from "../exit.ts";
import { showProgress } from "../progress.ts";
import { type DataDirContext, printJson, say } from "./context.ts";
import { counted } from "./words.ts";

export interface MigrationFlags {
  readonly to?: string;
}

/** @throws CommandError (1) while a gateway runs, KeywheelError conflict, not_found, store_unavailable */
export async function migrateStore(context: DataDirContext, flags: MigrationFlags): Promise<void> {
  const { connection } = context;
  const { dataDir } = connection;
  const to = flags.to ?? connection.databaseUrl;
  if (to === undefined || !isPostgresUrl(to)) {
    throw wrongWords(
      "Expected `--to` (or KEYWHEEL_DATABASE_URL, which no other program sees) to be postgres://user:password@host:port/database.",
    );
  }
  const outcome = await moveAll(context, to).catch((error: unknown) => {
    const isInUse = isKeywheelError(error) && error.message.startsWith("The data directory");
    throw isInUse ? failed(`${finish(error.message)}\nStop it, then say this again.`, error) : error;
  });
  if (context.json) return printJson(context, JSON.stringify({ ...outcome, was_done: outcome.wasDone }));
  const total = Object.values(outcome.rows).reduce((sum, rows) => sum + rows, 0);
  const file = join(dataDir, databaseFile);
  if (outcome.wasDone) say(context, `${outcome.to} holds a copy of ${file} already, every row of it.`);
  else say(context, `Copied ${counted(total, "row")} to ${outcome.to}, and compared each.`);
  say(
    context,
    "Start the gateway with KEYWHEEL_DATABASE_URL set to it, and every other gateway as well, all with the same master key\n" +
      `(the contents of master.key as KEYWHEEL_MASTER_KEY). ${file} was left as it was.`,
  );
}

async function moveAll({ connection, terminal, json }: DataDirContext, to: string): Promise<MoveOutcome> {
  let finished = "";
  using progress = showProgress(terminal, "Copying", 0);
  const outcome = await moveStore({
    dataDir: connection.dataDir,
    to,
    onRows: (done, all) => progress.at(done, all),
    onTable: (table, rows) => {
      // Where a line is drawn, these would run into it.
      finished += `${table}: ${counted(rows, "row")}, the same on both sides\n`;
      if (json || terminal.canDraw) return;
      terminal.err(finished);
      finished = "";
    },
  });
  progress[Symbol.dispose]();
  if (!json) terminal.err(finished);
  return outcome;
}
