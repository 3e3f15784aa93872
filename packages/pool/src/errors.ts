/** What a code means, for every answer, log line and page that shows it. */
export interface ErrorEntry {
  /** The HTTP status it is answered with. */
  readonly status: number;
  /** What happened. */
  readonly title: string;
  /** What to do about it. */
  readonly hint: string;
}

/** The codes of our own errors. */
export type ErrorCode =
  | "pool_exhausted"
  | "no_usable_key"
  | "unauthorized"
  | "token_limited"
  | "forbidden"
  | "unknown_provider"
  | "upstream_unreachable"
  | "upstream_timeout"
  | "body_too_large"
  | "invalid_request"
  | "misdirected"
  | "not_found"
  | "conflict"
  | "validation_failed"
  | "too_many_attempts"
  | "unsupported_media_type"
  | "method_not_allowed"
  | "store_unavailable"
  | "overloaded"
  | "internal";

/** The codes of errors that a pool makes by itself. */
export type PoolErrorCode = Extract<
  ErrorCode,
  "pool_exhausted" | "no_usable_key" | "upstream_unreachable" | "invalid_request" | "validation_failed"
>;

/** The errors that a pool makes by itself, without a gateway around it. */
export const poolErrors: Readonly<Record<PoolErrorCode, ErrorEntry>> = {
  pool_exhausted: {
    status: 429,
    title: "Every key that could serve is cooling down",
    hint: "Wait for `retry-after`, or add a key to the pool.",
  },
  no_usable_key: {
    status: 503,
    title: "No key can serve",
    hint: "Add a key, enable one, or set the environment variable that a key refers to.",
  },
  upstream_unreachable: {
    status: 502,
    title: "The provider cannot be reached",
    hint: "Check the provider's base URL and this machine's network.",
  },
  invalid_request: { status: 400, title: "The request cannot be forwarded", hint: "Correct the request." },
  validation_failed: { status: 422, title: "Some fields are not valid", hint: "Correct the fields named in `errors`." },
};

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

const brand = Symbol.for("keywheel.error");

export interface KeywheelErrorOptions {
  readonly cause?: unknown;
  /** Wait before another try makes sense, ms. */
  readonly retryAfterMs?: number;
  readonly details?: readonly FieldError[];
  /** Replaces the table's hint where more is known. */
  readonly hint?: string;
  /** Replaces the table's status (a pool emptied by overload). */
  readonly status?: number;
}

/** One field that was refused. */
export interface FieldError {
  /** The field as the caller wrote it: `weight`, `settings.cooldown.base_ms`. */
  readonly path: string;
  readonly message: string;
  /** What is wrong, for programs that say it in words of their own. */
  readonly code?: string;
  /** Numbers that those words need, such as the most that is taken. */
  readonly params?: Readonly<Record<string, number>>;
}

/**
 * An error that is thrown at callers. `message` says what happened; it holds no secret.
 *
 * It is known by its brand and not by its class: `instanceof KeywheelError` holds for it, also where it was made by another
 * copy of this package, or by the library, which knows none of the gateway's codes.
 */
export abstract class BrandedError extends Error {
  readonly code: ErrorCode;
  readonly status: number;
  readonly hint: string;
  readonly retryAfterMs: number | undefined;
  readonly details: readonly FieldError[];

  static override [Symbol.hasInstance](value: unknown): boolean {
    return isKeywheelError(value);
  }

  protected constructor(code: ErrorCode, entry: ErrorEntry, message?: string, options: KeywheelErrorOptions = {}) {
    super(message ?? entry.title, options.cause === undefined ? undefined : { cause: options.cause });
    this.name = "KeywheelError";
    Object.defineProperty(this, brand, { value: true });
    this.code = code;
    this.status = options.status ?? entry.status;
    this.hint = options.hint ?? entry.hint;
    this.retryAfterMs = options.retryAfterMs;
    this.details = options.details ?? [];
  }
}

/** The one class of errors that Keywheel throws at callers. */
export class KeywheelError extends BrandedError {
  constructor(code: ErrorCode, message?: string, options?: KeywheelErrorOptions) {
    super(code, errorTable[code], message, options);
  }
}

/** The same, of a pool without a gateway around it. */
export class PoolError extends BrandedError {
  constructor(code: PoolErrorCode, message?: string, options?: KeywheelErrorOptions) {
    super(code, poolErrors[code], message, options);
  }
}

/** Whether `value` is a KeywheelError, also one of another copy of this package. */
export function isKeywheelError(value: unknown): value is KeywheelError {
  return typeof value === "object" && value !== null && brand in value;
}
