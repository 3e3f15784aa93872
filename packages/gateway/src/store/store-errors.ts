import { isKeywheelError, KeywheelError } from "@keywheel/pool";
import type { FieldFault } from "../contract/field-faults.ts";
import type { DatabaseEngine } from "./engine.ts";

/** What a failed statement means for whoever called the store. */
export function toKeywheelError(error: unknown, engine: DatabaseEngine): unknown {
  if (isKeywheelError(error)) return error;
  const fault = engine.explain(error);
  switch (fault.kind) {
    case "taken":
      return taken(fault.columns, error);
    case "orphan":
      return new KeywheelError("not_found", "What this belongs to is gone", { cause: error });
    case "crossed":
      return new KeywheelError("store_unavailable", "Other changes of the database came in between, again and again", {
        cause: error,
      });
    case "unavailable":
    case "damaged":
      return new KeywheelError("store_unavailable", fault.message, { hint: fault.hint, cause: error });
    case "unexpected":
      return error;
  }
}

const fieldNames: Readonly<Record<string, string>> = { fingerprint: "api_key", slug: "slug", id: "id", hash: "token" };

const faults: Readonly<Record<string, { readonly code: FieldFault }>> = {
  api_key: { code: "key_held" },
  slug: { code: "slug_taken" },
};

function taken(columns: readonly string[], cause: unknown): KeywheelError {
  const names = columns.map((column) => column.replace(/^.*\./, ""));
  const path = names.map((name) => fieldNames[name]).find((name) => name !== undefined) ?? names.join();
  const message = `This \`${path}\` is taken`;
  return new KeywheelError("conflict", message, { details: [{ path, message, ...faults[path] }], cause });
}
