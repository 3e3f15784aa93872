/** An object of parsed JSON. */
export type JsonObject = Readonly<Record<string, unknown>>;

export function asObject(value: unknown): JsonObject | undefined {
  return typeof value === "object" && value !== null && !Array.isArray(value) ? (value as JsonObject) : undefined;
}

export function asArray(value: unknown): readonly unknown[] {
  return Array.isArray(value) ? value : [];
}

/** A text that says something; undefined for "". */
export function asText(value: unknown): string | undefined {
  return typeof value === "string" && value !== "" ? value : undefined;
}

/** The objects of an array, `most` of its entries looked at. */
export function objectsOf(value: unknown, most: number): readonly JsonObject[] {
  return asArray(value)
    .slice(0, most)
    .map(asObject)
    .filter((entry) => entry !== undefined);
}
