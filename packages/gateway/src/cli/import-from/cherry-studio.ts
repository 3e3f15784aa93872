import { existsSync, readdirSync } from "node:fs";
import { join } from "node:path";
import type { ProviderKind } from "../../store/store.ts";
import { failed } from "../exit.ts";
import { foundInCherryStudio2 } from "./cherry-studio-2.ts";
import { addressOf, notByKey } from "./cherry-studio-address.ts";
import type { Found, FoundPool, Left, Reader } from "./foreign.ts";
import { localStorageItem } from "./local-storage.ts";
import { type Fields, fileIn, isFields, isFolder, notThat, objectsOf, parseJson, readBytes, textOf } from "./parts.ts";
import { isSqlite, withSqliteBytes, withSqliteFile } from "./sqlite.ts";
import type { Tables } from "./tables.ts";

const kinds: Readonly<Record<string, ProviderKind>> = {
  anthropic: "anthropic",
  gemini: "gemini",
  "azure-openai": "azure-openai",
};

/** What signs in by other means than a key. */
const keyless = new Set(["vertexai", "vertex-anthropic", "aws-bedrock", "copilot", "cherryai"]);

/**
 * Cherry Studio. 1.x: a backup (`cherry-studio.….zip`) of the formats 2 to 5, which has its state in `data.json`, or of format 6,
 * which has the files of its database; that `data.json`; or the folder where it keeps its files. 2.x: a backup
 * (`….cherrybackup`), `Data/cherrystudio.sqlite`, or the folder.
 *
 * @see https://github.com/CherryHQ/cherry-studio 1.x: src/main/services/BackupManager.ts, src/renderer/src/services/BackupService.ts;
 * 2.x: src/main/services/backup/archiveLayout.ts, src/main/data/db/schemas/userProvider.ts
 */
export const readCherryStudio: Reader = async ({ path }) => {
  const storage = join(path, storageFolder);
  const database = join(path, "Data", "cherrystudio.sqlite");
  if (isFolder(path) && existsSync(database)) return withSqliteFile(database, readTables(database));
  if (isFolder(path) && existsSync(storage)) {
    const files = readdirSync(storage).map((name) => [name, readBytes(join(storage, name))] as const);
    return foundIn(stateIn(Object.fromEntries(files), storage), storage);
  }
  const file = fileIn(path, ["data.json", "cherrystudio.sqlite"]);
  const bytes = readBytes(file);
  if (isSqlite(bytes)) return withSqliteFile(file, readTables(file));
  if (isZip(bytes)) return readBackup(bytes, file);
  return foundIn(stateOf(bytes.toString("utf8"), file), file);
};

const storageFolder = "Local Storage/leveldb";
const stateName = "persist:cherry-studio";

function readTables(file: string): (tables: Tables) => Found {
  return (tables) => {
    if (!tables.has("user_provider")) throw notThat(file, "Cherry Studio", "it has no table `user_provider`");
    return foundInCherryStudio2(tables);
  };
}

function isZip(bytes: Buffer): boolean {
  return bytes.subarray(0, 2).toString("latin1") === "PK";
}

async function readBackup(bytes: Buffer, file: string): Promise<Found> {
  const { unzipSync } = await import("fflate");
  let found: Record<string, Uint8Array>;
  try {
    const isOurs = (name: string): boolean =>
      name === "data.json" || name === "backup.sqlite" || name.startsWith(`${storageFolder}/`);
    found = unzipSync(bytes, { filter: ({ name }) => isOurs(name) });
  } catch (error) {
    throw failed(`${file} is damaged: it cannot be unpacked. Make the backup again.`, error);
  }
  const { "backup.sqlite": database, "data.json": data, ...files } = found;
  if (database !== undefined) return withSqliteBytes(file, database, readTables(file));
  if (data !== undefined) return foundIn(stateOf(Buffer.from(data).toString("utf8"), file), file);
  if (Object.keys(files).length > 0) return foundIn(stateIn(files, file), file);
  throw notThat(file, "Cherry Studio", "there is neither data.json nor backup.sqlite nor its Local Storage in it");
}

/** Its state is a text in `localStorage`, which the formats 2 to 5 write into a file. */
function stateOf(text: string, file: string): unknown {
  const backup = parseJson(text, file);
  const storage = isFields(backup) ? backup["localStorage"] : undefined;
  return isFields(storage) ? storage[stateName] : undefined;
}

/** The same text, from where Chromium keeps it. */
function stateIn(files: Readonly<Record<string, Uint8Array>>, file: string): unknown {
  try {
    return localStorageItem(files, stateName);
  } catch (error) {
    throw failed(`${file} is damaged: its Local Storage cannot be read. Make the backup again.`, error);
  }
}

function foundIn(state: unknown, file: string): Found {
  const providers = providersIn(state, file);
  if (providers === undefined) throw notThat(file, "Cherry Studio", "it has no providers");
  const left: Left[] = [];
  const pools = providers.flatMap((provider) => {
    const pool = poolOf(provider, left);
    return pool === undefined ? [] : [pool];
  });
  return { pools, left };
}

/** Texts in a text: in the state `llm`. */
function providersIn(state: unknown, file: string): readonly Fields[] | undefined {
  const llm = inner(inner(state, file)?.["llm"], file);
  return Array.isArray(llm?.["providers"]) ? objectsOf(llm["providers"]) : undefined;
}

function inner(value: unknown, file: string): Fields | undefined {
  const parsed = typeof value === "string" ? parseJson(value, file) : value;
  return isFields(parsed) ? parsed : undefined;
}

function poolOf(provider: Fields, left: Left[]): FoundPool | undefined {
  const name = textOf(provider["name"]) || textOf(provider["id"]);
  const what = `provider "${name}"`;
  const type = textOf(provider["type"]);
  const values = keysIn(textOf(provider["apiKey"]));
  // Dozens are there from the beginning, without anything of the user's.
  if (values.length === 0) return undefined;
  if (keyless.has(type) || keyless.has(textOf(provider["id"]))) {
    left.push({ what, why: notByKey });
    return undefined;
  }
  const host = textOf(provider["apiHost"]);
  if (host.endsWith("#")) {
    left.push({ what, why: "its address is that of one single endpoint (`#`), not a base URL" });
    return undefined;
  }
  if (isFields(provider["extra_headers"]) && Object.keys(provider["extra_headers"]).length > 0) {
    left.push({ what: `extra headers of ${what}`, why: "requests go on as clients send them" });
  }
  const kind = textOf(provider["id"]) === "azure-openai" ? "azure-openai" : kinds[type];
  return {
    name,
    ...addressOf(host, kind),
    kind,
    enabled: provider["enabled"] !== false,
    keys: values.map((apiKey) => ({ apiKey, label: "", weight: 1, enabled: true })),
  };
}

/** Several keys stand beside each other with commas; one that is part of a key has a backslash before it. */
function keysIn(text: string): string[] {
  return text
    .split(/(?<!\\),/)
    .map((key) => key.replaceAll("\\,", ",").trim())
    .filter((key) => key !== "");
}
