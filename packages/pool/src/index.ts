export * from "./errors.ts";
export type { Clock } from "./ports/clock.ts";
export type { AttemptRecord, EventSink, PoolEvent } from "./ports/events.ts";
export type { DisabledRecord, HealthRecord, Journal, StatusReason } from "./ports/journal.ts";
export { maskSecret, Secret } from "./ports/secrets.ts";
export type {
  Choice,
  KeyEntry,
  KeySnapshot,
  KeyState,
  PassedOver,
  Pin,
  Question,
  RestoredBinding,
  SessionRef,
  SharedState,
  Standing,
  StatePolicy,
  Ticket,
  TouchedSession,
} from "./ports/shared-state.ts";
export { type BindingTable } from "./rules/binding-table.ts";
export {
  type CooldownPolicy,
  defaultCooldownPolicy,
  type Failure,
  type Health,
  healthy,
  isCooling,
  ladderMs,
  restoreHealth,
  type WaitSource,
} from "./rules/cooldown.ts";
export { fingerprint, type Fingerprint } from "./rules/fingerprint.ts";
export { SharedValues } from "./rules/shared-values.ts";
export type { DurationMs, EpochMs } from "./rules/time.ts";
export type { JudgedAnswer, KeyEffect, ReasonCode, RequestEffect, Verdict } from "./rules/verdict.ts";
export { Pool } from "./pool.ts";
export type { PoolPorts } from "./pool.ts";
export type { CellState } from "./memory/cell-state.ts";
export { MemoryState, type MemoryStateOptions } from "./memory/memory-state.ts";
export type { MadeChoice, SharedView } from "./memory/shared-view.ts";
export {
  type Beginning,
  type Delivery,
  dispatch,
  type DispatchOptions,
  type DispatchOutcome,
  type Ending,
  type Opening,
  type Transport,
  type UpstreamAnswer,
} from "./dispatch.ts";
export { joinPath, refusePath } from "./providers/addresses.ts";
export {
  clientCredentials,
  credentialFor,
  credentialHeaders,
  withoutKeyParameter,
  withoutKeySubprotocols,
} from "./providers/credentials.ts";
export { type ErrorToShape, shapeError } from "./providers/error-shapes.ts";
export { jsonValue, scanFields, stringValue } from "./providers/json-scan.ts";
export type { ProviderKind } from "./providers/kinds.ts";
export { isSharable, ownSessionHeader, sessionFields, sessionOf, sessionValueHash } from "./providers/sessions.ts";
export { type AnswerPreset, answerRulesFor } from "./providers/answers/index.ts";
export { judge } from "./rules/judge.ts";
export type { AnswerRules } from "./rules/recognised-answer.ts";
export {
  isListing,
  keepingFields,
  keepsEverything,
  mayShowObjects,
  objectInLocation,
  objectInModel,
  objectPrint,
  objectsInBody,
  objectsInPath,
  objectsInQuery,
  objectsShown,
} from "./providers/objects.ts";
export { type StreamEnd, StreamObserver, type StreamOpening } from "./rules/stream-opening.ts";
export { readUsage, type Usage } from "./providers/usage.ts";
export { type Conversation, conversationOf, openingOf } from "./providers/conversation.ts";
