import type { KeyTestResult } from "../contract/key.ts";

/** So many keys are tried at a time: quick for a thousand, and no burst that the provider would take for an attack. */
export const mostTestsAtOnce = 8;

export interface KeyTestOfMany extends KeyTestResult {
  readonly id: string;
}

/**
 * Tries keys one by one, some at a time.
 *
 * @returns what came of each, in the order of the ids; once the signal is aborted no further key is tried, and those that
 * were not are left out
 */
export async function testMany(
  ids: readonly string[],
  test: (keyId: string) => Promise<KeyTestResult>,
  signal: AbortSignal,
): Promise<KeyTestOfMany[]> {
  const results = new Map<string, KeyTestOfMany>();
  const waiting = ids.values();
  const work = async (): Promise<void> => {
    for (const id of waiting) {
      if (signal.aborted) return;
      results.set(id, { id, ...(await test(id)) });
    }
  };
  await Promise.all(Array.from({ length: Math.min(mostTestsAtOnce, ids.length) }, work));
  return ids.flatMap((id) => results.get(id) ?? []);
}
