import { z } from "@hono/zod-openapi";
import { expects } from "./field-errors.ts";
import { timeSchema } from "./wire.ts";

export const signInSchema = z
  .strictObject({ token: z.string(expects("the admin token")).openapi({ example: "kwa_…" }) }, expects("an object"))
  .openapi("SignIn");

export const newAdminTokenSchema = z
  .object({ token: z.string().openapi({ description: "Shown this once.", example: "kwa_…" }) })
  .openapi("NewAdminToken");

export const signInLinkSchema = z
  .object({
    path: z.string().openapi({ description: "Signs a browser in, once.", example: "/ui/sign-in?code=…" }),
    urls: z.array(z.string()).openapi({ description: "The same, complete, for each address of the gateway." }),
    expires_at: timeSchema,
  })
  .openapi("SignInLink");
