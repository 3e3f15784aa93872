import { z } from "@hono/zod-openapi";
import { expects, lineOfText } from "./field-errors.ts";
import { timeSchema } from "./wire.ts";

export const tokenSchema = z
  .object({
    id: z.string().openapi({ example: "tok_k3m5q2x7a4b6c2d5e7f3" }),
    name: z.string(),
    prefix: z.string().openapi({ description: "How the token begins, to tell tokens apart." }),
    providers: z
      .array(z.string())
      .nullable()
      .openapi({ description: "Ids of the providers it is limited to; null for all." }),
    created_at: timeSchema,
    last_used_at: timeSchema.nullable(),
  })
  .openapi("Token");

export const newTokenSchema = tokenSchema
  .extend({ token: z.string().openapi({ description: "Shown this once.", example: "kw_…" }) })
  .openapi("NewToken");

export const tokenCreateSchema = z
  .strictObject(
    {
      name: lineOfText(1, 200),
      providers: z
        .array(z.string(expects("a provider's id or slug")), expects("a list of provider ids or slugs, or null"))
        .min(1, expects("a list of one provider or more, or null for all"))
        .nullable()
        .optional(),
    },
    expects("an object"),
  )
  .openapi("TokenCreate", { example: { name: "laptop", providers: ["openai"] } });
