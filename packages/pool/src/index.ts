export * from "./errors.ts";
export type { Clock } from "./ports/clock.ts";
export type { AttemptRecord, EventSink, PoolEvent } from "./ports/events.ts";
export type { DisabledRecord, HealthRecord, Journal, StatusReason } from "./ports/journal.ts";
export { maskSecret, Secret } from "./ports/secrets.ts";
export {
  type Choice,
  defaultAffinity,
  type KeyEntry,
  type KeySnapshot,
  type KeyState,
  type PassedOver,
  type Pin,
  type Question,
  type RestoredBinding,
  type SessionRef,
  type SharedState,
  type Standing,
  type StatePolicy,
  type Ticket,
  type TouchedSession,
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
  safeMethods,
  type Transport,
  type UpstreamAnswer,
} from "./dispatch.ts";
export { joinPath, refusePath } from "./providers/addresses.ts";
export {
  accountHeaders,
  clientCredentials,
  credentialFor,
  credentialHeaders,
  withoutKeyParameter,
  withoutKeySubprotocols,
} from "./providers/credentials.ts";
export { type ErrorToShape, shapeError } from "./providers/error-shapes.ts";
export { brokenError, type OwnAnswer, ownAnswer, type OwnError, refusalError } from "./providers/own-answers.ts";
export { type Asked, type AskedPool, type AskingRequest, askPool, type RequestBytes } from "./providers/question.ts";
export * as providers from "./providers/presets.ts";
export type { CustomProvider, Provider } from "./providers/presets.ts";
export {
  type KeyFault,
  type KeyTextFault,
  maxKeyLength,
  quotesAround,
  readKeyText,
  readVariable,
  type ReadKeyText,
  type ReadVariable,
  trimInvisible,
} from "./rules/key-text.ts";
export { type KeyStatus, type ShownReason, type ShownStatus, statusOf, type Unresolved } from "./key-status.ts";
export { mayHaveBody } from "./rules/opening.ts";
export {
  type AnswerHead,
  type AnswerWatch,
  type BodyControl,
  type BodySink,
  errorBytes,
  headersAboutBytes,
  HeldAnswer,
} from "./transport/held-answer.ts";
export { isTappable, ObjectTap, type TapReading } from "./transport/object-tap.ts";
export { jsonValue } from "./providers/json-scan.ts";
export type { ProviderKind } from "./providers/kinds.ts";
export { ownSessionHeader, sessionValueHash } from "./providers/sessions.ts";
export { type AnswerPreset, answerRulesFor } from "./providers/answers/index.ts";
export { judge } from "./rules/judge.ts";
export type { AnswerRules } from "./rules/recognised-answer.ts";
export { objectPrint, objectsInHead } from "./providers/objects.ts";
export { type StreamEnd, StreamObserver, type StreamOpening } from "./rules/stream-opening.ts";
export { readUsage, type Usage } from "./providers/usage.ts";
