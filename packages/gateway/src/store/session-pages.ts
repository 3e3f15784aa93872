import { KeywheelError } from "@keywheel/pool";
import type { Kysely, Selectable } from "kysely";
import type { Database, SessionTable } from "./schema.ts";
import { containsText, isBindingAlive } from "./session-rows.ts";
import type { SessionFilter, SessionPage, SessionRecord } from "./store.ts";

/** The last session of a page: the next page begins behind it, whatever was added or removed before. */
interface Position {
  readonly lastUsedAt: number;
  readonly seq: number;
}

type Row = Selectable<SessionTable>;

/** Newest use first; sessions of the same millisecond by creation, newest first. */
export async function listSessions(db: Kysely<Database>, filter: SessionFilter): Promise<SessionPage> {
  const behind = filter.cursor === undefined ? undefined : parseCursor(filter.cursor);
  const rows: Row[] = [];
  // Provider by provider, then merged: one index on the time of use serves both kinds of listing.
  for (const providerId of await providersOf(db, filter)) {
    rows.push(...(await readNewest(db, { ...filter, providerId }, behind)));
  }
  const page = rows.sort(newestFirst).slice(0, filter.limit);
  const last = page.at(-1);
  const next = rows.length > filter.limit && last !== undefined ? toCursor(last) : undefined;
  return { sessions: page.map(toRecord), next };
}

async function providersOf(db: Kysely<Database>, { providerId, keyId }: SessionFilter): Promise<readonly string[]> {
  if (providerId !== undefined) return [providerId];
  if (keyId !== undefined) {
    const keys = await db.selectFrom("keys").select("provider_id").where("id", "=", keyId).execute();
    return keys.map((key) => key.provider_id);
  }
  const providers = await db.selectFrom("providers").select("id").execute();
  return providers.map(({ id }) => id);
}

/** One row more than the page holds, to tell whether there is another page. */
async function readNewest(
  db: Kysely<Database>,
  { providerId, keyId, search, limit }: SessionFilter & { readonly providerId: string },
  behind: Position | undefined,
): Promise<readonly Row[]> {
  let query = db
    .selectFrom("sessions")
    .innerJoin("keys", "keys.id", "sessions.key_id")
    .selectAll("sessions")
    .where("sessions.provider_id", "=", providerId)
    .where(isBindingAlive);
  if (keyId !== undefined) query = query.where("sessions.key_id", "=", keyId);
  if (search !== undefined && search !== "") query = query.where(containsText("sessions.id", search));
  if (behind !== undefined) {
    query = query.where((eb) =>
      eb(eb.refTuple("sessions.last_used_at", "sessions.seq"), "<", eb.tuple(behind.lastUsedAt, behind.seq)),
    );
  }
  return await query
    .orderBy("sessions.last_used_at", "desc")
    .orderBy("sessions.seq", "desc")
    .limit(limit + 1)
    .execute();
}

function newestFirst(a: Row, b: Row): number {
  return b.last_used_at - a.last_used_at || b.seq - a.seq;
}

function toCursor({ last_used_at, seq }: Row): string {
  return Buffer.from(`${last_used_at}.${seq}`).toString("base64url");
}

function parseCursor(cursor: string): Position {
  const [, lastUsedAt, seq] = /^(\d{1,16})\.(\d{1,16})$/.exec(Buffer.from(cursor, "base64url").toString()) ?? [];
  if (lastUsedAt !== undefined && seq !== undefined) return { lastUsedAt: Number(lastUsedAt), seq: Number(seq) };
  const message = "Expected `cursor` to be what the last page answered as its next one";
  throw new KeywheelError("validation_failed", message, { details: [{ path: "cursor", message }] });
}

function toRecord(row: Row): SessionRecord {
  return {
    id: row.id,
    carrier: row.carrier,
    providerId: row.provider_id,
    keyId: row.key_id,
    boundAt: row.bound_at,
    lastUsedAt: row.last_used_at,
    requests: row.requests,
  };
}
