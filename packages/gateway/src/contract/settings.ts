import { z } from "@hono/zod-openapi";
import { expects, integerFrom } from "./field-errors.ts";

/** A provider's settings with every default filled in, in code's names and milliseconds. @see contract §3 */
export interface ProviderSettings {
  readonly cooldown: { readonly baseMs: number; readonly capMs: number; readonly scope: "key" | "model" };
  readonly affinity: { readonly enabled: boolean; readonly idleTtlMs: number };
  readonly retry: { readonly providerErrors: number };
  readonly timeouts: { readonly connectMs: number; readonly headersMs: number; readonly idleMs: number };
  readonly maxBodyBytes: number;
}

const dayMs = 86_400_000;
const cooldownMs = integerFrom(100, dayMs);
// Node's timers overflow beyond 2^31 - 1 ms; a day is far below.
const timeoutMs = integerFrom(10, dayMs);
const flag = z.boolean(expects("true or false"));

const fields = {
  cooldown: {
    base_ms: cooldownMs.meta({
      description: "The rest after the first failure, ms; each further one doubles it.",
      examples: [60_000],
    }),
    cap_ms: cooldownMs.meta({ description: "The longest rest, ms; at least `base_ms`.", examples: [900_000] }),
    scope: z.enum(["key", "model"], expects('"key" or "model"')).meta({
      description: "`model`: a limit that is proven to be one model's rests the key for that model alone.",
    }),
  },
  affinity: {
    enabled: flag.meta({ description: "Whether the requests of a session stay with one key." }),
    idle_ttl_ms: integerFrom(10, 30 * dayMs).meta({ description: "A session unused for so long, ms, is forgotten." }),
  },
  retry: {
    provider_errors: integerFrom(0, 10).meta({
      description: "How often a request is repeated after an error that is the provider's own (500, 502, 503 …).",
    }),
  },
  timeouts: {
    connect_ms: timeoutMs.meta({ description: "Until a connection to the provider stands, ms." }),
    headers_ms: timeoutMs.meta({ description: "From the end of the request to the first byte of the answer, ms." }),
    idle_ms: timeoutMs.meta({ description: "Between two pieces of a response, ms." }),
  },
  max_body_bytes: integerFrom(1, 1_073_741_824).meta({ description: "The largest request body that is taken, bytes." }),
} as const;

/** Settings as they are shown: complete, defaults filled in. */
export const settingsSchema = z
  .object({
    cooldown: z.object(fields.cooldown),
    affinity: z.object(fields.affinity),
    retry: z.object(fields.retry),
    timeouts: z.object(fields.timeouts),
    max_body_bytes: fields.max_body_bytes,
  })
  .openapi("Settings");

type Patch<Shape extends z.core.$ZodShape> = { [Name in keyof Shape]: z.ZodOptional<z.ZodNullable<Shape[Name]>> };

function patchOf<Shape extends z.core.$ZodShape>(shape: Shape): Patch<Shape> {
  const entries = Object.entries(shape).map(([name, schema]) => [name, optionalOf(schema)]);
  return Object.fromEntries(entries) as Patch<Shape>;
}

/** What may be left out or null is still described where it stands: editors show it, for `keywheel.yaml`. */
function optionalOf(schema: z.core.$ZodType) {
  const { description } = z.globalRegistry.get(schema) ?? {};
  return z.optional(z.nullable(schema)).meta(description === undefined ? {} : { description });
}

function groupPatch<Shape extends z.core.$ZodShape>(shape: Shape, description: string) {
  return z.strictObject(patchOf(shape), expects("an object or null")).nullable().optional().meta({ description });
}

/** Settings as they are sent: what is named is changed, null brings the default back, the rest stays. */
export const settingsPatchSchema = z
  .strictObject(
    {
      cooldown: groupPatch(fields.cooldown, "How long a key rests that is limited (429, 529)."),
      affinity: groupPatch(fields.affinity, "Whether and how long a session stays with its key."),
      retry: groupPatch(fields.retry, "What is tried again beyond failures of a key."),
      timeouts: groupPatch(fields.timeouts, "How long the provider is waited for."),
      ...patchOf({ max_body_bytes: fields.max_body_bytes }),
    },
    expects("an object or null"),
  )
  .openapi("SettingsPatch");

export type SettingsPatch = z.infer<typeof settingsPatchSchema>;

export function settingsToWire(settings: ProviderSettings): z.infer<typeof settingsSchema> {
  const { cooldown, affinity, retry, timeouts } = settings;
  return {
    cooldown: { base_ms: cooldown.baseMs, cap_ms: cooldown.capMs, scope: cooldown.scope },
    affinity: { enabled: affinity.enabled, idle_ttl_ms: affinity.idleTtlMs },
    retry: { provider_errors: retry.providerErrors },
    timeouts: { connect_ms: timeouts.connectMs, headers_ms: timeouts.headersMs, idle_ms: timeouts.idleMs },
    max_body_bytes: settings.maxBodyBytes,
  };
}
