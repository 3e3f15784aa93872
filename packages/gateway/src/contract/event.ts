import { z } from "@hono/zod-openapi";
import { integerQuery } from "./session.ts";
import { timeSchema } from "./wire.ts";

/** Names of the events on `/api/events`: what happens in pools, then what people change. */
export const eventTypes = [
  "key-cooled",
  "key-disabled",
  "key-recovered",
  "binding-moved",
  "pool-exhausted",
  "attempt-ended",
  "request-finished",
  "notice",
  "provider-created",
  "provider-changed",
  "provider-deleted",
  "key-created",
  "key-changed",
  "key-deleted",
  "key-order-changed",
  "token-created",
  "token-changed",
  "token-deleted",
  "session-ended",
] as const;

export const eventSchema = z
  .looseObject({
    id: z.string(),
    type: z.enum(eventTypes),
    at: timeSchema,
    provider_id: z.string().optional(),
    key_id: z.string().optional(),
    skipped: z.int().optional().openapi({
      description:
        "How many of this type went untold before it: of those that come with every request, 50 a second are.",
    }),
    key_ids: z.array(z.string()).optional().openapi({ description: "At most 100; load the list anew for the rest." }),
  })
  .openapi("Event", {
    description: "Fields beyond these depend on `type`.",
    example: {
      id: "mg3k2v1a-17",
      type: "key-cooled",
      at: "2026-01-31T09:30:00.000Z",
      provider_id: "prv_k3m5q2x7a4b6c2d5e7f3",
      key_id: "key_k3m5q2x7a4b6c2d5e7f3",
      reason: "rate_limited",
      http_status: 429,
      failures: 1,
      until: "2026-01-31T09:31:00.000Z",
      wait: "ladder",
    },
  });

export const recentEventSchema = eventSchema
  .extend({
    label: z.string().nullable().openapi({ description: "Of the key, now; null without one, or when it is gone." }),
    api_key: z.string().nullable().openapi({ description: "The key, masked; null without one, or when it is gone." }),
  })
  .openapi("RecentEvent", { description: "Fields beyond these depend on `type`." });

export const recentEventQuerySchema = z.strictObject({ limit: integerQuery(1, 200, 50) });
