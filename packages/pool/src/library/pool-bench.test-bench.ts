import {
  createFakeClock,
  type FakeClock,
  type ScriptedKind,
  type ScriptedProvider,
  startScriptedProvider,
} from "@keywheel/testkit";
import { createPool, type KeyPool, type PoolOptions, type Provider, providers } from "../index.ts";

const providerOfKind: Readonly<Record<ScriptedKind, Provider>> = {
  openai: providers.openai,
  anthropic: providers.anthropic,
  gemini: providers.gemini,
  "azure-openai": providers.azure,
  "openai-compatible": providers.vllm,
};

/** A pool over a scripted provider. Invented keys, called A, B, C … */
export interface PoolBench extends AsyncDisposable {
  readonly provider: ScriptedProvider;
  readonly pool: KeyPool;
  readonly keys: readonly string[];
  readonly clock: FakeClock;
  readonly options: PoolOptions;
  /** The plainest call; the body is not read yet. */
  send(init?: RequestInit & { readonly path?: string; readonly session?: string }): Promise<Response>;
  /** So many plain calls, and the keys that served them as letters. */
  turns(count: number): Promise<string>;
}

export async function aPool(
  options: Partial<PoolOptions> & { readonly kind?: ScriptedKind; readonly count?: number } = {},
): Promise<PoolBench> {
  const { kind = "openai", count = 3, ...given } = options;
  const keys = Array.from({ length: count }, (_, at) => `sk-test-${at}-0123456789abcdef${at}${at}${at}${at}`);
  const provider = await startScriptedProvider({ kind, keys });
  const clock = createFakeClock();
  const made: PoolOptions = {
    provider: providerOfKind[kind],
    keys: keys.map((apiKey, at) => ({ apiKey, id: "ABCDEFGH"[at] ?? "?" })),
    baseURL: provider.baseUrl,
    clock,
    ...given,
  };
  const pool = createPool(made);
  const send: PoolBench["send"] = ({ path = "/chat/completions", session, ...init } = {}) =>
    pool.fetch(session)(`${provider.baseUrl}${path}`, {
      method: "POST",
      headers: { "content-type": "application/json", authorization: "Bearer of-the-sdk" },
      body: JSON.stringify({ model: "gpt-test", messages: [{ role: "user", content: `Hello ${Math.random()}` }] }),
      ...init,
    });
  return {
    provider,
    pool,
    keys,
    clock,
    options: made,
    send,
    async turns(turns) {
      const before = provider.requests.length;
      for (let turn = 0; turn < turns; turn++) await (await send()).text();
      return provider.picks().slice(before);
    },
    async [Symbol.asyncDispose]() {
      await pool.close();
      await provider.close();
    },
  };
}
