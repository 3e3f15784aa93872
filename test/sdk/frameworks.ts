import { anthropicError, geminiError, openAiError, type Reply, type RunningGateway } from "@keywheel/testkit";
import { expect } from "vitest";
import { poolOf, type PooledProvider } from "../pooled-provider.ts";

/** Kinds of provider that frameworks have their own package for. */
export type FrameworkKind = "openai" | "anthropic" | "gemini";

const limited: Readonly<Record<FrameworkKind, Reply>> = {
  openai: openAiError(429, { message: "Slow down", type: "requests", code: "rate_limit_exceeded" }),
  anthropic: anthropicError(429, "rate_limit_error", "Slow down"),
  gemini: geminiError(429, "RESOURCE_EXHAUSTED", "Slow down"),
};

/** Three keys: A is limited at each request, B is refused. */
export async function unluckyPool(gateway: RunningGateway, kind: FrameworkKind): Promise<PooledProvider> {
  const pool = await poolOf(gateway, { kind, weights: [1, 1, 1] });
  pool.provider.forKey(pool.valueOf("A")).always(limited[kind]);
  pool.provider.revoke(pool.valueOf("B"));
  return pool;
}

/** One key, which is limited. */
export async function spentPool(gateway: RunningGateway, kind: FrameworkKind): Promise<PooledProvider> {
  const pool = await poolOf(gateway, { kind, weights: [1] });
  pool.provider.forKey(pool.valueOf("A")).always(limited[kind]);
  return pool;
}

/** That the first call met both bad keys, and the ones behind it none. */
export async function expectUnnoticed(pool: PooledProvider): Promise<void> {
  expect(pool.provider.picks()).toMatch(/^ABC+$/);
  const states = await Promise.all(["A", "B", "C"].map(async (letter) => (await pool.key(letter)).status));
  expect(states).toEqual(["cooling_down", "disabled", "available"]);
}
