/** An instant as milliseconds since 1970-01-01T00:00:00Z. What is stored and compared over restarts is of this kind. */
export type EpochMs = number;

/** A length of time in milliseconds. */
export type DurationMs = number;
