import { z } from "@hono/zod-openapi";
import { expects, lineOfText } from "./field-errors.ts";
import { readOnlyField, timeSchema } from "./wire.ts";

/** What webhooks can be told of. Never renamed. */
export const webhookEvents = ["key.disabled", "key.recovered", "pool.exhausted", "pool.recovered"] as const;
export type WebhookEvent = (typeof webhookEvents)[number];

const describeEvents = { description: "What it is told of; null for everything, what is added later included." };
const describeUrl = {
  description:
    "http or https; no credentials, no fragment, no link-local or metadata address. Redirects are not followed.",
  example: "https://hooks.example.com/keywheel",
};

export const webhookSchema = z
  .object({
    id: z.string().openapi({ example: "whk_k3m5q2x7a4b6c2d5e7f3" }),
    name: z.string(),
    url: z.string().openapi(describeUrl),
    events: z.array(z.enum(webhookEvents)).nullable().openapi(describeEvents),
    enabled: z.boolean(),
    disabled_reason: z
      .enum(["gone"])
      .nullable()
      .openapi({ description: "`gone`: its receiver answered 410 and was switched off for it." }),
    former_secret_until: timeSchema
      .nullable()
      .openapi({ description: "Until when a former secret signs beside the present one; null if none does." }),
    created_at: timeSchema,
    updated_at: timeSchema,
  })
  .openapi("Webhook");

export const newWebhookSchema = webhookSchema
  .extend({
    secret: z.string().openapi({
      description: "By which the receiver checks `webhook-signature` (Standard Webhooks). Shown this once.",
      example: "whsec_…",
    }),
  })
  .openapi("NewWebhook");

export const deliverySchema = z
  .object({
    id: z.string().openapi({ description: "Sent as `webhook-id`; the same at every attempt.", example: "msg_…" }),
    type: z.string().openapi({ example: "key.disabled" }),
    state: z.enum(["waiting", "delivered", "failed"]),
    attempts: z.int(),
    created_at: timeSchema,
    last_attempt_at: timeSchema.nullable(),
    next_attempt_at: timeSchema.nullable(),
    last_status: z.int().nullable().openapi({ description: "What the receiver answered last; null if nothing." }),
    last_error: z.string().nullable(),
  })
  .openapi("WebhookDelivery");

export const webhookTestSchema = z
  .object({
    delivered: z.boolean(),
    http_status: z.int().nullable(),
    message: z.string().openapi({ description: "What went wrong; empty if it was delivered." }),
    duration_ms: z.number(),
  })
  .openapi("WebhookTest");

const events = z
  .array(z.enum(webhookEvents, expects(`one of ${webhookEvents.join(", ")}`)), expects("a list of events, or null"))
  .min(1, expects("a list of one event or more, or null for all"))
  .nullable()
  .openapi(describeEvents);

const terms = {
  name: lineOfText(0, 200).optional(),
  events: events.optional(),
  enabled: z.boolean(expects("true or false")).optional(),
};

const url = z.string(expects("a URL such as https://hooks.example.com/keywheel")).openapi(describeUrl);

export const webhookCreateSchema = z
  .strictObject({ ...terms, url }, expects("an object"))
  .openapi("WebhookCreate", { example: { url: "https://hooks.example.com/keywheel", events: ["key.disabled"] } });

export const webhookPatchSchema = z
  .strictObject(
    {
      ...terms,
      url: url.optional(),
      id: readOnlyField(),
      disabled_reason: readOnlyField(),
      former_secret_until: readOnlyField(),
      created_at: readOnlyField(),
      updated_at: readOnlyField(),
    },
    expects("an object"),
  )
  .openapi("WebhookPatch", { example: { enabled: false } });

const longestOverlapMs = 604_800_000;
const expectsOverlap = expects("a whole number of milliseconds from 0 to 604800000 (7 days)");

export const webhookRotationSchema = z
  .strictObject(
    {
      overlap_ms: z
        .int(expectsOverlap)
        .min(0, expectsOverlap)
        .max(longestOverlapMs, expectsOverlap)
        .default(86_400_000)
        .openapi({
          description:
            "For so long what is sent is signed with the former secret as well. 0: no former secret signs any more, as after " +
            "one was seen by others. Default: a day.",
        }),
    },
    expects("an object"),
  )
  .openapi("WebhookRotation", { example: { overlap_ms: 86_400_000 } });
