import type { KeywheelError } from "./gateway-errors.ts";

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

/** An error of a pool without a gateway around it. */
export class PoolError extends BrandedError {
  constructor(code: PoolErrorCode, message?: string, options?: KeywheelErrorOptions) {
    super(code, poolErrors[code], message, options);
  }
}

/** Whether `value` is a KeywheelError, also one of another copy of this package. */
export function isKeywheelError(value: unknown): value is KeywheelError {
  return typeof value === "object" && value !== null && brand in value;
}
