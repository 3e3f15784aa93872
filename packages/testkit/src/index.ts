export * from "./builders.ts";
export { createFakeClock, defaultEpochMs, type FakeClock } from "./fake-clock.ts";
export type { Cut, CutOff, Isolation } from "./cut-off.ts";
export { freePort } from "./free-port.ts";
export type {
  AbsenceEntry,
  AnswerEntry,
  AttemptEntry,
  CallEntry,
  ChangeEntry,
  History,
  KeyEventEntry,
  RoundEntry,
  SnapshotEntry,
} from "./history/entries.ts";
export { violationsOf } from "./history/violations.ts";
export { isolate } from "./network-namespace.ts";
export type { Exchange, ReplyHeaders } from "./scripted-provider/exchange.ts";
export { anthropicError, messageEvents } from "./scripted-provider/dialects/anthropic.ts";
export { geminiError } from "./scripted-provider/dialects/gemini.ts";
export { chatChunks, embeddingOf, openAiError } from "./scripted-provider/dialects/openai.ts";
export { type ExchangeState, type RecordedRequest, sha256 } from "./scripted-provider/recorded-request.ts";
export { type LiveReply, reply, type Reply, type SseEvent, sseText } from "./scripted-provider/reply.ts";
export type { Script, ScriptFilter } from "./scripted-provider/script.ts";
export {
  type ScriptedKind,
  type ScriptedProvider,
  type ScriptedProviderOptions,
  startScriptedProvider,
} from "./scripted-provider/scripted-provider.ts";
export {
  ApiFailure,
  type KeyParts,
  type KeyView,
  type ProviderParts,
  type ProviderView,
  runGateway,
  type RunGatewayOptions,
  type RunningGateway,
  testAdminToken,
} from "./run-gateway.ts";
export { runRedis, runRedisCluster, type RunningRedis } from "./run-redis.ts";
