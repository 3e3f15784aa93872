import type { ErrorFacts } from "./error-facts.ts";

/**
 * What a general error word would have been as a status, for errors told inside a 200. Words that mean different things at
 * different providers are not here; their own rows know them (Moonshot's `engine_overloaded_error`, Zhipu's numbers).
 */
const wordsOfStatus: Readonly<Record<number, string>> = {
  400: "invalid_request_error invalid_request bad_request INVALID_ARGUMENT FAILED_PRECONDITION",
  401: "authentication_error authentication invalid_api_key UNAUTHENTICATED",
  402: "billing_error payment_required",
  403: "permission_error permission_denied PERMISSION_DENIED",
  404: "not_found_error not_found NOT_FOUND",
  413: "request_too_large",
  429:
    "rate_limit_error rate_limit_exceeded rate_limited too_many_requests insufficient_quota " +
    "usage_limit_reached RESOURCE_EXHAUSTED",
  500: "api_error server_error internal_server_error internal_error INTERNAL UNKNOWN",
  502: "provider_unavailable",
  503:
    "server_is_overloaded service_unavailable_error service_unavailable provider_overloaded " +
    "temporarily_unavailable UNAVAILABLE",
  504: "timeout_error timeout vector_store_timeout DEADLINE_EXCEEDED",
  529: "overloaded_error",
};

const statusOfWord = /* @__PURE__ */ new Map(
  Object.entries(wordsOfStatus).flatMap(([status, words]) =>
    words.split(" ").map((word): [string, number] => [word, Number(status)]),
  ),
);

/**
 * The status that an error told inside a 200 would have had: the one it names, else that of its first known word.
 *
 * @returns undefined when neither tells; an error without any code is the server's own (500), for what is wrong with a
 *   request is found before a stream begins
 */
export function statusTwin(facts: ErrorFacts): number | undefined {
  if (facts.status !== undefined) return facts.status;
  for (const code of facts.codes) {
    const status = statusOfWord.get(code);
    if (status !== undefined) return status;
  }
  return facts.codes.length === 0 ? 500 : undefined;
}
