import fc from "fast-check";
import { describe, expect, it } from "vitest";
import type { RequestRecord } from "../data-plane/request-record.ts";
import { fromDetail, toDetail } from "./request-detail.ts";

const text = fc.string({ unit: "binary", maxLength: 20 });
const id = fc.constantFrom("key_1", "key_2", "key_3", "provider");
const count = fc.nat({ max: 2 ** 40 });
const instant = fc.integer({ min: 0, max: 4_102_444_800_000 });
const duration = fc.nat({ max: 10_000_000 }).map((us) => us / 1_000);
const required = { requiredKeys: [] as never[] };

const usage = fc.record({
  inputTokens: count,
  cacheReadTokens: count,
  cacheWriteTokens: count,
  outputTokens: count,
  reasoningTokens: count,
});

const attempt = fc
  .tuple(
    fc.record({
      keyId: id,
      why: fc.constantFrom("session" as const, "continuation" as const, "pin" as const, "turn" as const),
      passedOver: fc.array(fc.record({ keyId: id, because: text }), { maxLength: 3 }),
      startedAt: instant,
      durationMs: duration,
      status: fc.option(fc.nat({ max: 599 }), { nil: undefined }),
      outcome: text,
    }),
    fc.record({ message: text, notYetThought: fc.record({ of: text }) }, required),
  )
  .map(([usual, others]) => ({ ...usual, ...others }));

const record = fc
  .tuple(
    fc.record({
      requestId: text,
      providerId: fc.option(text, { nil: undefined }),
      slug: text,
      method: text,
      path: text,
      startedAt: instant,
      durationMs: duration,
      status: fc.nat({ max: 599 }),
      attempts: fc.array(attempt, { maxLength: 4 }),
      ending: fc.constantFrom("completed" as const, "truncated" as const, "failed" as const, "gone" as const),
      requestBytes: count,
    }),
    fc.record(
      {
        model: text,
        sessionId: text,
        tokenId: text,
        firstByteMs: duration,
        error: text,
        keyId: id,
        responseBytes: count,
        usage,
        standing: fc.record({ total: count, resting: count, disabled: count, unresolved: count, tried: count }),
        notYetThought: fc.array(text, { maxLength: 2 }),
      },
      required,
    ),
  )
  .map(([usual, others]): RequestRecord => ({ ...usual, ...others }));

function stored(request: RequestRecord, detail: string) {
  const { requestId, providerId = null, keyId = null, sessionId = null, status } = request;
  return { id: requestId, providerId, keyId, sessionId, status, detail };
}

const chat: RequestRecord = {
  requestId: "req_miz8k2p10001",
  providerId: "prv_4m2k9x7q1c3e",
  slug: "openai",
  method: "POST",
  path: "/v1/chat/completions",
  startedAt: 1_764_530_000_123,
  durationMs: 812.3456789,
  firstByteMs: 402.1234567,
  status: 200,
  keyId: "key_8s1d5f2g7h3j",
  tokenId: "tok_1q2w3e4r5t6y",
  sessionId: "3f0c8a52-6a9e-4b53-9a43-5d2f0e1c7b88",
  model: "gpt-5.2",
  attempts: [
    {
      keyId: "key_8s1d5f2g7h3j",
      why: "session",
      passedOver: [],
      startedAt: 1_764_530_000_124,
      durationMs: 401.5,
      status: 200,
      outcome: "success",
    },
  ],
  ending: "completed",
  requestBytes: 18_204,
  responseBytes: 2_311,
  usage: { inputTokens: 180, cacheReadTokens: 4_096, cacheWriteTokens: 0, outputTokens: 512, reasoningTokens: 128 },
};

describe("the detail of a stored request", () => {
  it("tells everything that its record does, fields that nobody has listed among it", () => {
    fc.assert(
      fc.property(record, instant, (request, endedAt) => {
        expect(fromDetail(stored(request, toDetail(request, endedAt)))).toEqual({ record: request, endedAt });
      }),
    );
  });

  it("is no longer than half of what it takes by name, and keeps microseconds", () => {
    const detail = toDetail(chat, chat.startedAt + 812);

    expect(detail.length).toBeLessThan(JSON.stringify(chat).length / 2);
    expect(fromDetail(stored(chat, detail))).toEqual({
      record: { ...chat, durationMs: 812.346, firstByteMs: 402.123 },
      endedAt: chat.startedAt + 812,
    });
  });

  it("is read where it was written by name, by a version before this", () => {
    const old = JSON.stringify({ ...chat, endedAt: 1_764_530_000_935 });

    expect(fromDetail(stored(chat, old))).toEqual({ record: chat, endedAt: 1_764_530_000_935 });
  });
});
