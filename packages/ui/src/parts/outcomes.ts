import type { ParseKeys, TFunction } from "i18next";

interface Words {
  readonly label: ParseKeys;
  /** What it means for the key and the request. */
  readonly text: ParseKeys;
}

/** @see packages/pool/src/rules/recognised-answer.ts: what an answer can mean, and three more for those that never came */
const words = {
  succeeded: { label: "outcomes.succeeded", text: "outcomes.succeededText" },
  rate_limited: { label: "outcomes.rateLimited", text: "outcomes.rateLimitedText" },
  model_rate_limited: { label: "outcomes.rateLimited", text: "outcomes.modelRateLimitedText" },
  overloaded: { label: "outcomes.overloaded", text: "outcomes.overloadedText" },
  quota_exhausted: { label: "outcomes.quotaExhausted", text: "outcomes.quotaExhaustedText" },
  budget_in_flight: { label: "outcomes.budgetInFlight", text: "outcomes.budgetInFlightText" },
  key_refused: { label: "outcomes.keyRefused", text: "outcomes.keyRefusedText" },
  account_suspended: { label: "outcomes.accountSuspended", text: "outcomes.accountSuspendedText" },
  model_unavailable: { label: "outcomes.modelUnavailable", text: "outcomes.modelUnavailableText" },
  provider_busy: { label: "outcomes.providerBusy", text: "outcomes.providerBusyText" },
  provider_error: { label: "outcomes.providerError", text: "outcomes.providerErrorText" },
  edge_blocked: { label: "outcomes.edgeBlocked", text: "outcomes.edgeBlockedText" },
  region_refused: { label: "outcomes.regionRefused", text: "outcomes.regionRefusedText" },
  not_an_api: { label: "outcomes.notAnApi", text: "outcomes.notAnApiText" },
  content_refused: { label: "outcomes.contentRefused", text: "outcomes.contentRefusedText" },
  object_of_other_key: { label: "outcomes.objectOfOtherKey", text: "outcomes.objectOfOtherKeyText" },
  context_too_long: { label: "outcomes.contextTooLong", text: "outcomes.contextTooLongText" },
  too_large_for_key: { label: "outcomes.tooLargeForKey", text: "outcomes.tooLargeForKeyText" },
  model_ambiguous: { label: "outcomes.modelAmbiguous", text: "outcomes.modelAmbiguousText" },
  model_missing: { label: "outcomes.modelMissing", text: "outcomes.modelMissingText" },
  request_refused: { label: "outcomes.requestRefused", text: "outcomes.requestRefusedText" },
  unreachable: { label: "outcomes.unreachable", text: "outcomes.unreachableText" },
  timeout: { label: "outcomes.timeout", text: "outcomes.timeoutText" },
  client_gone: { label: "outcomes.clientGone", text: "outcomes.clientGoneText" },
} as const satisfies Readonly<Record<string, Words>>;

/** The gateway may know of more than these pages. */
function lookUp<Table extends object>(table: Table, code: string): Table[keyof Table] | undefined {
  return Object.hasOwn(table, code) ? table[code as keyof Table] : undefined;
}

/** What became of an attempt, in a word. */
export function outcomeLabel(code: string, t: TFunction): string {
  const known = lookUp(words, code);
  return known === undefined ? t("outcomes.unknown", { code }) : t(known.label);
}

/** The same in a sentence that says what followed for the key; empty for an outcome that is not known here. */
export function outcomeText(code: string, t: TFunction): string {
  const known = lookUp(words, code);
  return known === undefined ? "" : t(known.text);
}

const becauses = {
  rate_limited: "outcomes.becauseRateLimited",
  overloaded: "outcomes.becauseOverloaded",
  quota_exhausted: "outcomes.becauseQuota",
  authentication_failed: "outcomes.becauseAuth",
  model_unavailable: "outcomes.becauseModel",
  disabled_by_operator: "outcomes.becauseOperator",
  unresolved: "outcomes.becauseUnresolved",
  undecryptable: "outcomes.becauseUndecryptable",
  tried: "outcomes.becauseTried",
} as const satisfies Readonly<Record<string, ParseKeys>>;

/** Why a key could not be chosen. */
export function becauseText(code: string, t: TFunction): string {
  const known = lookUp(becauses, code);
  return known === undefined ? t("outcomes.unknown", { code }) : t(known);
}

const leavings = {
  authentication_failed: "outcomes.keyRefused",
  disabled_by_operator: "keys.reasonOperator",
  unresolved: "keys.reasonUnresolved",
  undecryptable: "keys.reasonUndecryptable",
  deleted: "affinity.reasonDeleted",
} as const satisfies Readonly<Record<string, ParseKeys>>;

/** Why requests left their key, in a word: what an answer meant, or why the key was out before anybody asked it. */
export function leavingLabel(reason: string, t: TFunction): string {
  const known = lookUp(leavings, reason);
  return known === undefined ? outcomeLabel(reason, t) : t(known);
}

const errors = {
  pool_exhausted: { label: "activity.noneLeft", text: "outcomes.errorPoolExhausted" },
  no_usable_key: { label: "activity.noneLeft", text: "outcomes.errorNoUsableKey" },
  unauthorized: { label: "outcomes.errorUnauthorizedLabel", text: "outcomes.errorUnauthorized" },
  token_limited: { label: "outcomes.errorTokenLimitedLabel", text: "outcomes.errorTokenLimited" },
  unknown_provider: { label: "outcomes.errorUnknownProviderLabel", text: "outcomes.errorUnknownProvider" },
  upstream_unreachable: { label: "outcomes.unreachable", text: "outcomes.errorUnreachable" },
  upstream_timeout: { label: "outcomes.timeout", text: "outcomes.errorTimeout" },
  body_too_large: { label: "outcomes.errorBodyTooLargeLabel", text: "outcomes.errorBodyTooLarge" },
  overloaded: { label: "outcomes.errorOverloadedLabel", text: "outcomes.errorOverloaded" },
  invalid_request: { label: "outcomes.errorInvalidRequestLabel", text: "outcomes.errorInvalidRequest" },
} as const satisfies Readonly<Record<string, Words>>;

/** An error of the gateway's own, in a word or two. */
export function ownErrorLabel(code: string, t: TFunction): string {
  const known = lookUp(errors, code);
  return known === undefined ? code : t(known.label);
}

/** The same as the rest of a sentence. */
export function ownErrorText(code: string, t: TFunction): string {
  const known = lookUp(errors, code);
  return known === undefined ? code : t(known.text);
}
