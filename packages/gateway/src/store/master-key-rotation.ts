import { copyFileSync, existsSync, readFileSync, renameSync, rmSync } from "node:fs";
import { join } from "node:path";
import { KeywheelError } from "@keywheel/pool";
import { Kysely } from "kysely";
import { lockDataDir } from "./data-dir-lock.ts";
import type { DatabaseEngine } from "./engine.ts";
import { KyselyStore } from "./kysely-store.ts";
import {
  deriveOperatorToken,
  type MasterKey,
  type MasterKeySource,
  makeMasterKeyText,
  masterKeyFile,
  readMasterKey,
  readMasterKeyFile,
} from "./master-key.ts";
import { createPrivateFile, createPrivateText, syncFolder } from "./private-files.ts";
import type { Database } from "./schema.ts";
import { readCanary, SealedSecrets, wrongMasterKey } from "./sealed-secrets.ts";
import { createSqliteEngine } from "./sqlite-engine.ts";
import { Vault } from "./vault.ts";

/** The new key, from before anything is sealed with it until it takes the place of the old one. */
const nextFile = "master.key.next";
/** The old key, until the new one has proven itself in its place. */
const previousFile = "master.key.previous";

const busyTimeoutMs = 5000;

/** Instants of a rotation between which nothing is changed; tests kill it there. */
export type RotationStep = "prepared" | "resealed" | "committed" | "proven" | "kept" | "placed" | "done";

export interface RotationOptions extends MasterKeySource {
  /** The new key, 32 bytes in base64; without it one is made and put into `master.key`. */
  readonly newMasterKey?: string | undefined;
  /** A file to be made that keeps the old key, for the backups that it opens. */
  readonly keepOldIn?: string | undefined;
  readonly onStep?: (step: RotationStep) => void;
}

export interface RotationOutcome {
  /** How many values were sealed anew. */
  readonly resealed: { readonly providers: number; readonly keys: number };
  /** Where the new key lies; undefined if it was given. */
  readonly file: string | undefined;
}

/**
 * Seals everything in a data directory with a new master key.
 *
 * One transaction changes all values and the canary, so the database belongs wholly to the old key or wholly to the new
 * one. The new key lies beside the old one before that transaction and the old one beside the new one until behind it:
 * after a crash `settleMasterKey` finds the one that the canary belongs to.
 *
 * @throws KeywheelError conflict while a gateway has the directory, validation_failed for a new key that is none,
 *   store_unavailable if a stored value cannot be opened or anything cannot be written; the old key is right then
 */
export async function rotateMasterKey(options: RotationOptions): Promise<RotationOutcome> {
  const { dataDir } = options;
  const lock = lockDataDir(dataDir);
  try {
    await settleMasterKey(options);
    const oldKey = readMasterKey(options);
    if (oldKey === undefined) throw noMasterKey(dataDir);
    if (options.keepOldIn !== undefined) keepOld(options, options.keepOldIn);
    return await rotate(options, oldKey);
  } finally {
    lock.release();
  }
}

async function rotate(options: RotationOptions, oldKey: MasterKey): Promise<RotationOutcome> {
  const { dataDir, newMasterKey, onStep = () => {} } = options;
  const newKey = newMasterKey === undefined ? makeNext(dataDir) : readGiven(dataDir, newMasterKey);
  if (deriveOperatorToken(newKey) === deriveOperatorToken(oldKey)) {
    throw new KeywheelError("validation_failed", "The new master key is the one that is in use", {
      hint: "Make another one with `openssl rand -base64 32`.",
    });
  }
  try {
    onStep("prepared");
    const resealed = await reseal(dataDir, { oldKey, newKey, onStep });
    onStep("committed");
    await prove(dataDir, newKey);
    onStep("proven");
    if (newMasterKey === undefined) await takePlace(dataDir, onStep);
    else if (options.masterKey === undefined) removeFile(dataDir, masterKeyFile);
    onStep("done");
    return { resealed, file: newMasterKey === undefined ? join(dataDir, masterKeyFile) : undefined };
  } catch (error) {
    // Whatever was reached, the key that the database belongs to is put into its place, and the other one removed.
    await settleMasterKey(options).catch(() => {
      // The next start does it; what went wrong first is what people have to know.
    });
    throw error;
  }
}

/**
 * Ends a rotation that was cut off: puts the key that the database belongs to into its place and removes the other one.
 *
 * Nothing is removed while none of them is right: the database may have been put back from a backup. For whoever holds
 * the lock, before the store is opened.
 */
export async function settleMasterKey(
  { dataDir, masterKey }: MasterKeySource,
  createEngine: (options: { dataDir: string; busyTimeoutMs: number }) => DatabaseEngine = createSqliteEngine,
): Promise<void> {
  if (![nextFile, previousFile].some((name) => existsSync(join(dataDir, name)))) return;
  const canary = await storedCanary(createEngine({ dataDir, busyTimeoutMs }));
  if (canary === undefined) return;
  const isRight = (key: MasterKey | undefined): boolean =>
    key !== undefined && new SealedSecrets(new Vault(key)).opensCanary(canary);
  const right = [masterKeyFile, nextFile, previousFile].find((name) => isRight(readMasterKeyFile(join(dataDir, name))));
  if (right === undefined && (masterKey === undefined || !isRight(readMasterKey({ dataDir, masterKey })))) return;
  if (right !== undefined && right !== masterKeyFile) renameSync(join(dataDir, right), join(dataDir, masterKeyFile));
  syncFolder(dataDir);
  for (const name of [nextFile, previousFile]) removeFile(dataDir, name);
}

function keepOld({ dataDir, masterKey }: RotationOptions, file: string): void {
  const text = masterKey ?? readFileSync(join(dataDir, masterKeyFile), "utf8");
  if (createPrivateText(file, `${text.trim()}\n`)) return;
  throw new KeywheelError("conflict", `The file ${file} is there already`, { hint: "Name another one." });
}

function makeNext(dataDir: string): MasterKey {
  const path = join(dataDir, nextFile);
  // One that is still there opens nothing that is stored, or it would have been put into its place.
  rmSync(path, { force: true });
  createPrivateText(path, makeMasterKeyText());
  const key = readMasterKeyFile(path);
  if (key === undefined) throw new Error(`${path} was removed while it was being made`);
  return key;
}

function readGiven(dataDir: string, text: string): MasterKey {
  const key = readMasterKey({ dataDir, masterKey: text, name: "KEYWHEEL_NEW_MASTER_KEY" });
  if (key === undefined) throw new Error("a key that is given is never looked for");
  return key;
}

async function reseal(
  dataDir: string,
  { oldKey, newKey, onStep }: { oldKey: MasterKey; newKey: MasterKey; onStep: (step: RotationStep) => void },
): Promise<RotationOutcome["resealed"]> {
  const store = await openWith(dataDir, oldKey);
  try {
    if (!store.masterKeyMatches) throw wrongMasterKey();
    return await store.reseal(new SealedSecrets(new Vault(newKey)), () => onStep("resealed"));
  } finally {
    await store.close();
  }
}

/** Opens what is stored as the next gateway will. */
async function prove(dataDir: string, newKey: MasterKey): Promise<void> {
  const store = await openWith(dataDir, newKey);
  try {
    const { providers, keys } = await store.load();
    const secrets = [...providers.map(({ apiKey }) => apiKey), ...keys.map(({ secret }) => secret)];
    if (!store.masterKeyMatches || secrets.some((secret) => secret?.kind === "undecryptable")) {
      throw new Error("what was sealed with the new master key cannot be opened with it");
    }
  } finally {
    await store.close();
  }
}

async function takePlace(dataDir: string, onStep: (step: RotationStep) => void): Promise<void> {
  const [place, next, previous] = [masterKeyFile, nextFile, previousFile].map((name) => join(dataDir, name));
  if (place === undefined || next === undefined || previous === undefined) throw new Error("three names, three paths");
  // A copy: at no instant is there no `master.key`, for which the next start would make one.
  rmSync(previous, { force: true });
  if (existsSync(place)) createPrivateFile(previous, (draft) => copyFileSync(place, draft));
  onStep("kept");
  renameSync(next, place);
  syncFolder(dataDir);
  onStep("placed");
  const placed = readMasterKeyFile(place);
  if (placed === undefined) throw new Error(`${place} was removed while it was put into its place`);
  await prove(dataDir, placed);
  removeFile(dataDir, previousFile);
}

function openWith(dataDir: string, key: MasterKey): Promise<KyselyStore> {
  return KyselyStore.open({
    engine: createSqliteEngine({ dataDir, busyTimeoutMs }),
    secrets: new SealedSecrets(new Vault(key)),
    now: Date.now,
    probeEveryMs: 1000,
    operatorToken: deriveOperatorToken(key),
    release: () => {},
  });
}

/** Undefined also where the database cannot be read: that is told when it is opened. */
async function storedCanary(engine: DatabaseEngine): Promise<string | undefined> {
  const db = new Kysely<Database>({ dialect: engine.writer });
  try {
    return await readCanary(db);
  } catch {
    return undefined;
  } finally {
    await db.destroy();
  }
}

function removeFile(dataDir: string, name: string): void {
  rmSync(join(dataDir, name), { force: true });
  syncFolder(dataDir);
}

function noMasterKey(dataDir: string): KeywheelError {
  return new KeywheelError("store_unavailable", `There is no master key in ${dataDir}`, {
    hint: "If this data directory is opened with KEYWHEEL_MASTER_KEY, set it to the present key.",
  });
}
