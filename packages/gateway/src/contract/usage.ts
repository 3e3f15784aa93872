import { z } from "@hono/zod-openapi";
import { tokenCountsSchema } from "./request.ts";
import { timeSchema } from "./wire.ts";

/** What usage can be told apart by; one unit of time at the most. */
export const usageGroups = ["minute", "hour", "day", "provider", "key", "label", "token", "model"] as const;
export type UsageGroupName = (typeof usageGroups)[number];

const timePhrase = "an RFC 3339 time such as 2026-01-31T09:30:00Z";
const groupsPhrase = `a comma-separated list of ${usageGroups.join(", ")}`;

const timeQuery = z
  .string({ error: timePhrase })
  .refine((text) => /^\d{4}-\d\d-\d\dT/.test(text) && !Number.isNaN(Date.parse(text)), `Expected ${timePhrase}`)
  .transform((text) => Date.parse(text))
  .optional();

const groupList = z
  .string({ error: groupsPhrase })
  .refine((text) => text.split(",").every(isGroup), `Expected \`by\` to be ${groupsPhrase}`)
  .transform((text) => [...new Set(text.split(",").filter(isGroup))])
  .optional();

function isGroup(name: string): name is UsageGroupName {
  return (usageGroups as readonly string[]).includes(name);
}

export const usageQuerySchema = z.strictObject({
  from: timeQuery.openapi({
    type: "string",
    format: "date-time",
    description:
      "Counted from the beginning of its hour (with `minute`, or without a unit of time in the last 2 hours, of its minute). Default: a day, with `minute` an hour, with `day` 30 days.",
  }),
  to: timeQuery.openapi({ type: "string", format: "date-time", description: "Default: now." }),
  by: groupList.openapi({
    type: "string",
    default: "hour",
    description:
      "What the sums are told apart by, in that order: `minute` (kept 3 hours; with nothing but `provider` 2 days), `hour`, `day` " +
      "(in UTC), `provider`, `key`, `label` (as it was then), `token`, `model`. Empty hours have no row.",
    example: "day,label",
  }),
  provider: z.string().optional().openapi({ description: "Id or slug; the id also of one that is gone." }),
  key: z.string().optional().openapi({ description: "Also one that is gone." }),
});
export type UsageRequest = z.infer<typeof usageQuerySchema>;

const countsSchema = tokenCountsSchema.extend({
  requests: z.int(),
  errors: z.int().openapi({ description: "Requests that did not end in a whole answer of success." }),
  failovers: z.int().openapi({ description: "Attempts after which another key was asked, or none was left." }),
});

export const usageRowSchema = countsSchema
  .extend({
    at: timeSchema.optional().openapi({ description: "Where the minute, hour or day begins." }),
    provider_id: z.string().optional(),
    provider: z.string().nullable().optional().openapi({ description: "Its slug; null when it is gone." }),
    key_id: z.string().nullable().optional().openapi({
      description: "null for requests that no key served; `provider` for the provider-level key.",
    }),
    label: z.string().optional(),
    api_key: z.string().nullable().optional().openapi({ description: "With `key`: masked; null when it is gone." }),
    token_id: z.string().nullable().optional().openapi({ description: "null without a gateway token." }),
    token_name: z.string().nullable().optional().openapi({ description: "null without one, or when it is gone." }),
    model: z.string().nullable().optional().openapi({
      description: "null where none was named; `other` beyond the 1,000 models of an hour.",
    }),
  })
  .openapi("UsageRow");
export type UsageRow = z.infer<typeof usageRowSchema>;

export const usageSchema = z
  .object({
    from: timeSchema,
    to: timeSchema,
    by: z.array(z.enum(usageGroups)),
    data: z.array(usageRowSchema),
    total: countsSchema,
  })
  .openapi("Usage");
