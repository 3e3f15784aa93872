import type { RequestRecord } from "../../data-plane/request-record.ts";
import type { Log } from "../../telemetry/log.ts";

const longestPath = 200;

/** One line for each request that has ended: its path without query, who served it, what became of it. */
export function logRequest(log: Log, record: RequestRecord): void {
  const { requestId, method, slug, path, status, keyId, attempts, ending, error, sessionId } = record;
  const fields = {
    request: requestId,
    method,
    path: shorten(`/${slug}${path}`),
    status,
    ms: Math.round(record.durationMs),
    ...(keyId === undefined ? {} : { key: keyId }),
    ...(attempts.length > 1 ? { attempts: attempts.map((attempt) => `${attempt.keyId} ${attempt.outcome}`) } : {}),
    ...(sessionId === undefined ? {} : { session: shorten(sessionId) }),
    ...(error === undefined ? {} : { error }),
    ...(ending === "completed" ? {} : { ending }),
  };
  if (error === "internal") log.error(fields, "Request");
  else log.info(fields, "Request");
}

function shorten(text: string): string {
  return text.length <= longestPath ? text : `${text.slice(0, longestPath)}…`;
}
