import { answersWithPage, type ErrorFacts, readErrorFacts } from "./error-facts.ts";
import { type AnswerRules, type Meaning, recognise } from "./recognised-answer.ts";
import { statusTwin } from "./status-twin.ts";
import type { DurationMs } from "./time.ts";
import { tellsError } from "./told-error.ts";
import type { JudgedAnswer, KeyEffect, Notice, RequestEffect, Verdict } from "./verdict.ts";
import { retryAfterMs, waitHintMs } from "./wait-hint.ts";

/** How long a key rests for a model that it lacks. @see reference "The policy of this product" */
const modelRestMs: DurationMs = 3_600_000;

interface Outcome {
  readonly key: (hintMs: DurationMs | undefined) => KeyEffect;
  readonly request: RequestEffect;
  readonly notice?: Notice;
}

const none = (): KeyEffect => ({ kind: "none" });
const disable = (): KeyEffect => ({ kind: "disable", reason: "authentication_failed" });

function cool(reason: "rate_limited" | "overloaded", scope: "key" | "model"): Outcome["key"] {
  return (hintMs) => ({ kind: "cool", reason, scope, failure: { rest: "ladder", ...withHint(hintMs) } });
}

/** What follows from each meaning. @see contract §4, reference "The policy of this product" */
const outcomes: Readonly<Record<Meaning, Outcome>> = {
  succeeded: { key: () => ({ kind: "succeeded" }), request: "give-back" },
  rate_limited: { key: cool("rate_limited", "key"), request: "next-key" },
  model_rate_limited: { key: cool("rate_limited", "model"), request: "next-key" },
  overloaded: { key: cool("overloaded", "key"), request: "next-key" },
  quota_exhausted: {
    key: (hintMs) => ({
      kind: "cool",
      reason: "quota_exhausted",
      scope: "key",
      failure: { rest: "at-cap", ...withHint(hintMs) },
    }),
    request: "next-key",
  },
  budget_in_flight: { key: cool("rate_limited", "key"), request: "next-key" },
  key_refused: { key: disable, request: "next-key" },
  account_suspended: { key: disable, request: "next-key" },
  model_unavailable: {
    key: () => ({ kind: "rest-model", reason: "model_unavailable", restMs: modelRestMs }),
    request: "next-key",
  },
  provider_busy: { key: none, request: "provider-retry" },
  provider_error: { key: none, request: "provider-retry" },
  edge_blocked: { key: none, request: "give-back", notice: "edge_block" },
  region_refused: { key: none, request: "give-back", notice: "region_refused" },
  not_an_api: { key: none, request: "give-back", notice: "not_an_api" },
  content_refused: { key: none, request: "give-back" },
  object_of_other_key: { key: none, request: "give-back" },
  context_too_long: { key: none, request: "give-back" },
  too_large_for_key: { key: none, request: "one-other-key" },
  model_ambiguous: { key: none, request: "one-other-key" },
  model_missing: { key: none, request: "give-back" },
  request_refused: { key: none, request: "give-back" },
};

/**
 * The one judgement of an answer: what happens to the key, and what happens to the request.
 *
 * Known answers first, then the base rule: 429 and 529 cool, 401 and 403 disable, 402 rests at the cap, the provider's own
 * faults and everything else leave the key alone. An error told inside a 200 is judged as its status would have been. Never
 * throws, whatever the answer holds.
 *
 * @param rules what is known of this provider's answers, first fit first
 * @see contract §4 rules 4 to 6, reference "The policy of this product"
 */
export function judge(answer: JudgedAnswer, rules: AnswerRules): Verdict {
  const isPage = answersWithPage(answer);
  if (isSuccess(answer.status) && !isPage && !tellsError(answer.bodyText)) {
    return verdictOf("succeeded", answer.status);
  }
  const facts = readErrorFacts(answer);
  const status = isSuccess(answer.status) && !isPage ? statusTwin(facts) : answer.status;
  const known = recognise({ status, header: answer.header, facts }, rules);
  const means = settled(known?.means ?? baseMeaning(status, facts, answer), status, answer);
  const wait = known?.wait ?? (means === "quota_exhausted" ? "none" : "stated");
  const hintMs = waitHintMs(answer, facts, wait, rules.localOffsetMinutes);
  return verdictOf(means, status ?? answer.status, facts, hintMs);
}

/** 2xx, and the 101 of a WebSocket. */
function isSuccess(status: number): boolean {
  return (status >= 200 && status < 300) || status === 101;
}

/** The base rule. @see spec "Automatic Failover" */
const meaningOfStatus: Readonly<Record<number, Meaning>> = {
  401: "key_refused",
  402: "quota_exhausted",
  403: "key_refused",
  429: "rate_limited",
  529: "overloaded",
};

function baseMeaning(status: number | undefined, facts: ErrorFacts, answer: JudgedAnswer): Meaning {
  if (facts.isPage) return pageMeaning(answer);
  if (status === undefined) return "request_refused";
  // Whether it is the key that was refused, the rest would have told; disabling a key takes a person to mend.
  if (answer.isCut === true && meaningOfStatus[status] === "key_refused") return "provider_error";
  return meaningOfStatus[status] ?? (isProviderError(status) ? "provider_error" : "request_refused");
}

/** A page is from an edge, a proxy or a web site: no key was looked at. @see field case 21 */
function pageMeaning(answer: JudgedAnswer): Meaning {
  if (isSuccess(answer.status)) return "not_an_api";
  const isChallenge = answer.header("cf-mitigated") !== undefined || [401, 403, 429].includes(answer.status);
  if (isChallenge) return "edge_blocked";
  return isProviderError(answer.status) ? "provider_error" : "request_refused";
}

/** 498 is Groq's "flex tier at capacity"; 0 stands for no answer at all. */
function isProviderError(status: number): boolean {
  return status === 0 || status === 408 || status === 498 || status >= 500;
}

/** A 402 that says when to come back is about credit that requests under way hold. @see field case 16 */
function settled(means: Meaning, status: number | undefined, answer: JudgedAnswer): Meaning {
  const isPassing = means === "quota_exhausted" && status === 402 && retryAfterMs(answer) !== undefined;
  return isPassing ? "budget_in_flight" : means;
}

/** What was said, cut to what a log line and a page can hold. */
const saidLength = 500;

function verdictOf(means: Meaning, httpStatus: number, facts?: ErrorFacts, hintMs?: DurationMs): Verdict {
  const { key, request, notice } = outcomes[means];
  const effect = key(hintMs);
  const isWaitUseful = hintMs !== undefined && (effect.kind === "cool" || request === "provider-retry");
  return {
    key: effect,
    request,
    code: means,
    message: facts?.message?.slice(0, saidLength),
    httpStatus,
    ...(isWaitUseful ? { statedWaitMs: hintMs } : {}),
    ...(notice === undefined ? {} : { notice }),
  };
}

function withHint(hintMs: DurationMs | undefined): { readonly hintMs?: DurationMs } {
  return hintMs === undefined ? {} : { hintMs };
}
