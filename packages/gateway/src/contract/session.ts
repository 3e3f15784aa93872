import { z } from "@hono/zod-openapi";
import { timeSchema } from "./wire.ts";

export const sessionSchema = z
  .object({
    id: z.string().openapi({ description: "What the client named in `x-keywheel-session`, or `ses_…`." }),
    carrier: z.string().openapi({ description: "The header or body field that named it." }),
    provider_id: z.string(),
    provider: z.string().nullable().openapi({ description: "Its slug; null when it is gone." }),
    key_id: z.string(),
    label: z.string().nullable().openapi({ description: "The key's label now; null when it is gone." }),
    api_key: z.string().nullable().openapi({ description: "The key, masked; null when it is gone." }),
    bound_at: timeSchema,
    last_used_at: timeSchema,
    requests: z.int(),
  })
  .openapi("Session");

export const sessionListSchema = z
  .object({ data: z.array(sessionSchema), next_cursor: z.string().nullable() })
  .openapi("SessionList");

/** An integer in a query string. */
export function integerQuery(min: number, max: number, byDefault: number) {
  const phrase = `an integer from ${min} to ${max}`;
  return z
    .string({ error: phrase })
    .regex(/^\d{1,9}$/, { error: phrase })
    .transform(Number)
    .refine((value) => value >= min && value <= max, `Expected ${phrase}`)
    .optional()
    .transform((value) => value ?? byDefault)
    .openapi({ type: "integer", minimum: min, maximum: max, default: byDefault });
}

export const sessionQuerySchema = z.strictObject({
  provider: z.string().optional().openapi({ description: "Id or slug." }),
  key: z.string().optional(),
  q: z.string().max(200).optional().openapi({ description: "A part of the session's id." }),
  limit: integerQuery(1, 1000, 100),
  cursor: z.string().max(500).optional().openapi({ description: "`next_cursor` of the page before." }),
});
