import type { z } from "@hono/zod-openapi";
import type { deliverySchema, WebhookEvent, webhookSchema } from "../contract/webhook.ts";
import { toTime, toTimeOrNull } from "../contract/wire.ts";
import type { DeliveryRecord, WebhookRecord } from "../store/store.ts";

/** @param now epoch ms */
export function webhookToWire(record: WebhookRecord, now: number): z.infer<typeof webhookSchema> {
  const { id, name, url, events, enabled, disabledReason, formerSecrets, createdAt, updatedAt } = record;
  const formerUntil = Math.max(0, ...formerSecrets.map(({ until }) => until));
  return {
    id,
    name,
    url,
    // What is stored was validated on entry against the same list.
    events: events === null ? null : ([...events] as WebhookEvent[]),
    enabled,
    disabled_reason: disabledReason,
    former_secret_until: formerUntil > now ? toTime(formerUntil) : null,
    created_at: toTime(createdAt),
    updated_at: toTime(updatedAt),
  };
}

export function deliveryToWire(record: DeliveryRecord): z.infer<typeof deliverySchema> {
  const { id, type, attempts, createdAt, nextAt, delivered, lastStatus, lastError, lastAt } = record;
  return {
    id,
    type,
    state: nextAt !== null ? "waiting" : delivered ? "delivered" : "failed",
    attempts,
    created_at: toTime(createdAt),
    last_attempt_at: toTimeOrNull(lastAt),
    next_attempt_at: toTimeOrNull(nextAt),
    last_status: lastStatus,
    last_error: lastError,
  };
}
