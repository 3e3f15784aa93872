import { type ErrorCode, errorTable } from "@keywheel/pool";
import { z } from "@hono/zod-openapi";
import { faultParamsSchema, fieldFaultSchema } from "./fault-schemas.ts";

/** RFC 9457, with our code, a hint, and the fields that were refused. */
export const problemSchema = z
  .object({
    type: z.string().openapi({ example: "urn:keywheel:error:validation_failed" }),
    title: z.string(),
    status: z.int(),
    detail: z.string().openapi({ description: "What happened, in a sentence." }),
    code: z
      .enum(Object.keys(errorTable) as [ErrorCode, ...ErrorCode[]])
      .openapi({ description: "What programs match on." }),
    hint: z.string().openapi({ description: "What to do about it." }),
    errors: z
      .array(
        z.object({
          path: z.string(),
          message: z.string(),
          code: fieldFaultSchema.optional(),
          params: faultParamsSchema.optional(),
        }),
      )
      .optional(),
  })
  .openapi("Problem", {
    example: {
      type: "urn:keywheel:error:validation_failed",
      title: errorTable.validation_failed.title,
      status: 422,
      detail: "Expected `weight` to be an integer from 1 to 100, got 0",
      code: "validation_failed",
      hint: errorTable.validation_failed.hint,
      errors: [
        {
          path: "weight",
          message: "Expected `weight` to be an integer from 1 to 100, got 0",
          code: "too_small",
          params: { min: 1 },
        },
      ],
    },
  });
export type Problem = z.infer<typeof problemSchema>;
