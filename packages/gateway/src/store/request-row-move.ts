import { type Kysely, sql } from "kysely";
import { toBlocks } from "../requests/request-blocks.ts";
import { saveBlocks } from "./request-rows.ts";
import type { Database } from "./schema.ts";
import type { StoredRequest } from "./store.ts";

/** As requests were stored until 0005: a row each. */
interface RequestRow {
  readonly seq: number;
  readonly id: string;
  readonly provider_id: string | null;
  readonly key_id: string | null;
  readonly session_id: string | null;
  readonly status: number;
  readonly failed: 0 | 1;
  readonly detail: string;
}

interface TryRow {
  readonly key_id: string;
  readonly seq: number;
}

const rowsAtOnce = 1_000;

/** Puts the rows of the former tables into blocks, the oldest first. */
export async function moveRequestRows(db: Kysely<Database>): Promise<void> {
  let after = -1;
  for (;;) {
    const { rows } = await sql<RequestRow>`
      select * from requests where seq > ${after} order by seq limit ${sql.lit(rowsAtOnce)}`.execute(db);
    const last = rows.at(-1);
    if (last === undefined) return;
    const tries = await sql<TryRow>`
      select key_id, seq from request_tries where seq > ${after} and seq <= ${last.seq} order by seq, key_id`.execute(
      db,
    );
    await saveBlocks(db, toBlocks(withTries(rows, tries.rows)));
    after = last.seq;
  }
}

function withTries(rows: readonly RequestRow[], tries: readonly TryRow[]): readonly StoredRequest[] {
  const bySeq = new Map<number, string[]>();
  for (const { key_id, seq } of tries) bySeq.set(seq, [...(bySeq.get(seq) ?? []), key_id]);
  return rows.map((row) => ({
    seq: row.seq,
    id: row.id,
    providerId: row.provider_id,
    keyId: row.key_id,
    otherKeyIds: bySeq.get(row.seq) ?? [],
    sessionId: row.session_id,
    status: row.status,
    failed: row.failed === 1,
    // Ids did not tell it either: they are found by marks of their own.
    startedAt: 0,
    detail: row.detail,
  }));
}
