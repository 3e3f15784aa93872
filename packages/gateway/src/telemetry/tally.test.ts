import type { AttemptRecord } from "@keywheel/pool";
import { expect, it } from "vitest";
import type { ServedRequest } from "./metrics.ts";
import { type ProviderTally, Tally } from "./tally.ts";

const attempt = { keyId: "key_a", outcome: "ok" } as AttemptRecord;
const request: ServedRequest = {
  providerId: "prv_1",
  status: 200,
  ending: "completed",
  durationMs: 1500,
  firstByteMs: 500,
  requestBytes: 10,
  responseBytes: 20,
};

function aTally() {
  const taken: ProviderTally[] = [];
  let slug = "one";
  const tally = new Tally(
    (id) => (id === undefined ? "" : `${slug} ${id}`),
    (part) => taken.push(part),
  );
  return { tally, taken, rename: (name: string) => void (slug = name) };
}

it("adds up what is alike, and keeps apart what is not", () => {
  const { tally, taken } = aTally();
  const usage = { inputTokens: 1, cacheReadTokens: 2, cacheWriteTokens: 3, outputTokens: 4, reasoningTokens: 5 };

  tally.request({ ...request, usage, keyId: "key_a" });
  tally.request({ ...request, usage, keyId: "key_a" });
  tally.request({ ...request, usage });
  tally.request({ ...request, status: 503, error: "pool_exhausted", firstByteMs: undefined, responseBytes: undefined });
  for (const outcome of ["ok", "ok", "rate_limited"]) tally.attempt("prv_1", { ...attempt, outcome });
  tally.attempt("prv_1", { ...attempt, keyId: "key_b" });
  tally.handOver();

  const [part] = taken;
  expect(taken).toHaveLength(1);
  expect([...(part?.requests.values() ?? [])]).toEqual([
    { status: 200, error: "", ending: "completed", count: 3 },
    { status: 503, error: "pool_exhausted", ending: "completed", count: 1 },
  ]);
  expect([...(part?.attempts.values() ?? [])]).toEqual([
    { key: "key_a", outcome: "ok", count: 2 },
    { key: "key_a", outcome: "rate_limited", count: 1 },
    { key: "key_b", outcome: "ok", count: 1 },
  ]);
  expect(part).toMatchObject({
    provider: "one prv_1",
    durations: [1.5, 1.5, 1.5, 1.5],
    firstBytes: [0.5, 0.5, 0.5],
    requestBytes: 40,
    responseBytes: 60,
  });
  expect([...(part?.usages ?? [])]).toEqual([
    ["key_a", { inputTokens: 2, cacheReadTokens: 4, cacheWriteTokens: 6, outputTokens: 8, reasoningTokens: 10 }],
    ["", usage],
  ]);
});

it("hands a provider over by itself before it takes much memory, and begins anew", () => {
  const { tally, taken } = aTally();

  for (let count = 0; count < 1_001; count++) tally.request(request);
  tally.handOver();
  tally.handOver();

  expect(taken.map(({ durations }) => durations.length)).toEqual([1_000, 1]);
});

it("keeps a provider's name of then, and requests of none apart", () => {
  const { tally, taken, rename } = aTally();

  tally.request(request);
  rename("gone");
  tally.request(request);
  tally.request({ ...request, providerId: undefined });
  tally.handOver();

  expect(taken.map(({ provider, requestBytes }) => [provider, requestBytes])).toEqual([
    ["one prv_1", 20],
    ["", 10],
  ]);
});
