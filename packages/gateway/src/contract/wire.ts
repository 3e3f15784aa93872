import { z } from "@hono/zod-openapi";

/** An instant on the wire. */
export function toTime(epochMs: number): string {
  return new Date(epochMs).toISOString();
}

export function toTimeOrNull(epochMs: number | null | undefined): string | null {
  return epochMs === null || epochMs === undefined ? null : toTime(epochMs);
}

export const timeSchema = z.string().openapi({ format: "date-time", example: "2026-01-31T09:30:00.000Z" });

export const managedBySchema = z.enum(["file"]).nullable().openapi({
  description: "`file`: the file of configuration has made it, and it is changed there; null: changed here.",
});

/** A list as every list call answers it. */
export function listOf<Item extends z.ZodType>(item: Item) {
  return z.object({ data: z.array(item) });
}

/** Any value: a field that GET answers and that a write may carry back, where it changes nothing. */
export function readOnlyField() {
  return z
    .unknown()
    .optional()
    .openapi({ readOnly: true, description: "Ignored: it comes from GET and cannot be set." });
}

/** A field of GET that a write may carry back only as it is. */
export function fixedField() {
  return z.unknown().optional().openapi({ readOnly: true, description: "Cannot be changed; refused if it differs." });
}
