import type { FieldError } from "@keywheel/pool";

/**
 * What can be wrong with a field, for programs that say it in words of their own: the pages have them in each of their
 * languages. Codes are never renamed. Numbers that belong to one come with it as `params`, named in brackets here.
 */
export const fieldFaults = [
  // Any field
  "missing",
  "empty",
  "wrong_type",
  "unknown_field",
  "read_only",
  "not_a_choice",
  "no_integer",
  "too_small", // min
  "too_large", // max
  "too_long", // max
  "control_character",
  "no_instant",
  "in_past",
  "refused", // By a rule that has no code of its own.
  // A key, as it was typed or pasted
  "key_too_long", // max, length
  "key_masked",
  "key_line_break", // at: the position, from 1
  "key_white_space", // at
  "key_control_character", // at
  "key_character", // at
  "key_comma",
  "key_quotes",
  "variable_no_name",
  "variable_braces",
  "variable_many",
  "variable_name",
  "file_path",
  "keychain_name",
  // A line of a pasted list
  "weight_range", // min, max
  "label_too_long", // max
  "label_control_character",
  "repeated_line", // line: where it is before
  "too_many_keys", // max
  // What is stored already
  "key_held",
  "slug_taken",
  "host_change",
  "repeated",
  "no_such_key",
  "no_such_provider",
  "no_selection",
  "too_many_sums", // max
  "managed_by_file",
  // A base URL
  "white_space",
  "backslash",
  "placeholder",
  "scheme",
  "no_url",
  "credentials",
  "query",
  "fragment",
  "port",
  "endpoint",
  "metadata_host",
  // A slug
  "reserved",
  "shape",
  // Settings
  "cap_below_base", // min
] as const;

export type FieldFault = (typeof fieldFaults)[number];

/** What is wrong with a text, whatever field it is in. */
export interface TextFault {
  readonly code: FieldFault;
  /** A sentence for the person who typed it. It holds no part of a secret. */
  readonly message: string;
  readonly params?: Readonly<Record<string, number>>;
}

/** A refused field whose fault has a code: every one that the catalog refuses. */
export interface FieldRefusal extends FieldError, TextFault {
  readonly code: FieldFault;
}

const known: ReadonlySet<string> = new Set(fieldFaults);

export function isFieldFault(code: string | undefined): code is FieldFault {
  return code !== undefined && known.has(code);
}
