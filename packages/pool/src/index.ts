export * from "./library/api.ts";
export { errorTable } from "./gateway-errors.ts";
export type { EventSink } from "./ports/events.ts";
export { maskSecret, redacted, Secret } from "./ports/secrets.ts";
export { defaultAffinity } from "./ports/shared-state.ts";
export { type BindingTable } from "./rules/binding-table.ts";
export { defaultCooldownPolicy, healthy, isCooling, ladderMs, restoreHealth } from "./rules/cooldown.ts";
export { fingerprint } from "./rules/fingerprint.ts";
export { SharedValues } from "./rules/shared-values.ts";
export type { JudgedAnswer, KeyEffect, RequestEffect, Verdict } from "./rules/verdict.ts";
export { Pool } from "./pool.ts";
export type { PoolPorts } from "./pool.ts";
export type { Bindings } from "./memory/binding-book.ts";
export type { CellState } from "./memory/cell-state.ts";
export { MemoryState, type MemoryStateOptions } from "./memory/packed-state.ts";
export type { MadeChoice, SharedView, ViewParts } from "./memory/shared-view.ts";
export { ViewedState } from "./memory/viewed-state.ts";
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
export { bytesReader, type RequestBytes } from "./providers/bytes-reader.ts";
export { type Asked, type AskedPool, type AskingRequest, askPool } from "./providers/question.ts";
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
export { type ShownStatus, statusOf, type Unresolved } from "./key-status.ts";
export { isHostOf } from "./providers/hosts.ts";
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
export { ownSessionHeader, sessionValueHash } from "./providers/sessions.ts";
export { type AnswerPreset, answerRulesFor } from "./providers/answers/index.ts";
export { judge } from "./rules/judge.ts";
export type { AnswerRules } from "./rules/recognised-answer.ts";
export { objectPrint, objectsInHead } from "./providers/objects.ts";
export { organizationIn, ownerAt, projectIn } from "./providers/organizations.ts";
export { type StreamEnd, StreamObserver, type StreamOpening } from "./rules/stream-opening.ts";
export { bytesReading } from "./rules/stream-bytes.ts";
export type { Frame as BytesFrame } from "./rules/stream-framing.ts";
export { readUsage, type Usage } from "./providers/usage.ts";
