import { type ErrorCode, errorTable, type FieldError } from "@keywheel/pool";
import { z } from "@hono/zod-openapi";
import { faultParamsSchema, fieldFaultSchema } from "./fault-schemas.ts";
import { isFieldFault } from "./field-faults.ts";

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

export interface ProblemSource {
  readonly code: ErrorCode;
  readonly status: number;
  readonly message: string;
  readonly hint: string;
  readonly details: readonly FieldError[];
}

/** The table speaks to clients of the data plane where a code has two audiences; these are for those who manage. */
const operatorWords: Partial<Record<ErrorCode, { readonly title: string; readonly hint: string }>> = {
  unauthorized: {
    title: "An admin token is required",
    hint: "Send `authorization: Bearer <admin token>`, or sign in at /ui/.",
  },
  unknown_provider: { title: "There is no such provider", hint: "GET /api/providers lists ids and slugs." },
  invalid_request: { title: "The request cannot be understood", hint: "Send a body of valid JSON." },
  body_too_large: { title: "The request body is too large", hint: "Send it in parts." },
  not_found: { title: "Not found", hint: "Check the id; GET /api/openapi.json lists the paths." },
  conflict: { title: "It conflicts with what is stored", hint: errorTable.conflict.hint },
  too_many_attempts: {
    title: "Too many wrong tokens",
    hint: "Wait for `retry-after`; the right token is taken at any time.",
  },
};

/** The body of an error answer. A hint that the error brought itself stays. */
export function toProblem({ code, status, message, hint, details }: ProblemSource): Problem {
  const words = operatorWords[code];
  const entry = errorTable[code];
  return {
    type: `urn:keywheel:error:${code}`,
    title: words?.title ?? entry.title,
    status,
    detail: message === entry.title && words ? words.title : message,
    code,
    hint: hint === entry.hint && words ? words.hint : hint,
    ...(details.length > 0 ? { errors: details.map(toWire) } : {}),
  };
}

function toWire({ path, message, code, params }: FieldError): NonNullable<Problem["errors"]>[number] {
  return {
    path,
    message,
    ...(isFieldFault(code) ? { code } : {}),
    ...(params === undefined ? {} : { params }),
  };
}
