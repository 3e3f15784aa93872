import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { batchSize, openFuzzBench } from "./bench.ts";
import { malformedAnswer } from "./malformed-answers.ts";
import { malformedRequest } from "./malformed-requests.ts";
import type { RawMessage } from "./raw-socket.ts";

/** How many messages to send to each side: about 20 s of them, unless told more. */
const runs = Number(process.env["KEYWHEEL_FUZZ_RUNS"] ?? 3_000);
/** Told in the titles below, so that a run can be had again. */
const seed = Number(process.env["KEYWHEEL_FUZZ_SEED"] ?? Date.now() % 2 ** 31);
/** One batch of such a run alone. */
const path = process.env["KEYWHEEL_FUZZ_PATH"];
const timeout = Math.max(120_000, runs * 50);

/**
 * Sends batches of these until there were enough. A batch that breaks something is not made smaller: what it did cannot be
 * undone.
 *
 * @returns what broke, and what brings it back; undefined if nothing did
 */
async function fire(
  message: fc.Arbitrary<RawMessage>,
  play: (batch: readonly RawMessage[]) => Promise<void>,
): Promise<string | undefined> {
  const batches = fc.array(message, { minLength: batchSize, maxLength: batchSize });
  const outcome = await fc.check(fc.asyncProperty(batches, play), {
    numRuns: Math.ceil(runs / batchSize),
    seed,
    endOnFailure: true,
    ...(path === undefined ? {} : { path }),
  });
  if (!outcome.failed) return undefined;
  const again = `KEYWHEEL_FUZZ_SEED=${seed} KEYWHEEL_FUZZ_PATH=${outcome.counterexamplePath}`;
  return `${again} bring it back: ${String(outcome.errorInstance)}`;
}

describe(`under ${runs} malformed messages a side (seed ${seed}), the gateway serves on and leaks nothing`, () => {
  it("when clients send them", { timeout }, async () => {
    await using bench = await openFuzzBench();

    expect(await fire(malformedRequest, (batch) => bench.toGateway(batch))).toBeUndefined();
  });

  it("when a provider answers with them", { timeout }, async () => {
    await using bench = await openFuzzBench();

    expect(await fire(malformedAnswer, (batch) => bench.fromProvider(batch))).toBeUndefined();
  });
});
