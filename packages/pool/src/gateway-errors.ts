// A module of its own: bundlers leave out whole what a program has no use for.
import { BrandedError, type ErrorCode, type ErrorEntry, type KeywheelErrorOptions, poolErrors } from "./errors.ts";

/** Every error that Keywheel makes itself. Codes are never renamed. @see contract §2, §3, §5 */
export const errorTable: Readonly<Record<ErrorCode, ErrorEntry>> = {
  pool_exhausted: poolErrors.pool_exhausted,
  no_usable_key: poolErrors.no_usable_key,
  unauthorized: {
    status: 401,
    title: "A gateway token is required",
    hint: "Send a token made with `keywheel token create` as the API key.",
  },
  token_limited: {
    status: 429,
    title: "The limit of this gateway token is reached",
    hint: "Wait for `retry-after`, or have the operator raise the token's limit.",
  },
  forbidden: { status: 403, title: "Not allowed", hint: "Ask the operator of this gateway." },
  unknown_provider: {
    status: 404,
    title: "There is no such provider",
    hint: "The first segment of the path is the provider's slug; `keywheel provider list` shows them.",
  },
  upstream_unreachable: poolErrors.upstream_unreachable,
  upstream_timeout: {
    status: 504,
    title: "The provider did not answer in time",
    hint: "Try again, or raise the provider's `timeouts.headers_ms`.",
  },
  body_too_large: {
    status: 413,
    title: "The request body is too large",
    hint: "Send less, or raise the provider's `max_body_bytes`.",
  },
  invalid_request: poolErrors.invalid_request,
  misdirected: {
    status: 421,
    title: "This gateway does not serve that host name",
    hint: "Use the address it is bound to, or start it with `--allow-host`.",
  },
  not_found: { status: 404, title: "Not found", hint: "Check the id." },
  conflict: { status: 409, title: "It exists already", hint: "Use the existing one, or another name." },
  validation_failed: poolErrors.validation_failed,
  too_many_attempts: { status: 429, title: "Too many wrong tokens", hint: "Wait for `retry-after`." },
  unsupported_media_type: { status: 415, title: "Not JSON", hint: "Send `content-type: application/json`." },
  method_not_allowed: { status: 405, title: "Not that method", hint: "See `allow` for the methods of this path." },
  store_unavailable: {
    status: 503,
    title: "The database cannot be written",
    hint: "Check the disk of the data directory; nothing was changed.",
  },
  overloaded: {
    status: 503,
    title: "This gateway is overloaded",
    hint: "Wait for `retry-after`; if it happens often, give the gateway more memory or processors, or run several.",
  },
  internal: { status: 500, title: "Something went wrong inside Keywheel", hint: "See the log for this request id." },
};

/** The one class of errors that Keywheel throws at callers. */
export class KeywheelError extends BrandedError {
  constructor(code: ErrorCode, message?: string, options?: KeywheelErrorOptions) {
    super(code, errorTable[code], message, options);
  }
}
