import { setImmediate as otherWork } from "node:timers/promises";
import type { Usage } from "@keywheel/pool";
import { escaped } from "./key-gauges.ts";

const name = "keywheel_key_input_tokens_total";
const help = "Input tokens that answers told, by the key that they came from.";

/** So many keys are written in one go, some 2 ms. */
const keysAtOnce = 1_000;

type Input = { -readonly [Name in "inputTokens" | "cacheReadTokens" | "cacheWriteTokens"]: Usage[Name] };

/**
 * The input of each key, from the cache and not: a pool may have thousands of them, for which the library takes too long (see
 * `keyGaugesText`).
 */
export class KeyTokens {
  /** By the labels of its provider and key. */
  readonly #sums = new Map<string, Input>();

  add({ provider, key, usage }: { readonly provider: string; readonly key: string; readonly usage: Usage }): void {
    const labels = `provider="${escaped(provider)}",key="${escaped(key)}"`;
    const sum = this.#sums.get(labels);
    const { inputTokens, cacheReadTokens, cacheWriteTokens } = usage;
    if (sum === undefined) return void this.#sums.set(labels, { inputTokens, cacheReadTokens, cacheWriteTokens });
    sum.inputTokens += inputTokens;
    sum.cacheReadTokens += cacheReadTokens;
    sum.cacheWriteTokens += cacheWriteTokens;
  }

  /** In the text format of Prometheus. */
  async text(): Promise<string> {
    let text = `# HELP ${name} ${help}\n# TYPE ${name} counter\n`;
    let written = 0;
    for (const [labels, { inputTokens, cacheReadTokens, cacheWriteTokens }] of this.#sums) {
      if (++written % keysAtOnce === 0) await otherWork();
      text += `${name}{${labels},kind="input"} ${inputTokens}\n`;
      text += `${name}{${labels},kind="cache_read"} ${cacheReadTokens}\n`;
      text += `${name}{${labels},kind="cache_write"} ${cacheWriteTokens}\n`;
    }
    return text;
  }
}
