import { type ErrorCode, errorTable, type FieldError } from "@keywheel/pool";
import { isFieldFault } from "./field-faults.ts";
import type { Problem } from "./problem.ts";

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
