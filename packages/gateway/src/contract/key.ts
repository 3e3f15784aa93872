import { z } from "@hono/zod-openapi";
import { faultParamsSchema, fieldFaultSchema } from "./fault-schemas.ts";
import { expects, integerFrom, lineOfText } from "./field-errors.ts";
import { fixedField, managedBySchema, readOnlyField, timeSchema } from "./wire.ts";

export const keyStatuses = ["available", "cooling_down", "disabled", "unresolved"] as const;
export type KeyStatus = (typeof keyStatuses)[number];

export const reasonCodes = [
  "rate_limited",
  "overloaded",
  "quota_exhausted",
  "authentication_failed",
  "model_unavailable",
  "disabled_by_operator",
  "unresolved",
  "undecryptable",
] as const;

export const statusReasonSchema = z
  .object({
    code: z.enum(reasonCodes),
    http_status: z.int().nullable(),
    message: z.string().nullable().openapi({ description: "What the provider said, secrets taken out." }),
    at: timeSchema,
    wait: z
      .enum(["ladder", "stated", "quota", "fixed", "shared"])
      .nullable()
      .openapi({
        description:
          "Where the length of a cooldown comes from: our ladder, the provider's word, a spent quota, or the one length " +
          "of a key that may not use a model; `shared`: the rest of another key of its group.",
      }),
    shared_from: z
      .object({ key_id: z.string(), label: z.string(), api_key: z.string().nullable() })
      .nullable()
      .openapi({ description: "The key whose limit it is, where it rests with another one of its group." }),
  })
  .openapi("StatusReason");

export const keyStatsSchema = z
  .object({
    requests: z.int().openapi({ description: "Attempts with this key, those before a restart included." }),
    successes: z.int(),
    failures: z.int().openapi({ description: "Attempts that the provider answered with an error, or not at all." }),
    last_used_at: timeSchema.nullable(),
  })
  .openapi("KeyStats");

export const keySchema = z
  .object({
    id: z.string().openapi({ example: "key_k3m5q2x7a4b6c2d5e7f3" }),
    provider_id: z.string(),
    api_key: z.string().openapi({ description: "Masked (`sk-…9f2c`); an environment reference as it stands." }),
    label: z.string(),
    weight: z.int(),
    enabled: z.boolean(),
    order: z.int().openapi({ description: "The wheel turns in this order, ties by creation." }),
    group: z.string().openapi({
      description:
        "Keys that share their limits, such as those of one project, by a name of your own; empty without one.",
    }),
    organization: z
      .string()
      .nullable()
      .openapi({
        description:
          "Whose key it seems to be, as the provider's answers say (`openai-organization`, `anthropic-organization-id`), of Azure " +
          "the resource; null until one has said it. Keys of one organization share its limits, as a rule.",
      }),
    project: z
      .string()
      .nullable()
      .openapi({
        description:
          "The project of that organization, where answers say it (`openai-project`). It may have limits of its own below those " +
          "of the organization.",
      }),
    status: z.enum(keyStatuses),
    status_reason: statusReasonSchema.nullable().openapi({
      description: "Why it is not available, or the last failure until a success or a reset.",
    }),
    cooldown_until: timeSchema.nullable(),
    consecutive_failures: z.int(),
    bound_sessions: z.int(),
    stats: keyStatsSchema,
    managed_by: managedBySchema,
    created_at: timeSchema,
    updated_at: timeSchema,
  })
  .openapi("Key");
export type KeyOnTheWire = z.infer<typeof keySchema>;

const typedKey = z.string(expects("a key, or `$NAME` for an environment variable")).openapi({
  description: "A key, or `$NAME` for an environment variable. What comes back is masked.",
  example: "$OPENAI_KEY_1",
});
const label = lineOfText(0, 200);
const weight = integerFrom(1, 100);
const enabled = z.boolean(expects("true or false"));
const group = lineOfText(0, 100);
const order = integerFrom(-1_000_000_000, 1_000_000_000);

export const keyCreateSchema = z
  .strictObject(
    {
      api_key: typedKey,
      label: label.optional().openapi({ default: "" }),
      weight: weight.optional().openapi({ default: 1 }),
      enabled: enabled.optional().openapi({ default: true }),
      order: order.optional().openapi({ default: 0 }),
      group: group.optional().openapi({ default: "" }),
    },
    expects("an object"),
  )
  .openapi("KeyCreate", { example: { api_key: "$OPENAI_KEY_1", label: "Production key 1", weight: 3 } });
export type KeyCreate = z.infer<typeof keyCreateSchema>;

export const keyPatchSchema = z
  .strictObject(
    {
      api_key: typedKey
        .optional()
        .openapi({ description: "A new value; left out, the stored one stays. A mask is refused." }),
      label: label.optional(),
      weight: weight.optional(),
      enabled: enabled.optional().openapi({
        description:
          "true on a key that the provider's refusal disabled clears the refusal, its count and its cooldown.",
      }),
      order: order.optional(),
      group: group.optional().openapi({ description: "Empty takes it out of its group." }),
      id: fixedField(),
      provider_id: fixedField(),
      created_at: fixedField(),
      status: fixedField(),
      status_reason: readOnlyField(),
      cooldown_until: readOnlyField(),
      consecutive_failures: readOnlyField(),
      bound_sessions: readOnlyField(),
      organization: readOnlyField(),
      project: readOnlyField(),
      stats: readOnlyField(),
      managed_by: readOnlyField(),
      updated_at: readOnlyField(),
    },
    expects("an object"),
  )
  .openapi("KeyPatch", { example: { weight: 3 } });
export type KeyPatchBody = z.infer<typeof keyPatchSchema>;

export const keyOrderSchema = z
  .strictObject(
    {
      ids: z.array(z.string(expects("a key's id")), expects("a list of key ids")).openapi({
        description: "Keys that are not named follow after these, in the order in which they stand.",
      }),
    },
    expects("an object"),
  )
  .openapi("KeyOrder", { example: { ids: ["key_k3m5q2x7a4b6c2d5e7f3", "key_a2b3c4d5e6f7a2b3c4d5"] } });

export const keyImportSchema = z
  .strictObject(
    {
      text: z.string(expects("text")).openapi({
        description:
          "Keys one a line or separated by commas. A line of three fields whose third is a number or empty is " +
          "`key,label,weight`; a line of two fields whose second cannot be a key (white space, non-ASCII, in double " +
          "quotes, empty) is `key,label`; any other line with commas is a list of keys. Empty lines and lines that " +
          "begin with `#` are passed over.",
      }),
      group: group.optional().openapi({ description: "Of all the keys that are added." }),
      dry_run: z.boolean(expects("true or false")).optional().openapi({
        description: "Answers what was understood, without ids, and adds nothing.",
      }),
    },
    expects("an object"),
  )
  .openapi("KeyImport", { example: { text: "$OPENAI_KEY_1\n$OPENAI_KEY_2,Production key 2,3" } });

export const keyImportResultSchema = z
  .object({
    added: z.array(keySchema),
    skipped: z.array(
      z.object({
        line: z.int().openapi({ description: "From 1." }),
        code: z.enum(["refused", "repeated", "held"]).openapi({
          description: "Not a key; again in this text; held by the provider already.",
        }),
        reason: z.string(),
        fault: fieldFaultSchema,
        params: faultParamsSchema.optional(),
        masked: z.string(),
      }),
    ),
    understood: z
      .array(z.object({ line: z.int(), api_key: z.string(), label: z.string(), weight: z.int() }))
      .optional()
      .openapi({ description: "In a dry run: what would be added." }),
  })
  .openapi("KeyImportResult");

export const bulkActions = ["enable", "disable", "delete", "reset", "test"] as const;

export const keyBulkSchema = z
  .strictObject(
    {
      action: z.enum(bulkActions, expects(`one of ${bulkActions.join(", ")}`)),
      ids: z.array(z.string(expects("a key's id")), expects("a list of key ids")).optional(),
      where: z
        .strictObject(
          {
            status: z.enum(keyStatuses, expects(`one of ${keyStatuses.join(", ")}`)).optional(),
            reason: z.enum(reasonCodes, expects(`one of ${reasonCodes.join(", ")}`)).optional(),
          },
          expects("an object"),
        )
        .optional(),
    },
    expects("an object"),
  )
  .openapi("KeyBulk", { example: { action: "enable", where: { reason: "authentication_failed" } } });

export const keyTestResultSchema = z
  .object({
    ok: z.boolean().openapi({ description: "Whether the provider took the key." }),
    http_status: z.int().nullable(),
    code: z
      .string()
      .openapi({ description: "What was recognised: `ok`, `authentication_failed`, `upstream_unreachable` …" }),
    message: z.string().nullable(),
    duration_ms: z.number(),
  })
  .openapi("KeyTestResult");
export type KeyTestResult = z.infer<typeof keyTestResultSchema>;

export const keyBulkResultSchema = z
  .object({
    ids: z.array(z.string()).openapi({ description: "The keys that the action was applied to." }),
    results: z
      .array(keyTestResultSchema.extend({ id: z.string() }).openapi("KeyTestOfMany"))
      .optional()
      .openapi({ description: "Of `test`: what came of each key, in the order of `ids`." }),
  })
  .openapi("KeyBulkResult");
