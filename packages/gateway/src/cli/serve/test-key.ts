import type { KeyTestResult } from "../../contract/key.ts";
import { testKey } from "../../data-plane/key-test.ts";
import { UndiciUpstream } from "../../data-plane/undici-upstream.ts";
import type { Upstream } from "../../data-plane/upstream.ts";
import type { Core } from "./core.ts";

export type KeyTest = (providerId: string, keyId: string, signal: AbortSignal) => Promise<KeyTestResult>;

/**
 * Tries a key with its provider, changing nothing.
 *
 * @param upstream the connections to use; without it some are made when the first key is tried, and `close` ends them
 */
export function createKeyTest(
  core: Core,
  upstream?: Upstream,
): { readonly test: KeyTest; readonly close: () => Promise<void> } {
  let own: Upstream | undefined;
  const test: KeyTest = async (providerId, keyId, signal) => {
    const runtime = core.catalog.byId(providerId);
    if (runtime === undefined) throw new Error(`no provider ${providerId} in the catalog`);
    const way = upstream ?? (own ??= new UndiciUpstream(core.clock));
    const outcome = await testKey(runtime, keyId, way, core.clock, signal);
    return {
      ok: outcome.ok,
      http_status: outcome.httpStatus,
      code: outcome.code,
      message: outcome.message === null ? null : core.redact(outcome.message),
      duration_ms: Math.round(outcome.durationMs),
    };
  };
  return { test, close: async () => own?.close() };
}
