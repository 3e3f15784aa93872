import type { Problem } from "./openapi.ts";

/** An answer of the control plane that says no, or no answer at all. */
export class ApiError extends Error {
  /** 0 where there was no answer. */
  readonly status: number;
  readonly code: Problem["code"] | "offline" | "unreadable";
  /** What to do about it, in the API's words; empty where there was no answer. */
  readonly hint: string;
  /** Refused fields with their paths, such as `settings.cooldown.base_ms`. */
  readonly errors: NonNullable<Problem["errors"]>;
  readonly retryAfterMs: number | undefined;

  constructor(
    problem: Pick<Problem, "status" | "detail"> & { readonly code: ApiError["code"] } & Partial<Omit<Problem, "code">>,
    options: { readonly retryAfterMs?: number | undefined; readonly cause?: unknown } = {},
  ) {
    super(problem.detail, { cause: options.cause });
    this.name = "ApiError";
    this.status = problem.status;
    this.code = problem.code;
    this.hint = problem.hint ?? "";
    this.errors = problem.errors ?? [];
    this.retryAfterMs = options.retryAfterMs;
  }
}

export function isApiError(error: unknown): error is ApiError {
  return error instanceof ApiError;
}

/** Whether the browser is not, or no longer, signed in. */
export function isSignedOut(error: unknown): boolean {
  return isApiError(error) && error.status === 401;
}

/** The error of an answer that is not 2xx. */
export async function toApiError(response: Response): Promise<ApiError> {
  const retryAfter = Number(response.headers.get("retry-after"));
  const retryAfterMs = retryAfter > 0 ? retryAfter * 1_000 : undefined;
  const text = await response.text();
  try {
    return new ApiError(JSON.parse(text) as Problem, { retryAfterMs });
  } catch (cause) {
    // Something between us and the gateway answered.
    return new ApiError(
      { status: response.status, code: "unreadable", detail: text.slice(0, 200) },
      { retryAfterMs, cause },
    );
  }
}
