import { z } from "@hono/zod-openapi";
import { integerQuery } from "./session.ts";
import { timeSchema } from "./wire.ts";

/** Beside a key's label, which may be empty. */
export const maskedKeySchema = z
  .string()
  .nullable()
  .openapi({ description: "Masked (`sk-…9f2c`), or the environment reference; null when the key is gone." });

export const attemptSchema = z
  .object({
    key_id: z.string(),
    label: z.string().nullable().openapi({ description: "The key's label now; null when it is gone." }),
    api_key: maskedKeySchema,
    why: z.enum(["session", "continuation", "pin", "turn"]).openapi({
      description:
        "Why this key: the request's session is bound to it, it served what the request continues, it holds an object " +
        "that the request names, or it had its turn on the wheel.",
    }),
    passed_over: z
      .array(
        z.object({
          key_id: z.string(),
          label: z.string().nullable(),
          api_key: maskedKeySchema,
          because: z.string(),
        }),
      )
      .openapi({ description: "Keys that could not serve, and why; at most eight." }),
    left: z
      .object({ key_id: z.string(), label: z.string().nullable(), api_key: maskedKeySchema, because: z.string() })
      .nullable()
      .openapi({ description: "The key that the request belonged to before and had to leave, and why." }),
    started_at: timeSchema,
    duration_ms: z.number(),
    http_status: z.int().nullable().openapi({ description: "null when the provider gave no answer." }),
    outcome: z.string().openapi({ description: "What was recognised: `succeeded`, `rate_limited`, `key_refused` …" }),
    message: z.string().nullable().openapi({
      description: "What the provider said, or what broke, without secrets; null where there is nothing to tell.",
    }),
  })
  .openapi("Attempt");

export const tokenCountsSchema = z
  .object({
    input_tokens: z.int().openapi({ description: "Input that came from no cache and was written to none." }),
    cache_read_tokens: z.int(),
    cache_write_tokens: z.int(),
    output_tokens: z.int().openapi({ description: "With reasoning." }),
    reasoning_tokens: z.int().openapi({ description: "The part of the output that was reasoning." }),
  })
  .openapi("TokenCounts");

export const requestSchema = z
  .object({
    id: z.string().openapi({ example: "req_mg3k2v1a0001" }),
    started_at: timeSchema,
    ended_at: timeSchema,
    provider_id: z.string().nullable(),
    provider: z.string().openapi({ description: "The slug that the client used." }),
    method: z.string(),
    path: z.string().openapi({ description: "Behind the slug, without query." }),
    model: z.string().nullable(),
    session_id: z.string().nullable(),
    token_id: z.string().nullable(),
    status: z.int().openapi({ description: "What the client got; 0 if it left before it got anything." }),
    error: z.string().nullable().openapi({ description: "The code of an error of the gateway's own." }),
    ending: z.enum(["completed", "truncated", "failed", "gone"]).openapi({
      description: "Whole; short of its end; with an error after content had gone out; or the client left.",
    }),
    key_id: z.string().nullable().openapi({
      description: "The key that the answer came from; `provider` for the provider-level key.",
    }),
    label: z.string().nullable().openapi({ description: "That key's label now." }),
    api_key: maskedKeySchema,
    decision: z.string().openapi({ description: "The attempts in plain words." }),
    attempts: z.array(attemptSchema),
    standing: z
      .object({ total: z.int(), resting: z.int(), disabled: z.int(), unresolved: z.int(), tried: z.int() })
      .nullable()
      .openapi({ description: "How the pool stood when no key was left; null when the request was served." }),
    first_byte_ms: z.number().nullable(),
    duration_ms: z.number(),
    request_bytes: z.int(),
    response_bytes: z.int().nullable(),
    usage: tokenCountsSchema.nullable().openapi({ description: "null if the answer told none." }),
  })
  .openapi("Request");
export type RequestOnTheWire = z.infer<typeof requestSchema>;

export const requestListSchema = z
  .object({ data: z.array(requestSchema), next_cursor: z.string().nullable() })
  .openapi("RequestList");

const statusPhrase = "a status (`429`), a class (`4xx`), `succeeded`, `failed` or `failover`";

export const requestQuerySchema = z.strictObject({
  provider: z.string().optional().openapi({ description: "Id or slug; the id also of one that is gone." }),
  key: z.string().optional().openapi({ description: "A key that served or was tried; also one that is gone." }),
  session: z.string().max(4096).optional(),
  status: z
    .string({ error: statusPhrase })
    .regex(/^(?:[1-5]\d\d|[1-5]xx|0|succeeded|failed|failover)$/, { error: statusPhrase })
    .optional()
    .openapi({
      description:
        "`429`, `4xx`; `failed`: everything but a whole answer of success, `succeeded`: the rest; `failover`: a key failed " +
        "it, and another was asked or none was left.",
    }),
  limit: integerQuery(1, 1000, 100),
  cursor: z
    .string({ error: "`next_cursor` of the page before" })
    .regex(/^\d{1,16}$/, { error: "`next_cursor` of the page before" })
    .optional()
    .openapi({ description: "`next_cursor` of the page before." }),
});
