import { z } from "@hono/zod-openapi";

export const variableSchema = z
  .object({
    set: z.boolean().openapi({ description: "Whether a key `$NAME` would work now." }),
    problem: z.enum(["unset", "empty", "unsendable"]).nullable().openapi({
      description: "Why it would not; `unsendable`: there is a value that cannot be a key.",
    }),
  })
  .openapi("Variable");
