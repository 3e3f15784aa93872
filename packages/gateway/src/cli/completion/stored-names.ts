import { existsSync } from "node:fs";
import { join } from "node:path";
import { pathToFileURL } from "node:url";
import { runningFile } from "../../store/data-dir-lock.ts";
import { deriveOperatorToken, readMasterKey } from "../../store/master-key.ts";
import { databaseFile } from "../../store/sqlite-engine.ts";
import { ApiClient } from "../client/api-client.ts";
import { adminTokenFor } from "../client/connect.ts";
import { createHttpTransport } from "../client/http-transport.ts";
import type { List, Provider } from "../commands/wire.ts";
import type { Connection } from "../connection.ts";
import { readRunning } from "../serve/ready-file.ts";
import type { NameKind } from "./tree.ts";

/** Somebody has pressed Tab: an answer takes some 30 ms, and what is not known by then is not worth waiting for. */
const patienceMs = 700;

/** A name that can be said in the place of an id, and whose it is. */
interface Named {
  readonly id: string;
  /** `""`: it has none. */
  readonly name: string;
  readonly note: string;
}

/** What a shell can offer: the word, and what is shown beside it. */
export interface Offer {
  readonly word: string;
  readonly note: string;
}

/**
 * The names of what is stored, as commands take them: of a running gateway, else of the embedded database. Ids where there is no
 * name, or where several have the same. Changes nothing, makes nothing, and waits for nobody.
 *
 * @returns nothing where no gateway answers in time and no database lies ready: one that a gateway has left behind in the middle
 *   of something, or PostgreSQL, is not opened for this
 * @throws whatever went wrong
 */
export async function storedNames(kind: NameKind, connection: Connection): Promise<readonly Offer[]> {
  const target = await targetOf(connection);
  const found =
    target === undefined
      ? await readDatabase(kind, connection)
      : await ask(kind, new ApiClient(createHttpTransport(target)));
  const counts = Map.groupBy(found, ({ name }) => name);
  return found.map(({ id, name, note }) => ({
    word: name === "" || (counts.get(name)?.length ?? 0) > 1 ? id : name,
    note,
  }));
}

async function targetOf(connection: Connection) {
  const url = connection.url ?? readRunning(join(connection.dataDir, runningFile))?.url;
  if (url === undefined) return undefined;
  const token = connection.url === undefined ? operatorToken(connection) : await adminTokenFor(url, connection);
  return { url, token: token ?? "", signal: AbortSignal.timeout(patienceMs) };
}

function operatorToken({ adminToken, dataDir, masterKey }: Connection): string | undefined {
  if (adminToken !== undefined) return adminToken;
  const key = readMasterKey({ dataDir, masterKey });
  return key === undefined ? undefined : deriveOperatorToken(key);
}

interface WithName {
  readonly id: string;
  readonly name: string;
}

async function ask(kind: NameKind, client: ApiClient): Promise<readonly Named[]> {
  if (kind === "token" || kind === "webhook") {
    const { data } = await client.call<List<WithName & { readonly url?: string }>>("GET", `/${kind}s`);
    return data.map(({ id, name, url = "" }) => ({ id, name, note: url }));
  }
  const { data: providers } = await client.call<List<Provider>>("GET", "/providers");
  if (kind === "provider") return providers.map(({ slug, name }) => ({ id: slug, name: slug, note: name }));
  const lists = await Promise.all(
    providers.map(async ({ id, slug }) => {
      const { data } = await client.call<List<{ readonly id: string; readonly label: string }>>(
        "GET",
        `/providers/${id}/keys`,
      );
      return data.map((key) => ({ id: key.id, name: key.label, note: slug }));
    }),
  );
  return lists.flat();
}

/** No value is read: those are sealed, and stay so. */
const questions: Readonly<Record<NameKind, string>> = {
  provider: "SELECT slug AS id, slug AS name, name AS note FROM providers",
  key: "SELECT keys.id, label AS name, slug AS note FROM keys JOIN providers ON providers.id = keys.provider_id",
  token: "SELECT id, name, '' AS note FROM tokens",
  webhook: "SELECT id, name, url AS note FROM webhooks",
};

async function readDatabase(kind: NameKind, { dataDir, databaseUrl }: Connection): Promise<readonly Named[]> {
  const path = join(dataDir, databaseFile);
  // A log beside it: somebody has it, or died with it. What is in there alone is not known without opening it to write.
  if (databaseUrl !== undefined || !existsSync(path) || existsSync(`${path}-wal`)) return [];
  const { DatabaseSync } = await import("node:sqlite");
  const file = pathToFileURL(path);
  // As it lies there: no lock is taken, and no file is made beside it.
  file.searchParams.set("immutable", "1");
  const database = new DatabaseSync(file, { readOnly: true });
  try {
    return database.prepare(questions[kind]).all() as unknown as readonly Named[];
  } finally {
    database.close();
  }
}
