import { existsSync } from "node:fs";
import { join, resolve } from "node:path";
import { isKeywheelError } from "@keywheel/pool";
import { databaseFile } from "../../store/sqlite-engine.ts";
import { type RotationOutcome, rotateMasterKey } from "../../store/master-key-rotation.ts";
import { nameOfDatabase } from "../../store/postgres-url.ts";
import { failed, wrongWords } from "../exit.ts";
import { finish } from "../client/explain.ts";
import { type DataDirContext, printJson, say } from "./context.ts";
import { counted } from "./words.ts";

export interface RotationFlags {
  readonly toFile?: boolean;
  readonly keepOld?: string;
}

/** @throws CommandError (1) while a gateway runs, or where there is nothing to encrypt anew */
export async function rotate(context: DataDirContext, flags: RotationFlags): Promise<void> {
  const { connection, terminal } = context;
  const { dataDir, masterKey, databaseUrl } = connection;
  if (databaseUrl !== undefined) throw notHere(databaseUrl);
  const newMasterKey = newKeyOf(context, flags);
  if (!existsSync(join(dataDir, databaseFile))) {
    throw failed(`There is no database in ${dataDir}. Say which data directory you mean with --data-dir.`);
  }
  const outcome = await rotateMasterKey({
    dataDir,
    masterKey,
    newMasterKey,
    keepOldIn: flags.keepOld === undefined ? undefined : resolve(flags.keepOld),
  }).catch((error: unknown) => {
    throw isInUse(error)
      ? failed(`${finish(error.message)}\nStop it, rotate the master key, then start it again.`, error)
      : error;
  });

  if (context.json) return printJson(context, JSON.stringify(onTheWire(outcome)));
  const { providers, keys } = outcome.resealed;
  const ofProviders = providers === 0 ? "" : ` and ${counted(providers, "provider-level key")}`;
  say(context, `Encrypted ${counted(keys, "key")}${ofProviders} under a new master key.`);
  if (outcome.file === undefined) {
    say(context, "From now on start the gateway with the new one in KEYWHEEL_MASTER_KEY.");
  } else {
    say(context, `It lies in ${outcome.file}. Keep a copy of it: without it the stored keys cannot be read.`);
    if (masterKey !== undefined) say(context, "Unset KEYWHEEL_MASTER_KEY: it holds the old one, which opens nothing.");
  }
  const where = flags.keepOld === undefined ? "" : `, which is kept in ${flags.keepOld}`;
  terminal.err(`Backups made before need the old master key${where}. Make a new backup: keywheel backup <file>\n`);
}

/** One gateway of several that still runs would go on sealing with the old key. */
function notHere(databaseUrl: string): Error {
  return failed(
    `The master key of ${nameOfDatabase(databaseUrl)} is shared by several gateways and cannot be changed in place.\nMake an empty database and start one gateway there with the new master key; then carry the providers and keys over: keywheel export --with-secrets, keywheel import.`,
  );
}

function newKeyOf({ connection, terminal }: DataDirContext, { toFile }: RotationFlags): string | undefined {
  const text = terminal.environment["KEYWHEEL_NEW_MASTER_KEY"];
  const given = text === undefined || text.trim() === "" ? undefined : text;
  if (given !== undefined && toFile) {
    throw wrongWords("--to-file makes a new master key, and KEYWHEEL_NEW_MASTER_KEY gives one: leave one of them out.");
  }
  if (given === undefined && !toFile && connection.masterKey !== undefined) {
    throw wrongWords(
      "The master key is given as KEYWHEEL_MASTER_KEY. Give the new one as KEYWHEEL_NEW_MASTER_KEY (make it with `openssl rand -base64 32`), or say --to-file to have one made in the data directory.",
    );
  }
  return given;
}

function isInUse(error: unknown): error is Error {
  return isKeywheelError(error) && error.code === "conflict" && error.message.startsWith("The data directory");
}

function onTheWire({ resealed, file }: RotationOutcome): object {
  return { resealed, master_key: file === undefined ? "given" : "file", file: file ?? null };
}
