/** What stands in place of a secret in a text of somebody else's. */
export const redacted = "[redacted]";

/**
 * A value that must not be seen: it prints, logs and serialises masked. `reveal` is called where a header is written and
 * where the value is encrypted, nowhere else.
 */
export class Secret {
  readonly #value: string;

  constructor(value: string) {
    this.#value = value;
  }

  reveal(): string {
    return this.#value;
  }

  /** Enough to tell one's keys apart, never enough to use one: `sk-…9f2c`. */
  get masked(): string {
    return maskSecret(this.#value);
  }

  toString(): string {
    return this.masked;
  }

  toJSON(): string {
    return this.masked;
  }
}

// Node prints an object by its own inspector unless told otherwise; a private field would be left out, but not said.
Object.defineProperty(Secret.prototype, Symbol.for("nodejs.util.inspect.custom"), {
  value(this: Secret): string {
    return `Secret(${this.masked})`;
  },
});

/** The mask of a value: a short head if it looks like a vendor's prefix, an ellipsis, the last four characters. */
export function maskSecret(value: string): string {
  if (value.length < 12) return "…";
  const prefix = /^[A-Za-z]{2,4}[-_]/.exec(value)?.[0] ?? "";
  return `${prefix}…${value.slice(-4)}`;
}
