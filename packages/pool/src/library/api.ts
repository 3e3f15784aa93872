// What programs use of the library; the rest of `index.ts` is what gateways are made of.
export {
  type ErrorCode,
  type ErrorEntry,
  type FieldError,
  isKeywheelError,
  type KeywheelErrorOptions,
} from "../errors.ts";
export { KeywheelError } from "../gateway-errors.ts";
export type { KeyStatus, ShownReason } from "../key-status.ts";
export type { Clock } from "../ports/clock.ts";
export type { AttemptRecord, PoolEvent } from "../ports/events.ts";
export type { DisabledRecord, HealthRecord, Journal, StatusReason } from "../ports/journal.ts";
export type {
  Choice,
  KeyEntry,
  KeySnapshot,
  KeyState,
  LeftKey,
  PassedOver,
  Pin,
  PoolState,
  Question,
  RestoredBinding,
  SessionRef,
  SharedRest,
  SharedState,
  Standing,
  StatePolicy,
  Ticket,
  TouchedSession,
} from "../ports/shared-state.ts";
export type { ProviderKind } from "../providers/kinds.ts";
export type { CustomProvider, Provider } from "../providers/presets.ts";
export * as providers from "../providers/presets.ts";
export type { CooldownPolicy, Failure, Health, HealthMark, WaitSource } from "../rules/cooldown.ts";
export type { ErrorMark } from "../rules/error-facts.ts";
export type { Fingerprint } from "../rules/fingerprint.ts";
export type { Meaning, RecognisedAnswer } from "../rules/recognised-answer.ts";
export type { DurationMs, EpochMs } from "../rules/time.ts";
export type { ReasonCode } from "../rules/verdict.ts";
export type { WaitRule } from "../rules/wait-hint.ts";
export { createPool, type KeyPool, type KeyView } from "./key-pool.ts";
export type { PoolEventOf } from "./listeners.ts";
export type { AffinityOptions, CooldownOptions, KeyOptions, PoolOptions } from "./options.ts";
export type { KeyRecord, PoolSnapshot, PoolStore } from "./snapshot.ts";
