import { z } from "@hono/zod-openapi";
import { expects, integerFrom, lineOfText } from "./field-errors.ts";
import { managedBySchema, readOnlyField, timeSchema } from "./wire.ts";

const describeExpiry = { description: "From when on it is refused; null for never." };
const describeRate = { description: "Requests in any 60 seconds; null for no limit." };
const describeConcurrent = { description: "Requests at a time, streams until their end; null for no limit." };

export const tokenSchema = z
  .object({
    id: z.string().openapi({ example: "tok_k3m5q2x7a4b6c2d5e7f3" }),
    name: z.string(),
    prefix: z.string().openapi({ description: "How the token begins, to tell tokens apart." }),
    providers: z
      .array(z.string())
      .nullable()
      .openapi({ description: "Ids of the providers it is limited to; null for all." }),
    expires_at: timeSchema.nullable().openapi(describeExpiry),
    max_requests_per_minute: z.int().nullable().openapi(describeRate),
    max_concurrent: z.int().nullable().openapi(describeConcurrent),
    managed_by: managedBySchema,
    created_at: timeSchema,
    last_used_at: timeSchema.nullable(),
  })
  .openapi("Token");

export const newTokenSchema = tokenSchema
  .extend({ token: z.string().openapi({ description: "Shown this once.", example: "kw_…" }) })
  .openapi("NewToken");

const instant = expects("an instant such as 2027-01-31T09:30:00Z, or null for never");

const terms = {
  name: lineOfText(1, 200),
  providers: z
    .array(z.string(expects("a provider's id or slug")), expects("a list of provider ids or slugs, or null"))
    .min(1, expects("a list of one provider or more, or null for all"))
    .nullable()
    .optional(),
  expires_at: z.iso
    .datetime({ offset: true, ...instant })
    .nullable()
    .optional()
    .openapi(describeExpiry),
  max_requests_per_minute: integerFrom(1, 100_000).nullable().optional().openapi(describeRate),
  max_concurrent: integerFrom(1, 10_000).nullable().optional().openapi(describeConcurrent),
};

export const tokenCreateSchema = z
  .strictObject(terms, expects("an object"))
  .openapi("TokenCreate", { example: { name: "laptop", providers: ["openai"], max_requests_per_minute: 60 } });

export const tokenPatchSchema = z
  .strictObject(
    {
      ...terms,
      name: terms.name.optional(),
      id: readOnlyField(),
      prefix: readOnlyField(),
      created_at: readOnlyField(),
      last_used_at: readOnlyField(),
      managed_by: readOnlyField(),
    },
    expects("an object"),
  )
  .openapi("TokenPatch", { example: { max_concurrent: 4 } });

/** What a body says of a token, as the catalog takes it. */
export function tokenWishesOf(body: Omit<z.infer<typeof tokenCreateSchema>, "name">) {
  const { providers, expires_at: expires, max_requests_per_minute: perMinute, max_concurrent: concurrent } = body;
  return {
    ...(providers === undefined ? {} : { providers }),
    ...(expires === undefined ? {} : { expiresAt: expires === null ? null : Date.parse(expires) }),
    ...(perMinute === undefined ? {} : { maxRequestsPerMinute: perMinute }),
    ...(concurrent === undefined ? {} : { maxConcurrent: concurrent }),
  };
}
