import { z } from "@hono/zod-openapi";
import { expects, integerFrom, lineOfText } from "./field-errors.ts";
import { presetSlugs, providerKinds } from "./provider.ts";
import { settingsPatchSchema } from "./settings.ts";
import { timeSchema } from "./wire.ts";

const flag = z.boolean(expects("true or false"));

const keyText = z
  .string(expects("a key, `$NAME` for an environment variable, or `file:/path`"))
  .meta({ description: "`$NAME` for an environment variable, `file:/path` for a secret's file, or the key itself." });

const declaredKey = z
  .strictObject(
    {
      api_key: keyText,
      label: lineOfText(0, 200).optional().meta({ description: "A name for people." }),
      weight: integerFrom(1, 100).optional().meta({ description: "Turns on the wheel, 1 to 100; 1 when left out." }),
      group: lineOfText(0, 100).optional().meta({
        description: "Keys with the same group share their limits, and rest together.",
      }),
      enabled: flag.optional().meta({
        description: "Left out, it is on when it is made, and then as people switch it.",
      }),
    },
    expects("a key, or an object with `api_key`"),
  )
  .meta({ description: "A key of the pool. The wheel turns in the order of the list." });

function providerOf<Key extends z.ZodType>(key: Key) {
  return z
    .strictObject(
      {
        name: lineOfText(1, 200).optional().meta({ description: "The preset's when left out." }),
        preset: z
          .enum(presetSlugs, expects(`one of ${presetSlugs.join(", ")}, or null`))
          .nullable()
          .optional()
          .meta({
            description: "Whose errors and limits are understood; the slug where it is the name of one, or by the URL.",
          }),
        kind: z
          .enum(providerKinds, expects(`one of ${providerKinds.join(", ")}`))
          .optional()
          .meta({ description: "The kind of API that is spoken; follows from preset and base URL when left out." }),
        base_url: z
          .string(expects("an http or https URL"))
          .optional()
          .meta({ description: "The preset's when left out." }),
        api_key: keyText
          .nullable()
          .optional()
          .meta({ description: "The provider-level key; it serves only while the pool has no keys at all." }),
        enabled: flag
          .optional()
          .meta({ description: "Left out, it is on when it is made, and then as people switch it." }),
        settings: settingsPatchSchema.nullable().optional().meta({ description: "What is left out has its default." }),
        keys: z
          .array(key, expects("a list of keys"))
          .nullable()
          .optional()
          .meta({ description: "The pool, in wheel order." }),
      },
      expects("an object"),
    )
    .meta({ description: "A provider; its name here is the slug, the first segment of the paths that clients use." });
}

const declaredToken = z
  .strictObject(
    {
      sha256: z
        .string(expects("64 hexadecimal digits"))
        .regex(/^[0-9a-fA-F]{64}$/, expects("64 hexadecimal digits"))
        .optional()
        .meta({ description: 'SHA-256 of the token, hexadecimal: printf %s "$TOKEN" | sha256sum' }),
      token: z
        .string(expects("`$NAME` or `file:/path`"))
        .optional()
        .meta({ description: "Where the token itself is kept: `$NAME` or `file:/path`." }),
      providers: z
        .array(z.string(expects("a provider's slug")), expects("a list of slugs, or null for all"))
        .min(1, expects("a list of one slug or more, or null for all"))
        .nullable()
        .optional()
        .meta({ description: "Slugs it is limited to; null or left out: all." }),
      expires_at: z.iso
        .datetime({ offset: true, ...expects("an instant such as 2027-01-31T09:30:00Z, or null for never") })
        .nullable()
        .optional()
        .meta({ description: "From when on it is refused." }),
      max_requests_per_minute: integerFrom(1, 100_000)
        .nullable()
        .optional()
        .meta({ description: "Requests in any 60 seconds." }),
      max_concurrent: integerFrom(1, 10_000)
        .nullable()
        .optional()
        .meta({ description: "Requests at a time, streams until their end." }),
    },
    expects("an object with `sha256` or `token`"),
  )
  .meta({ description: "A gateway token, by its name. The token itself is never in the file." });

const versionPhrase = "1: the version of this file's format";

function configFileOf<Key extends z.ZodType>(key: Key) {
  return z.strictObject(
    {
      $schema: z.string().optional().meta({ description: "Where this schema lies, for editors; it changes nothing." }),
      version: z.literal(1, expects(versionPhrase)).meta({ description: "Of the format of this file." }),
      providers: z
        .record(z.string(), providerOf(key), expects("an object: a provider under each slug; `{}` for none"))
        .meta({ description: "Providers by their slugs." }),
      tokens: z
        .record(lineOfText(1, 200), declaredToken, expects("an object: a token under each name"))
        .nullable()
        .optional()
        .meta({ description: "Gateway tokens by their names." }),
    },
    expects("an object with `version` and `providers`"),
  );
}

/** A file of configuration as people write it. */
const writtenSchema = configFileOf(z.union([keyText, declaredKey]));

/** The same once every key is an object: what it is checked with, so that each mistake is said where it is. */
export const configFileSchema = configFileOf(declaredKey);
export type ConfigFile = z.infer<typeof configFileSchema>;
export type DeclaredProvider = ConfigFile["providers"][string];
export type DeclaredKey = z.infer<typeof declaredKey>;
export type DeclaredToken = z.infer<typeof declaredToken>;

/** What editors check a `keywheel.yaml` with. @see https://json-schema.org/draft-07 */
export function configFileJsonSchema(): Readonly<Record<string, unknown>> {
  const { $schema, ...rest } = z.toJSONSchema(writtenSchema, { target: "draft-7", io: "input" });
  return { $schema, title: "keywheel.yaml", description: "Configuration of a Keywheel gateway.", ...rest };
}

const mistakeSchema = z
  .object({
    line: z.int().openapi({ description: "From 1." }),
    column: z.int().openapi({ description: "From 1." }),
    path: z.string().openapi({ description: "The field, as in `providers.openai.keys.0.weight`." }),
    message: z.string(),
  })
  .openapi("ConfigMistake");
export type ConfigMistake = z.infer<typeof mistakeSchema>;

export const configStateSchema = z
  .object({
    file: z.string().nullable().openapi({ description: "null: the gateway was started without one." }),
    state: z.enum(["none", "applied", "broken"]).openapi({
      description: "`broken`: what is in the file cannot be taken, and what was taken before goes on.",
    }),
    applied_at: timeSchema.nullable().openapi({ description: "When the file was last taken up." }),
    problem: z.string().nullable().openapi({ description: "Why it cannot be taken, in a sentence." }),
    mistakes: z.array(mistakeSchema),
    warnings: z.array(mistakeSchema).openapi({ description: "What works, and could be better or is yet to come." }),
  })
  .openapi("ConfigState");
export type ConfigState = z.infer<typeof configStateSchema>;

export const configExportSchema = z
  .object({
    document: z
      .object({
        version: z.literal(1),
        providers: z.record(z.string(), z.looseObject({})),
        tokens: z.record(z.string(), z.looseObject({})).optional(),
      })
      .openapi({ description: "In the shape of `keywheel.yaml`, as its JSON Schema has it." }),
    variables: z
      .array(z.object({ name: z.string(), provider: z.string(), label: z.string(), masked: z.string() }))
      .openapi({ description: "Variables to be set: their values are in the database alone until then." }),
  })
  .openapi("ConfigExport");
export type ConfigExport = z.infer<typeof configExportSchema>;
