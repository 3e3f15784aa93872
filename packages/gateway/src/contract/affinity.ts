import { z } from "@hono/zod-openapi";
import { maskedKeySchema } from "./request.ts";
import { timeSchema } from "./wire.ts";
import { usageQuerySchema } from "./usage.ts";

export const affinitySources = ["session", "conversation", "object", "none"] as const;

/** The input of requests, and how much of it the provider had in its cache. */
export const cachedInputSchema = z
  .object({
    requests: z.int(),
    input_tokens: z.int().openapi({ description: "Input that came from no cache and was written to none." }),
    cache_read_tokens: z.int(),
    cache_write_tokens: z.int(),
    cached_share: z.number().nullable().openapi({
      description: "What part of all input came from the cache, 0 to 1; null where no answer told its input.",
    }),
  })
  .openapi("CachedInput");
export type CachedInput = z.infer<typeof cachedInputSchema>;

export const poolAffinitySchema = z
  .object({
    provider_id: z.string(),
    provider: z.string().nullable().openapi({ description: "Its slug; null when it is gone." }),
    total: cachedInputSchema,
    // Requests that were served by the key that they belong to; the first ones of a session or conversation, which have none;
    // those that had to leave theirs; those that nothing ties to a key.
    kept: cachedInputSchema,
    new: cachedInputSchema,
    left: cachedInputSchema,
    untied: cachedInputSchema,
    kept_share: z.number().nullable().openapi({
      description: "`kept` of those that had a key to keep, 0 to 1; null where none had.",
    }),
    left_share: z.number().nullable().openapi({
      description: "`left` of all requests, 0 to 1; null where there were none.",
    }),
    sources: z
      .array(
        z.object({
          source: z.enum(affinitySources).openapi({
            description: "What tied the request to its key: a named session, the conversation itself, a stored object.",
          }),
          kept: z.int(),
          new: z.int(),
          left: z.int(),
          ...cachedInputSchema.shape,
        }),
      )
      .openapi({ description: "Most requests first." }),
    reasons: z
      .array(z.object({ reason: z.string(), ...cachedInputSchema.shape }))
      .openapi({ description: "Why requests left their key: `rate_limited`, `authentication_failed` … Most first." }),
  })
  .openapi("PoolAffinity");
export type PoolAffinity = z.infer<typeof poolAffinitySchema>;

export const affinityQuerySchema = usageQuerySchema
  .pick({ from: true, to: true, provider: true })
  .extend({
    from: usageQuerySchema.shape.from.openapi({
      type: "string",
      format: "date-time",
      description: "Counted from the beginning of its hour. Default: a day before `to`.",
    }),
  })
  .strict();

export const affinitySchema = z
  .object({ from: timeSchema, to: timeSchema, data: z.array(poolAffinitySchema), total: cachedInputSchema })
  .openapi("Affinity");

/** A request of a session as far as it tells what keeping its key was worth. */
const sessionStepSchema = z.object({
  request_id: z.string(),
  ended_at: timeSchema,
  model: z.string().nullable(),
  key_id: z.string().nullable().openapi({ description: "The key that served it; null if none did." }),
  label: z.string().nullable(),
  api_key: maskedKeySchema,
  fate: z.string().openapi({
    description: "`kept` its key, `new`: the first request, or why it had to leave its key: `rate_limited` …",
  }),
  left: z
    .object({ key_id: z.string(), label: z.string().nullable(), api_key: maskedKeySchema })
    .nullable()
    .openapi({ description: "The key that it had to leave." }),
  input_tokens: z.int().nullable().openapi({ description: "null if the answer told no usage." }),
  cache_read_tokens: z.int().nullable(),
  cache_write_tokens: z.int().nullable(),
});

export const sessionAffinitySchema = z
  .object({
    id: z.string(),
    total: cachedInputSchema,
    kept: cachedInputSchema,
    new: cachedInputSchema,
    left: cachedInputSchema,
    is_whole: z.boolean().openapi({
      description: "False if there are older requests than these sums are of: the newest 2,000 are looked at.",
    }),
    keys: z
      .array(
        z.object({
          key_id: z.string(),
          label: z.string().nullable(),
          api_key: maskedKeySchema,
          ...cachedInputSchema.shape,
        }),
      )
      .openapi({ description: "The keys that served it, the last one first." }),
    steps: z.array(sessionStepSchema).openapi({ description: "Its newest 100 requests, newest first." }),
  })
  .openapi("SessionAffinity");
export type SessionAffinity = z.infer<typeof sessionAffinitySchema>;
