import { z } from "@hono/zod-openapi";
import { overloadReasons } from "./notice.ts";
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
    store: z.object({
      ok: z.boolean(),
      trouble: z
        .string()
        .nullable()
        .openapi({ description: "Why the database cannot be written, or what is damaged." }),
      hint: z.string().nullable().openapi({ description: "What to do about it." }),
      damaged: z
        .boolean()
        .openapi({ description: "Whether stored data cannot be read: only a backup brings it back." }),
    }),
    shared_state: z
      .object({
        kind: z.enum(["memory", "redis"]).openapi({ description: "`memory`: of this gateway alone." }),
        ok: z.boolean().openapi({ description: "False while Redis is away and this gateway decides alone." }),
        trouble: z.string().nullable(),
      })
      .openapi({ description: "Where turns, cooldowns and sessions are kept." }),
    config: z
      .object({
        file: z.string(),
        ok: z.boolean().openapi({ description: "False while the file cannot be taken and what was before goes on." }),
        problem: z.string().nullable(),
      })
      .nullable()
      .openapi({ description: "The file of configuration; null where there is none." }),
    load: z
      .object({
        requests_running: z.int().openapi({ description: "Requests of clients under way, streams included." }),
        requests_limit: z.int().openapi({ description: "How many there may be; more are refused with 503." }),
        event_loop_delay_ms: z.int().openapi({ description: "How late the process does what is due." }),
        memory_share: z.number().openapi({ description: "In use of what the process may have, 0 to 1." }),
        refused_share: z.number().openapi({ description: "What part of new requests is refused, 0 to 1." }),
        reason: z.enum(overloadReasons).nullable().openapi({ description: "Why; null while none is refused." }),
      })
      .openapi({ description: "What the machine has to carry." }),
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
