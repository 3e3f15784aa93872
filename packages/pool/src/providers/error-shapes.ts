import type { ProviderKind } from "./kinds.ts";

/** An error that the gateway makes, before it is put into a provider's words. */
export interface ErrorToShape {
  readonly code: string;
  readonly status: number;
  readonly message: string;
  readonly retryAfterMs?: number | undefined;
}

/**
 * The body of a gateway's own error in the shape of the provider's errors, so that its SDK raises its usual exception.
 *
 * @see contract §2; reference "Error envelopes"
 */
export function shapeError(kind: ProviderKind, error: ErrorToShape): object {
  switch (kind) {
    case "anthropic":
      return { type: "error", error: { type: anthropicType(error.status), message: error.message }, request_id: null };
    case "gemini":
      return {
        error: {
          code: error.status,
          message: error.message,
          status: geminiStatus(error.status),
          details: geminiDetails(error),
        },
      };
    case "openai":
    case "azure-openai":
    case "openai-compatible":
      return { error: { message: error.message, type: openaiType(error.status), param: null, code: error.code } };
  }
}

function openaiType(status: number): string {
  if (status === 401) return "authentication_error";
  if (status === 429) return "rate_limit_error";
  return status >= 500 ? "server_error" : "invalid_request_error";
}

function anthropicType(status: number): string {
  const types: Record<number, string> = {
    400: "invalid_request_error",
    401: "authentication_error",
    403: "permission_error",
    404: "not_found_error",
    413: "request_too_large",
    429: "rate_limit_error",
    504: "timeout_error",
    529: "overloaded_error",
  };
  return types[status] ?? (status >= 500 ? "api_error" : "invalid_request_error");
}

function geminiStatus(status: number): string {
  const statuses: Record<number, string> = {
    400: "INVALID_ARGUMENT",
    401: "UNAUTHENTICATED",
    403: "PERMISSION_DENIED",
    404: "NOT_FOUND",
    429: "RESOURCE_EXHAUSTED",
    500: "INTERNAL",
    502: "UNAVAILABLE",
    503: "UNAVAILABLE",
    504: "DEADLINE_EXCEEDED",
  };
  return statuses[status] ?? (status >= 500 ? "INTERNAL" : "INVALID_ARGUMENT");
}

function geminiDetails(error: ErrorToShape): object[] {
  const info = {
    "@type": "type.googleapis.com/google.rpc.ErrorInfo",
    reason: error.code.toUpperCase(),
    domain: "keywheel",
  };
  if (error.retryAfterMs === undefined) return [info];
  const retryDelay = `${Math.max(1, Math.ceil(error.retryAfterMs / 1000))}s`;
  return [info, { "@type": "type.googleapis.com/google.rpc.RetryInfo", retryDelay }];
}
