import type { JudgedAnswer, ProviderKind } from "@keywheel/pool";
import type { ProviderRuntime } from "../catalog/catalog.ts";
import { judgeFor } from "./judging.ts";
import { askBeside } from "./side-call.ts";
import type { Upstream } from "./upstream.ts";

/** What the provider made of a key. */
export interface KeyTestOutcome {
  readonly ok: boolean;
  /** The provider's status; null when there was no answer. */
  readonly httpStatus: number | null;
  /** `ok`, or what was recognised ("authentication_failed", "rate_limited", "upstream_unreachable" …). */
  readonly code: string;
  /** What the provider said; secrets not yet taken out. */
  readonly message: string | null;
  readonly durationMs: number;
}

const answerBytes = 65_536;
const answerMs = 5_000;

/** Calls that cost nothing and tell a good key from a bad one. Where a preset is not named, its kind's call serves. */
const callsOfKind: Readonly<Record<ProviderKind, string>> = {
  openai: "/models",
  "openai-compatible": "/models",
  anthropic: "/models?limit=1",
  gemini: "/models?pageSize=1",
  "azure-openai": "/models?api-version=2024-10-21",
};
/** OpenRouter lists its models to anybody; what a key is worth stands behind `/key`. @see reference "Addresses …" */
const callsOfPreset: Readonly<Record<string, string>> = { openrouter: "/key" };

/**
 * Asks the provider about exactly this key, with a call that costs nothing. Neither the key's state nor the wheel changes,
 * whatever comes back; a disabled or resting key can be tested too.
 *
 * @see contract §3 `POST /api/keys/{id}/test`, field case 28
 */
export async function testKey(
  runtime: ProviderRuntime,
  keyId: string,
  upstream: Upstream,
  clock: { monotonic(): number },
  signal?: AbortSignal,
): Promise<KeyTestOutcome> {
  const startedAt = clock.monotonic();
  const secret = runtime.secretOf(keyId);
  const outcome = (code: string, parts: Partial<KeyTestOutcome> = {}): KeyTestOutcome => {
    const durationMs = clock.monotonic() - startedAt;
    return { ok: code === "ok", httpStatus: null, code, message: null, durationMs, ...parts };
  };
  if (secret === undefined) return outcome("unresolved", { message: "The key has no value that could be sent." });

  const { kind, preset } = runtime.record;
  const call = callsOfPreset[preset ?? ""] ?? callsOfKind[kind];
  const sent = await askBeside(runtime, upstream, { call, secret, signal });
  if (sent.kind === "gone") return outcome("cancelled");
  if (sent.kind === "broken") {
    const code = sent.fault === "timeout" ? "upstream_timeout" : "upstream_unreachable";
    return outcome(code, { message: sent.message });
  }
  const { answer } = sent;
  const { text: bodyText, isCut } = await answer.readText(answerBytes, answerMs);
  answer.discard();
  const { status, receivedAt } = answer;
  const judged: JudgedAnswer = { status, header: (name) => answer.header(name), bodyText, isCut, receivedAt };
  const verdict = judgeFor(runtime.record)(judged);
  const message = verdict.message ?? null;
  if (verdict.key.kind === "succeeded") return outcome("ok", { httpStatus: status });
  const code = verdict.key.kind === "disable" ? verdict.key.reason : verdict.code;
  return outcome(code, { httpStatus: status, message });
}
