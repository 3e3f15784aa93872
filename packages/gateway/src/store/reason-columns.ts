import type { StatusReason } from "@keywheel/pool";

/** A reason as it lies in a row: all null, or `code` and `at` set. */
export interface ReasonValues {
  readonly code: string | null;
  readonly httpStatus: number | null;
  readonly message: string | null;
  readonly at: number | null;
}

export function toReasonValues(reason: StatusReason | null | undefined): ReasonValues {
  if (reason === null || reason === undefined) return { code: null, httpStatus: null, message: null, at: null };
  return { code: reason.code, httpStatus: reason.httpStatus, message: reason.message, at: toInstant(reason.at) };
}

export function fromReasonValues({ code, httpStatus, message, at }: ReasonValues): StatusReason | null {
  if (code === null) return null;
  return { code: code as StatusReason["code"], httpStatus, message, at: at ?? 0 };
}

/** Epoch ms as a `bigint` column takes it: whole, and never past what a number counts in. Rounded up, as deadlines are. */
export function toInstant(at: number): number {
  return Math.min(Math.ceil(at), Number.MAX_SAFE_INTEGER);
}
