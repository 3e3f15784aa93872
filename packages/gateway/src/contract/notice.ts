import { z } from "@hono/zod-openapi";
import { timeSchema } from "./wire.ts";

export const noticeCodes = [
  "pool_exhausted",
  "no_usable_key",
  "all_keys_refused",
  "base_url_changed",
  "keys_limited_together",
  "one_owner",
  "keys_unresolved",
  "edge_block",
  "region_refused",
  "not_an_api",
  "store_unavailable",
  "store_damaged",
  "shared_state_unavailable",
  "master_key_wrong",
  "overloaded",
  "config_file_broken",
] as const;

/** Why requests are refused for more than the machine can carry. */
export const overloadReasons = ["open_requests", "event_loop", "memory"] as const;

export const noticeSchema = z
  .object({
    id: z.string().openapi({ example: "ntc_mg3k2v1a0001" }),
    code: z.enum(noticeCodes).openapi({
      description:
        "`pool_exhausted`: a request found all keys cooling down. `no_usable_key`: none that could ever serve. " +
        "`all_keys_refused`: every key was refused and none ever accepted at this base URL. `base_url_changed`: keys are " +
        "disabled for refusals at the former one. `keys_limited_together`: all within a second, as by a limit that they " +
        "share. `one_owner`: all keys are of one group or organization, and share its limits. `keys_unresolved`: an environment variable is missing. `edge_block`, `region_refused`, `not_an_api`: " +
        "about the way to the provider, not about keys. `store_unavailable`, `store_damaged`, " +
        "`shared_state_unavailable`, `master_key_wrong`, `overloaded`: the gateway's own. " +
        "`config_file_broken`: the file of configuration has mistakes, and what was taken up before goes on.",
    }),
    provider_id: z.string().nullable().openapi({ description: "null for what is about the gateway as a whole." }),
    message: z.string().openapi({ description: "What happened." }),
    hint: z.string().openapi({ description: "What to do about it." }),
    facts: z
      .object({
        host: z.string().optional().openapi({ description: "Of the base URL." }),
        said: z.string().optional().openapi({ description: "What the other side said." }),
        file: z.string().optional().openapi({ description: "Of `config_file_broken`: where it is." }),
        variable: z.string().optional().openapi({ description: "The first variable that is missing." }),
        keys: z.int().optional().openapi({ description: "How many keys it is about." }),
        owner: z.string().optional().openapi({ description: "The group or organization of all keys." }),
        resting: z.int().optional(),
        total: z.int().optional().openapi({ description: "How many keys there are." }),
        reason: z
          .enum(overloadReasons)
          .optional()
          .openapi({ description: "Of `overloaded`: what there is too much of." }),
      })
      .openapi({ description: "What `message` tells, for those who word it themselves." }),
    action: z
      .object({ method: z.literal("POST"), path: z.string(), body: z.looseObject({}) })
      .nullable()
      .openapi({ description: "A call that offers itself as the remedy, such as enabling all refused keys again." }),
    at: timeSchema.openapi({ description: "When it happened first." }),
    last_at: timeSchema,
    count: z.int(),
    resolved_at: timeSchema.nullable().openapi({ description: "When it was over; null while it holds." }),
  })
  .openapi("Notice");
