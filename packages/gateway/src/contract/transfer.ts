import { z } from "@hono/zod-openapi";
import { expects, integerFrom, lineOfText } from "./field-errors.ts";
import { presetSlugs, providerKinds } from "./provider.ts";
import { settingsPatchSchema } from "./settings.ts";
import { timeSchema } from "./wire.ts";

const exportFormat = "keywheel-export";
const exportVersion = 1;

const passphraseLength = { least: 8, most: 1024 };
const passphrase = z
  .string(expects("text"))
  .min(passphraseLength.least, expects(`a passphrase of ${passphraseLength.least} characters or more`))
  .max(passphraseLength.most, expects(`a passphrase of up to ${passphraseLength.most} characters`));

const flag = z.boolean(expects("true or false"));
const base64 = z.string(expects("base64")).regex(/^[A-Za-z0-9+/]+={0,2}$/, expects("base64"));

const exportedSecret = z
  .union(
    [
      z.string(),
      z.strictObject({
        masked: z.string(),
        secret: z.int().min(0).optional(),
      }),
    ],
    expects("`$NAME`, a key, or `{masked, secret}`"),
  )
  .openapi("ExportedSecret", {
    description:
      "`$NAME` as it stands. A value is `{masked}`, and with a passphrase `{masked, secret}`, its place among the sealed " +
      "values. A document of one's own may hold the key itself.",
  });

const exportedKey = z
  .strictObject(
    {
      api_key: exportedSecret,
      label: lineOfText(0, 200),
      weight: integerFrom(1, 100),
      enabled: flag,
      order: integerFrom(-1_000_000_000, 1_000_000_000),
      group: lineOfText(0, 100).optional().openapi({ description: "Left out where it has none." }),
    },
    expects("an object"),
  )
  .openapi("ExportedKey");

const exportedProvider = z
  .strictObject(
    {
      slug: z.string(expects("text")),
      name: lineOfText(1, 200),
      kind: z.enum(providerKinds, expects(`one of ${providerKinds.join(", ")}`)),
      preset: z.enum(presetSlugs, expects(`one of ${presetSlugs.join(", ")}, or null`)).nullable(),
      base_url: z.string(expects("an http or https URL")),
      enabled: flag,
      settings: settingsPatchSchema,
      api_key: exportedSecret.nullable(),
      keys: z.array(exportedKey, expects("a list of keys")).openapi({ description: "In wheel order." }),
    },
    expects("an object"),
  )
  .openapi("ExportedProvider");

const sealedValues = z
  .strictObject(
    {
      kdf: z.strictObject({
        name: z.literal("scrypt"),
        // Bounded: what a file asks for costs memory and time before anything of it is known to be right.
        n: z.int().min(16_384).max(1_048_576),
        r: z.int().min(1).max(16),
        p: z.int().min(1).max(4),
        salt: base64,
      }),
      cipher: z.literal("aes-256-gcm"),
      check: base64.openapi({ description: "Tells a wrong passphrase from a damaged document." }),
      nonce: base64,
      sealed: base64.openapi({
        description:
          "The values as a JSON list, encrypted; the tag is at the end. The rest of the document is the additional data.",
      }),
    },
    expects("an object"),
  )
  .openapi("SealedValues");

/** Providers, keys and settings as they are taken from one gateway to another. */
export const exportDocumentSchema = z
  .strictObject(
    {
      format: z.literal(exportFormat, expects(`"${exportFormat}": this is no export of Keywheel`)),
      version: z.literal(exportVersion, expects(`${exportVersion}: a newer Keywheel made this document`)),
      exported_at: timeSchema,
      providers: z.array(exportedProvider, expects("a list of providers")),
      secrets: sealedValues.nullable().openapi({ description: "null without a passphrase." }),
    },
    expects("an export of Keywheel"),
  )
  .openapi("ExportDocument");
export type ExportDocument = z.infer<typeof exportDocumentSchema>;
export type ExportedProvider = ExportDocument["providers"][number];
export type ExportedKey = ExportedProvider["keys"][number];
export type ExportedSecret = ExportedKey["api_key"];
export type SealedValues = NonNullable<ExportDocument["secrets"]>;

export const exportSchema = z
  .strictObject(
    {
      passphrase: passphrase.optional().openapi({
        description: "Encrypts the values of the keys; left out, they are masked. Only with the admin token.",
      }),
    },
    expects("an object"),
  )
  .openapi("Export", { example: {} });

const conflictRules = ["stop", "keep"] as const;

export const importSchema = z
  .strictObject(
    {
      document: exportDocumentSchema,
      passphrase: z
        .string(expects("text"))
        .max(passphraseLength.most, expects(`a passphrase of up to ${passphraseLength.most} characters`))
        .optional()
        .openapi({ description: "Left out, the encrypted values count as missing." }),
      dry_run: flag.optional().openapi({ description: "Answers what would happen, and changes nothing." }),
      on_conflict: z
        .enum(conflictRules, expects(`one of ${conflictRules.join(", ")}`))
        .optional()
        .openapi({
          description: "`stop` (default): nothing is imported. `keep`: what is here stays, the rest is imported.",
          default: "stop",
        }),
    },
    expects("an object"),
  )
  .openapi("Import");
export type ImportCall = z.infer<typeof importSchema>;

const counts = { added: z.int(), unchanged: z.int(), conflicts: z.int(), missing: z.int() };

export const importReportSchema = z
  .object({
    applied: z.boolean().openapi({ description: "False in a dry run." }),
    providers: z.object(counts),
    keys: z.object(counts),
    entries: z
      .array(
        z.object({
          outcome: z.enum(["added", "conflict", "missing"]),
          provider: z.string().openapi({ description: "Its slug." }),
          key: z.object({ api_key: z.string(), label: z.string() }).nullable().openapi({
            description: "null: the provider itself. Masked, or a reference.",
          }),
          reason: z.string().nullable(),
        }),
      )
      .openapi({ description: "Everything but what is unchanged." }),
  })
  .openapi("ImportReport");
export type ImportReport = z.infer<typeof importReportSchema>;
