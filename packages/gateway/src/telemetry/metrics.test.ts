import type { AttemptRecord, PoolEvent } from "@keywheel/pool";
import { expect, it } from "vitest";
import type { KeyReading } from "./key-gauges.ts";
import { type AffinityReading, Metrics, type Readings, type ServedRequest } from "./metrics.ts";

const nothing: Readings = {
  providers: ["openai"],
  keys: [],
  affinity: [],
  requestsRunning: 0,
  requestsLimit: 100,
  refusedShare: 0,
  workers: 0,
  eventSubscribers: 0,
  storeOk: true,
  sharedStateOk: true,
};

function theMetrics(readings: Partial<Readings> = {}) {
  return new Metrics({
    version: "1.2.3",
    slugOf: (id) => (id === "prv_a" ? "openai" : undefined),
    read: async () => ({ ...nothing, ...readings }),
  });
}

function aKey(key: string, more: Partial<KeyReading> = {}): KeyReading {
  const standing = { state: "available", releaseSeconds: 0, weight: 2, shareRatio: 0.5, failures: 0, boundSessions: 3 };
  return { provider: "openai", key, label: "", ...standing, inFlight: 2, ...more };
}

function attemptOf(keyId: string, why: AttemptRecord["why"], outcome = "ok"): AttemptRecord {
  return { keyId, why, passedOver: [], startedAt: 0, durationMs: 100, status: 200, outcome };
}

function anAttempt(outcome: string): PoolEvent {
  const attempt = attemptOf("key_a", "turn", outcome);
  return { type: "attempt-ended", poolId: "prv_a", requestId: "req_1", attempt };
}

const aRequest: ServedRequest = {
  providerId: "prv_a",
  durationMs: 700,
  firstByteMs: 200,
  status: 200,
  ending: "completed",
  requestBytes: 10,
  responseBytes: 20,
};

it("counts what happened before anybody asked", async () => {
  const metrics = theMetrics();
  metrics.event(anAttempt("ok"));
  metrics.event(anAttempt("ok"));
  metrics.request(aRequest);

  const { body, contentType } = await metrics.text();

  expect(contentType).toMatch(/^text\/plain/);
  expect(body).toContain('keywheel_attempts_total{provider="openai",key="key_a",outcome="ok"} 2');
  expect(body).toContain('keywheel_requests_total{provider="openai",status="200",error="",ending="completed"} 1');
  expect(body).toContain('keywheel_request_duration_seconds_bucket{le="1",provider="openai"} 1');
  expect(body).toContain('keywheel_request_duration_seconds_bucket{le="0.5",provider="openai"} 0');
  expect(body).toContain('keywheel_info{version="1.2.3"} 1');
});

it("goes on counting once it is loaded", async () => {
  const metrics = theMetrics();
  await metrics.text();

  metrics.event(anAttempt("rate_limited"));

  expect((await metrics.text()).body).toContain('outcome="rate_limited"} 1');
});

it("adds up the tokens that answers tell", async () => {
  const metrics = theMetrics();
  const usage = { inputTokens: 3, cacheReadTokens: 5, cacheWriteTokens: 0, outputTokens: 7, reasoningTokens: 2 };
  metrics.request({ ...aRequest, usage });
  metrics.request({ ...aRequest, usage });

  const { body } = await metrics.text();

  expect(body).toContain('keywheel_tokens_total{provider="openai",kind="cache_read"} 10');
  expect(body).toContain('keywheel_tokens_total{provider="openai",kind="output"} 14');
});

it("gives what names no provider no label of its own", async () => {
  const metrics = theMetrics();

  metrics.request({
    ...aRequest,
    providerId: undefined,
    status: 404,
    error: "unknown_provider",
  });

  expect((await metrics.text()).body).toContain(
    '{provider="",status="404",error="unknown_provider",ending="completed"} 1',
  );
});

it("shows the keys as they stand now", async () => {
  const keys = [aKey("key_a"), aKey("key_b"), aKey("key_c", { state: "cooling_down", releaseSeconds: 41.5 })];
  const metrics = theMetrics({ keys, storeOk: false });

  const { body } = await metrics.text();

  expect(body).toContain('keywheel_keys{provider="openai",status="available"} 2');
  expect(body).toContain('keywheel_keys{provider="openai",status="disabled"} 0');
  expect(body).toContain('keywheel_key_state{provider="openai",key="key_c",state="cooling_down"} 1');
  expect(body).toContain('keywheel_key_release_seconds{provider="openai",key="key_c"} 41.5');
  expect(body).toContain('keywheel_key_release_seconds{provider="openai",key="key_a"} 0');
  expect(body).toContain('keywheel_key_requests_in_flight{provider="openai",key="key_a"} 2');
  expect(body).toContain("keywheel_store_ok 0");
});

it("writes labels so that whatever people call a key is read as that", async () => {
  const metrics = theMetrics({ keys: [aKey("key_a", { label: 'a "b" \\ c\nd' })] });

  expect((await metrics.text()).body).toContain('label="a \\"b\\" \\\\ c\\nd"} 1');
});

it("tells turns from sessions, and counts who went on with another key", async () => {
  const metrics = theMetrics();
  const attempts = [attemptOf("key_a", "session", "rate_limited"), attemptOf("key_b", "turn")];
  for (const attempt of attempts)
    metrics.event({ type: "attempt-ended", poolId: "prv_a", requestId: "req_1", attempt });
  metrics.request({ ...aRequest, attempts });

  const { body } = await metrics.text();

  expect(body).toContain('keywheel_key_choices_total{provider="openai",key="key_a",why="session"} 1');
  expect(body).toContain('keywheel_key_choices_total{provider="openai",key="key_b",why="turn"} 1');
  expect(body).toContain('keywheel_failovers_total{provider="openai"} 1');
});

it("tells what part of the input of each key came from the cache", async () => {
  const metrics = theMetrics();
  const usage = { inputTokens: 3, cacheReadTokens: 5, cacheWriteTokens: 1, outputTokens: 7, reasoningTokens: 2 };
  metrics.request({ ...aRequest, keyId: "key_a", usage });
  metrics.request({ ...aRequest, keyId: "key_a", usage });
  metrics.request({ ...aRequest, keyId: "key_b", usage });
  metrics.request({ ...aRequest, usage });

  await metrics.text();
  metrics.request({ ...aRequest, keyId: "key_b", usage });
  const { body } = await metrics.text();

  const ofKeys = body.match(/(?<=^keywheel_key_input_tokens_total\{provider="openai",)\S+ \d+$/gm);
  expect(ofKeys).toEqual([
    'key="key_a",kind="input"} 6',
    'key="key_a",kind="cache_read"} 10',
    'key="key_a",kind="cache_write"} 2',
    'key="key_b",kind="input"} 6',
    'key="key_b",kind="cache_read"} 10',
    'key="key_b",kind="cache_write"} 2',
  ]);
  expect(body).toContain('keywheel_tokens_total{provider="openai",kind="cache_read"} 25');
});

it("gives on what affinity has counted, with each result from the beginning", async () => {
  const reading: AffinityReading = {
    provider: "openai",
    source: "session",
    result: "hit",
    requests: 4,
    inputTokens: 10,
    cacheReadTokens: 30,
    cacheWriteTokens: 2,
  };
  const limited = { ...reading, result: "moved", requests: 1 } as const;
  const metrics = theMetrics({ affinity: [reading, limited, { ...limited, requests: 2 }] });
  await metrics.text();

  const { body } = await metrics.text();

  expect(body.match(/(?<=^keywheel_affinity_requests_total\{provider="openai",)\S+ \d+$/gm)?.sort()).toEqual([
    'source="session",result="hit"} 4',
    'source="session",result="moved"} 3',
    'source="session",result="unbound"} 0',
  ]);
  expect(body).toContain('keywheel_affinity_input_tokens_total{provider="openai",result="hit",kind="cache_read"} 30');
  expect(body).toContain('keywheel_affinity_input_tokens_total{provider="openai",result="moved",kind="input"} 20');
});

it("takes the provider's time and the client's off what the gateway took itself", async () => {
  const metrics = theMetrics();
  const attempts = [attemptOf("key_a", "turn"), attemptOf("key_b", "turn")];

  metrics.request({ ...aRequest, firstByteMs: 253, bodyMs: 50, attempts });

  const { body } = await metrics.text();
  expect(body).toContain('keywheel_overhead_seconds_bucket{le="0.0025",provider="openai"} 0');
  expect(body).toContain('keywheel_overhead_seconds_bucket{le="0.005",provider="openai"} 1');
});
