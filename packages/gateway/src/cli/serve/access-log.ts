import type { RequestRecord } from "../../data-plane/request-record.ts";
import type { OpenLog } from "../../telemetry/log.ts";

const longestPath = 200;

/**
 * One line for each request that has ended: its path without query, who served it, what became of it.
 *
 * @param redact takes every secret out of a text; lines are written as they are put together here
 */
export function logRequest(entry: OpenLog["entry"], record: RequestRecord, redact: (text: string) => string): void {
  const { requestId, method, slug, path, status, keyId, attempts, ending, error, sessionId } = record;
  // Put together by hand: it is written with every request. What a client chooses is redacted and quoted; ids and codes of
  // ours need neither.
  let fields =
    `"request":"${requestId}","method":"${method}","path":${quoted(redact(`/${slug}${path}`))},"status":${status},` +
    `"ms":${Math.round(record.durationMs)}`;
  if (keyId !== undefined) fields += `,"key":"${keyId}"`;
  if (attempts.length > 1) {
    const told = attempts.map((attempt) => `${attempt.keyId} ${attempt.outcome}`);
    fields += `,"attempts":${JSON.stringify(told)}`;
  }
  if (sessionId !== undefined) fields += `,"session":${quoted(redact(sessionId))}`;
  if (error !== undefined) fields += `,"error":"${error}"`;
  if (ending !== "completed") fields += `,"ending":"${ending}"`;
  entry(error === "internal" ? "error" : "info", fields, "Request");
}

function quoted(text: string): string {
  return JSON.stringify(text.length <= longestPath ? text : `${text.slice(0, longestPath)}…`);
}
