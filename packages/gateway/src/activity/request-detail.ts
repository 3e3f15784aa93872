import type { AttemptRecord, Usage } from "@keywheel/pool";
import type { RequestRecord } from "../data-plane/request-record.ts";
import type { StoredRequest } from "../store/store.ts";

/** What is found in columns of its own beside the detail. */
type Columns = "requestId" | "providerId" | "keyId" | "sessionId" | "status";

/** The first element of a detail in this layout; one that is an object was written before there were layouts. */
const layout = 1;

type StoredUsage = readonly [
  inputTokens: number,
  cacheReadTokens: number,
  cacheWriteTokens: number,
  outputTokens: number,
  reasoningTokens: number,
];

type UsualAttempt = readonly [
  /** 0: the key that the answer came from. */
  keyId: string | 0,
  why: AttemptRecord["why"],
  /** After the request's own, ms. */
  startedMs: number,
  durationMs: number,
  status: number | null,
  outcome: string,
  /** 0: nobody. */
  passedOver: AttemptRecord["passedOver"] | 0,
];
/** The last, by name: what most attempts do not have, and what is not listed here. */
type StoredAttempt = UsualAttempt | readonly [...UsualAttempt, object];

type UsualDetail = readonly [
  layout: typeof layout,
  startedAt: number,
  /** After its start, ms. */
  endedMs: number,
  durationMs: number,
  firstByteMs: number | null,
  method: string,
  slug: string,
  path: string,
  model: string | null,
  tokenId: string | null,
  ending: RequestRecord["ending"],
  requestBytes: number,
  responseBytes: number | null,
  usage: StoredUsage | null,
  attempts: readonly StoredAttempt[],
];
/** The same. */
type StoredDetail = UsualDetail | readonly [...UsualDetail, object];

/**
 * A request as it is stored, without what has a column of its own. By place rather than by name: a gateway keeps a million of
 * them, and names would be more than half.
 *
 * @param endedAt epoch ms
 */
export function toDetail(record: RequestRecord, endedAt: number): string {
  const {
    requestId: _requestId,
    providerId: _providerId,
    sessionId: _sessionId,
    status: _status,
    keyId,
    startedAt,
    durationMs,
    firstByteMs,
    method,
    slug,
    path,
    model,
    tokenId,
    ending,
    requestBytes,
    responseBytes,
    usage,
    attempts,
    ...others
  } = record;
  const detail: UsualDetail = [
    layout,
    startedAt,
    endedAt - startedAt,
    toMicroseconds(durationMs),
    firstByteMs === undefined ? null : toMicroseconds(firstByteMs),
    method,
    slug,
    path,
    model ?? null,
    tokenId ?? null,
    ending,
    requestBytes,
    responseBytes ?? null,
    usage === undefined ? null : toStoredUsage(usage),
    attempts.map((attempt) => toStoredAttempt(attempt, keyId, startedAt)),
  ];
  return JSON.stringify(isEmpty(others) ? detail : [...detail, others]);
}

/** @param stored as it was written, in whichever layout */
export function fromDetail(
  stored: Pick<StoredRequest, "id" | "providerId" | "keyId" | "sessionId" | "status" | "detail">,
): {
  readonly record: RequestRecord;
  readonly endedAt: number;
} {
  const read = JSON.parse(stored.detail) as StoredDetail | (RequestRecord & { readonly endedAt: number });
  if (!isByPlace(read)) {
    const { endedAt, ...record } = read;
    return { record, endedAt };
  }
  const [
    ,
    startedAt,
    endedMs,
    durationMs,
    firstByteMs,
    method,
    slug,
    path,
    model,
    tokenId,
    ending,
    requestBytes,
    responseBytes,
    usage,
    attempts,
    others = {},
  ] = read;
  const { keyId, sessionId } = stored;
  const columns: Pick<RequestRecord, Columns> = {
    requestId: stored.id,
    providerId: stored.providerId ?? undefined,
    status: stored.status,
    ...(keyId !== null && { keyId }),
    ...(sessionId !== null && { sessionId }),
  };
  const record = {
    ...columns,
    slug,
    method,
    path,
    startedAt,
    durationMs,
    ending,
    requestBytes,
    attempts: attempts.map((attempt) => fromStoredAttempt(attempt, keyId ?? "", startedAt)),
    ...(model !== null && { model }),
    ...(tokenId !== null && { tokenId }),
    ...(firstByteMs !== null && { firstByteMs }),
    ...(responseBytes !== null && { responseBytes }),
    ...(usage !== null && { usage: fromStoredUsage(usage) }),
    ...others,
  };
  return { record, endedAt: startedAt + endedMs };
}

function isByPlace(read: StoredDetail | object): read is StoredDetail {
  return Array.isArray(read);
}

function toStoredAttempt(attempt: AttemptRecord, ownKeyId: string | undefined, from: number): StoredAttempt {
  const { keyId, why, startedAt, durationMs, status, outcome, passedOver, ...others } = attempt;
  const stored: UsualAttempt = [
    keyId === ownKeyId ? 0 : keyId,
    why,
    startedAt - from,
    toMicroseconds(durationMs),
    status ?? null,
    outcome,
    passedOver.length === 0 ? 0 : passedOver,
  ];
  return isEmpty(others) ? stored : [...stored, others];
}

function fromStoredAttempt(stored: StoredAttempt, ownKeyId: string, from: number): AttemptRecord {
  const [keyId, why, startedMs, durationMs, status, outcome, passedOver, others = {}] = stored;
  return {
    keyId: keyId === 0 ? ownKeyId : keyId,
    why,
    passedOver: passedOver === 0 ? [] : passedOver,
    startedAt: from + startedMs,
    durationMs,
    status: status ?? undefined,
    outcome,
    ...others,
  };
}

function toStoredUsage(usage: Usage): StoredUsage {
  const { inputTokens, cacheReadTokens, cacheWriteTokens, outputTokens, reasoningTokens } = usage;
  return [inputTokens, cacheReadTokens, cacheWriteTokens, outputTokens, reasoningTokens];
}

function fromStoredUsage(stored: StoredUsage): Usage {
  const [inputTokens, cacheReadTokens, cacheWriteTokens, outputTokens, reasoningTokens] = stored;
  return { inputTokens, cacheReadTokens, cacheWriteTokens, outputTokens, reasoningTokens };
}

function toMicroseconds(ms: number): number {
  return Math.round(ms * 1_000) / 1_000;
}

function isEmpty(others: object): boolean {
  for (const _name in others) return false;
  return true;
}
