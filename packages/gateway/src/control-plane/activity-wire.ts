import type { z } from "@hono/zod-openapi";
import type { LoggedRequest } from "../activity/request-log.ts";
import type { Catalog } from "../catalog/catalog.ts";
import type { RequestOnTheWire, tokenCountsSchema } from "../contract/request.ts";
import { toTime } from "../contract/wire.ts";
import type { UsageCounts } from "../store/store.ts";
import { decisionOf } from "./decision.ts";

type Tokens = Omit<UsageCounts, "requests" | "errors" | "failovers">;

export function requestToWire(
  { record, endedAt }: LoggedRequest,
  catalog: Pick<Catalog, "labelOfKey" | "maskedOfKey">,
): RequestOnTheWire {
  const { providerId, keyId } = record;
  const labelOf = (id: string): string | null => catalog.labelOfKey(id) ?? null;
  const named = (id: string) => ({ label: labelOf(id), api_key: catalog.maskedOfKey(id) ?? null });
  return {
    id: record.requestId,
    started_at: toTime(record.startedAt),
    ended_at: toTime(endedAt),
    provider_id: providerId ?? null,
    provider: record.slug,
    method: record.method,
    path: record.path,
    model: record.model ?? null,
    session_id: record.sessionId ?? null,
    token_id: record.tokenId ?? null,
    status: record.status,
    error: record.error ?? null,
    ending: record.ending,
    key_id: keyId ?? null,
    ...(keyId === undefined ? { label: null, api_key: null } : named(keyId)),
    decision: decisionOf(record, (id) => labelOf(id) || id),
    attempts: record.attempts.map((attempt) => ({
      key_id: attempt.keyId,
      ...named(attempt.keyId),
      why: attempt.why,
      passed_over: attempt.passedOver.map((passed) => ({
        key_id: passed.keyId,
        ...named(passed.keyId),
        because: passed.because,
      })),
      left:
        attempt.left === undefined
          ? null
          : { key_id: attempt.left.keyId, ...named(attempt.left.keyId), because: attempt.left.because },
      started_at: toTime(attempt.startedAt),
      duration_ms: attempt.durationMs,
      http_status: attempt.status ?? null,
      outcome: attempt.outcome,
      message: attempt.message ?? null,
    })),
    standing: record.standing ?? null,
    first_byte_ms: record.firstByteMs ?? null,
    duration_ms: record.durationMs,
    request_bytes: record.requestBytes,
    response_bytes: record.responseBytes ?? null,
    usage: record.usage === undefined ? null : tokensToWire(record.usage),
  };
}

export function countsToWire(counts: UsageCounts) {
  const { requests, errors, failovers } = counts;
  return { requests, errors, failovers, ...tokensToWire(counts) };
}

function tokensToWire(tokens: Tokens): z.infer<typeof tokenCountsSchema> {
  return {
    input_tokens: tokens.inputTokens,
    cache_read_tokens: tokens.cacheReadTokens,
    cache_write_tokens: tokens.cacheWriteTokens,
    output_tokens: tokens.outputTokens,
    reasoning_tokens: tokens.reasoningTokens,
  };
}
