import { z } from "@hono/zod-openapi";
import { timeSchema } from "./wire.ts";

export const keyCountsSchema = z
  .object({
    total: z.int(),
    available: z.int(),
    cooling_down: z.int(),
    disabled: z.int(),
    unresolved: z.int(),
  })
  .openapi("KeyCounts");

export const statusSchema = z
  .object({
    version: z.string(),
    started_at: timeSchema,
    uptime_ms: z.int(),
    urls: z.array(z.string()).openapi({ description: "Where this gateway listens." }),
    require_token: z.boolean().openapi({ description: "Whether clients must show a gateway token." }),
    master_key_ok: z.boolean().openapi({ description: "False if stored keys were encrypted with another master key." }),
    store: z.object({ ok: z.boolean(), trouble: z.string().nullable() }),
    counts: z.object({ providers: z.int(), keys: keyCountsSchema, tokens: z.int() }),
    providers: z.array(
      z.object({
        id: z.string(),
        slug: z.string(),
        name: z.string(),
        enabled: z.boolean(),
        base_url: z.string(),
        keys: keyCountsSchema,
        can_serve: z.boolean().openapi({ description: "Whether a request would find a key now." }),
        next_available_at: timeSchema.nullable().openapi({ description: "When the first cooling key is back." }),
      }),
    ),
  })
  .openapi("Status");

export const healthSchema = z
  .object({ status: z.enum(["ok", "ready", "not_ready"]), detail: z.string().optional() })
  .openapi("Health");
