import type { PoolEvent } from "@keywheel/pool";
import { expect, it } from "vitest";
import { Metrics, type Readings, type ServedRequest } from "./metrics.ts";

const nothing: Readings = {
  keys: [],
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

function anAttempt(outcome: string): PoolEvent {
  const attempt = {
    keyId: "key_a",
    why: "turn" as const,
    passedOver: [],
    startedAt: 0,
    durationMs: 1,
    status: 200,
    outcome,
  };
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
  const keys = [{ provider: "openai", status: "available", count: 3 }];
  const metrics = theMetrics({ keys, storeOk: false });

  const { body } = await metrics.text();

  expect(body).toContain('keywheel_keys{provider="openai",status="available"} 3');
  expect(body).toContain("keywheel_store_ok 0");
});
