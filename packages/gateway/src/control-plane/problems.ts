import { type ErrorCode, errorTable, isKeywheelError, KeywheelError } from "@keywheel/pool";
import type { Context } from "hono";
import { HTTPException } from "hono/http-exception";
import { problemSchema } from "../contract/problem.ts";
import { toProblem } from "../contract/to-problem.ts";

/** Answers an error as application/problem+json (RFC 9457). What is none of ours is told to `onError` and hidden. */
export function answerProblem(
  c: Context,
  thrown: unknown,
  onError?: (error: unknown, request: { readonly method: string; readonly path: string }) => void,
): Response {
  const error = asKeywheelError(thrown);
  if (error.status >= 500) onError?.(thrown, { method: c.req.method, path: c.req.path });
  if (error.retryAfterMs !== undefined)
    c.header("retry-after", String(Math.max(1, Math.ceil(error.retryAfterMs / 1000))));
  if (error.status === 401) c.header("www-authenticate", 'Bearer realm="keywheel"');
  c.header("content-type", "application/problem+json");
  return c.body(JSON.stringify(toProblem(error)), error.status as 400);
}

function asKeywheelError(thrown: unknown): KeywheelError {
  if (isKeywheelError(thrown)) return thrown;
  if (!(thrown instanceof HTTPException)) return new KeywheelError("internal", undefined, { cause: thrown });
  // The framework's own: a body that is no JSON, and one without a content type.
  const code: ErrorCode = thrown.status === 415 ? "unsupported_media_type" : "invalid_request";
  return new KeywheelError(code, code === "invalid_request" ? "The body is not valid JSON" : undefined, {
    cause: thrown,
  });
}

const what: Readonly<Record<number, string>> = {
  400: "The body is not valid JSON",
  401: "No admin token, or a wrong one",
  403: "Not with a browser's cookie",
  404: "There is no such thing",
  409: "It conflicts with what is stored",
  413: "The body is too large",
  415: "The body is not JSON",
  422: "Some fields are not valid: see `errors`",
  429: errorTable.too_many_attempts.title,
  503: "The database cannot be written; nothing was changed",
};

const problemContent = { "application/problem+json": { schema: problemSchema } };

/**
 * The errors of a route for its document.
 *
 * They are typed as none: handlers throw them, and `c.json` answers successes alone.
 */
export function problems(...statuses: readonly number[]): object {
  const all = [...statuses].sort((one, other) => one - other);
  return Object.fromEntries(
    all.map((status) => [status, { description: what[status] ?? "", content: problemContent }]),
  );
}

/** What every call that needs the admin token may answer. */
export const guarded = [401, 429] as const;
/** What every call with a body may answer. */
export const withBody = [...guarded, 400, 413, 415, 422, 503] as const;
