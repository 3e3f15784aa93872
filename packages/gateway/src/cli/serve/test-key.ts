import type { KeyTestResult } from "../../contract/key.ts";
import type { Upstream } from "../../data-plane/upstream.ts";
import type { Redactor } from "../../telemetry/redactor.ts";
import type { Core } from "./core.ts";

/** Tries a key with its provider, for the control plane. */
export type KeyTest = (providerId: string, keyId: string, signal: AbortSignal) => Promise<KeyTestResult>;

export function createKeyTest(
  { catalog, clock }: Core,
  { redact }: Pick<Redactor, "redact">,
  upstream: () => Promise<Upstream>,
): KeyTest {
  return async (providerId, keyId, signal) => {
    const { testKey } = await import("../../data-plane/key-test.ts");
    const outcome = await testKey(catalog.providers.get(providerId), keyId, await upstream(), clock, signal);
    return {
      ok: outcome.ok,
      http_status: outcome.httpStatus,
      code: outcome.code,
      message: outcome.message === null ? null : redact(outcome.message),
      duration_ms: outcome.durationMs,
    };
  };
}
