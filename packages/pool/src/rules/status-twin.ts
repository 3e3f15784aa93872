import type { ErrorFacts } from "./error-facts.ts";

/**
 * What a general error word would have been as a status, for errors told inside a 200. Words that mean different things at
 * different providers are not here; their own rows know them (Moonshot's `engine_overloaded_error`, Zhipu's numbers).
 */
const statusOfWord: Readonly<Record<string, number>> = {
  invalid_request_error: 400,
  invalid_request: 400,
  bad_request: 400,
  INVALID_ARGUMENT: 400,
  FAILED_PRECONDITION: 400,
  authentication_error: 401,
  authentication: 401,
  invalid_api_key: 401,
  UNAUTHENTICATED: 401,
  billing_error: 402,
  payment_required: 402,
  permission_error: 403,
  permission_denied: 403,
  PERMISSION_DENIED: 403,
  not_found_error: 404,
  not_found: 404,
  NOT_FOUND: 404,
  request_too_large: 413,
  rate_limit_error: 429,
  rate_limit_exceeded: 429,
  rate_limited: 429,
  too_many_requests: 429,
  insufficient_quota: 429,
  usage_limit_reached: 429,
  RESOURCE_EXHAUSTED: 429,
  api_error: 500,
  server_error: 500,
  internal_server_error: 500,
  internal_error: 500,
  INTERNAL: 500,
  UNKNOWN: 500,
  provider_unavailable: 502,
  server_is_overloaded: 503,
  service_unavailable_error: 503,
  service_unavailable: 503,
  provider_overloaded: 503,
  temporarily_unavailable: 503,
  UNAVAILABLE: 503,
  timeout_error: 504,
  timeout: 504,
  vector_store_timeout: 504,
  DEADLINE_EXCEEDED: 504,
  overloaded_error: 529,
};

/**
 * The status that an error told inside a 200 would have had: the one it names, else that of its first known word.
 *
 * @returns undefined when neither tells; an error without any code is the server's own (500), for what is wrong with a
 *   request is found before a stream begins
 */
export function statusTwin(facts: ErrorFacts): number | undefined {
  if (facts.status !== undefined) return facts.status;
  for (const code of facts.codes) {
    if (Object.hasOwn(statusOfWord, code)) return statusOfWord[code];
  }
  return facts.codes.length === 0 ? 500 : undefined;
}
