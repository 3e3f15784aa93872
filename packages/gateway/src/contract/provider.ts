import { z } from "@hono/zod-openapi";
import { expects, lineOfText } from "./field-errors.ts";
import { settingsPatchSchema, settingsSchema } from "./settings.ts";
import { fixedField, managedBySchema, readOnlyField, timeSchema } from "./wire.ts";

export const providerKinds = ["openai", "anthropic", "gemini", "azure-openai", "openai-compatible"] as const;

export const presetSlugs = [
  "openai",
  "anthropic",
  "gemini",
  "azure",
  "openrouter",
  "deepseek",
  "mistral",
  "groq",
  "xai",
  "together",
  "fireworks",
  "moonshot",
  "zhipu",
  "dashscope",
  "siliconflow",
  "cohere",
  "perplexity",
  "nvidia",
  "cerebras",
  "ollama",
  "lmstudio",
  "vllm",
] as const;
export type PresetSlug = (typeof presetSlugs)[number];

export const presetSchema = z
  .object({
    slug: z.enum(presetSlugs),
    name: z.string(),
    kind: z.enum(providerKinds),
    base_url: z.string().openapi({ description: "Azure's holds the placeholder `{resource}`." }),
  })
  .openapi("ProviderPreset", {
    example: { slug: "openai", name: "OpenAI", kind: "openai", base_url: "https://api.openai.com/v1" },
  });

export const providerSchema = z
  .object({
    id: z.string().openapi({ example: "prv_k3m5q2x7a4b6c2d5e7f3" }),
    slug: z.string().openapi({ description: "The first segment of the paths that clients use." }),
    name: z.string(),
    kind: z.enum(providerKinds).openapi({ description: "The kind of API that is spoken." }),
    preset: z.enum(presetSlugs).nullable().openapi({ description: "Whose errors, hints and limits are understood." }),
    base_url: z.string(),
    api_key: z.string().nullable().openapi({
      description: "The provider-level key, masked, or `$NAME`; it serves only while the pool has no keys at all.",
    }),
    enabled: z.boolean(),
    settings: settingsSchema,
    managed_by: managedBySchema,
    created_at: timeSchema,
    updated_at: timeSchema,
  })
  .openapi("Provider");

const typedKey = z.string(expects("a key, or `$NAME` for an environment variable")).openapi({
  description: "A key, or `$NAME` for an environment variable. What comes back is masked.",
  example: "$OPENAI_KEY",
});

const kind = z.enum(providerKinds, expects(`one of ${providerKinds.join(", ")}`));
const preset = z.enum(presetSlugs, expects(`one of ${presetSlugs.join(", ")}, or null`)).nullable();
const slug = z.string(expects("text")).openapi({ pattern: "^[a-z0-9][a-z0-9-]{0,62}$", example: "openai" });
const baseUrl = z.string(expects("an http or https URL")).openapi({ example: "https://api.openai.com/v1" });
const enabled = z.boolean(expects("true or false"));

export const providerCreateSchema = z
  .strictObject(
    {
      slug: slug.optional().openapi({ description: "Made from the name when left out." }),
      name: lineOfText(1, 200).optional().openapi({ description: "The preset's when left out." }),
      kind: kind.optional().openapi({ description: "Follows from the preset or the base URL when left out." }),
      preset: preset.optional().openapi({ description: "Follows from the base URL's host when left out." }),
      base_url: baseUrl.optional().openapi({ description: "The preset's when left out." }),
      api_key: typedKey.nullable().optional(),
      enabled: enabled.optional(),
      settings: settingsPatchSchema.nullable().optional(),
    },
    expects("an object"),
  )
  .openapi("ProviderCreate", { example: { preset: "openai", slug: "openai" } });
export type ProviderCreate = z.infer<typeof providerCreateSchema>;

export const providerPatchSchema = z
  .strictObject(
    {
      slug: slug.optional(),
      name: lineOfText(1, 200).optional(),
      kind: kind.optional(),
      preset: preset.optional(),
      base_url: baseUrl.optional(),
      api_key: typedKey.nullable().optional().openapi({ description: "null removes it; left out, it stays." }),
      enabled: enabled.optional(),
      settings: settingsPatchSchema
        .nullable()
        .optional()
        .openapi({ description: "Merged; null brings all defaults back." }),
      confirm_host_change: enabled.optional().openapi({
        description: "Must be true to change scheme, host or port of `base_url` while keys are stored: they go there.",
      }),
      id: fixedField(),
      created_at: fixedField(),
      updated_at: readOnlyField(),
      managed_by: readOnlyField(),
    },
    expects("an object"),
  )
  .openapi("ProviderPatch", { example: { name: "OpenAI", settings: { cooldown: { base_ms: 30_000 } } } });
export type ProviderPatchBody = z.infer<typeof providerPatchSchema>;
