import { z } from "@hono/zod-openapi";
import type { FieldRefusal, TextFault } from "./field-faults.ts";

/** What a schema expects, as the rest of the sentence "Expected `weight` to be …": give it as the `error` of every part. */
export function expects(phrase: string): { error: string } {
  return { error: phrase };
}

export function integerFrom(min: number, max: number) {
  const what = expects(`an integer from ${min} to ${max}`);
  return z.int(what).min(min, what).max(max, what);
}

/** One line of text: white space around it is dropped, control characters are refused. */
export function lineOfText(minLength: number, maxLength: number) {
  const what = expects(
    minLength > 0 ? `text of ${minLength} to ${maxLength} characters` : `text of up to ${maxLength} characters`,
  );
  return (
    z
      .string(what)
      .trim()
      .min(minLength, what)
      .max(maxLength, what)
      // Written out, since a flag such as `u` has no place in the document's patterns.
      // oxlint-disable-next-line no-control-regex -- these are what is refused
      .regex(/^[^\u0000-\u001f\u007f-\u009f]*$/, expects("text without line breaks and control characters"))
  );
}

/**
 * The refused fields of a body that did not fit its schema, in words for the caller.
 *
 * Values are repeated so that a typing error is seen, but for fields that may hold a secret.
 *
 * @param input what was validated, to say what came
 * @param isSafe whether what stands at a path may be repeated; default: anything but what is called as secrets are
 */
export function fieldErrorsOf(
  error: z.ZodError,
  input: unknown,
  isSafe: (path: string) => boolean = isNoSecret,
): FieldRefusal[] {
  return error.issues.flatMap((issue) => fieldErrorsOfIssue(issue, input, isSafe));
}

type Issue = z.core.$ZodIssue;

function fieldErrorsOfIssue(issue: Issue, input: unknown, isSafe: (path: string) => boolean): FieldRefusal[] {
  const path = joinPath(issue.path);
  // A custom issue is a rule with a sentence of its own; the others are phrases (see `expects`).
  if (issue.code === "custom") return [{ path, message: issue.message, code: "refused" }];
  if (issue.code === "unrecognized_keys") {
    return issue.keys.map((key) => {
      const field = joinPath([...issue.path, key]);
      return { path: field, message: `There is no field \`${field}\` here`, code: "unknown_field" };
    });
  }
  const phrase = phraseOf(issue);
  const value = valueAt(input, issue.path);
  const name = path === "" ? "the body" : `\`${path}\``;
  if (value === undefined && path !== "") {
    return [{ path, message: `${name} is missing: expected ${phrase}`, code: "missing" }];
  }
  return [
    { path, message: `Expected ${name} to be ${phrase}, got ${describe(value, isSafe(path))}`, ...faultOf(issue) },
  ];
}

function faultOf(issue: Issue): Omit<TextFault, "message"> {
  switch (issue.code) {
    case "too_small":
      if (issue.origin === "string" || issue.origin === "array") return { code: "empty" };
      return { code: "too_small", params: { min: Number(issue.minimum) } };
    case "too_big": {
      const params = { max: Number(issue.maximum) };
      return { code: issue.origin === "string" ? "too_long" : "too_large", params };
    }
    case "invalid_type":
      return { code: issue.expected === "int" ? "no_integer" : "wrong_type" };
    case "invalid_value":
      return { code: "not_a_choice" };
    case "invalid_format":
      // Texts are matched with a pattern only to keep control characters out.
      return { code: issue.format === "datetime" ? "no_instant" : "control_character" };
    case "custom":
    case "invalid_element":
    case "invalid_key":
    case "invalid_union":
    case "not_multiple_of":
    case "unrecognized_keys":
      return { code: "refused" };
  }
}

function phraseOf(issue: Issue): string {
  // The schema brought no phrase of its own.
  const isUnsaid = issue.message.startsWith("Invalid ");
  if (issue.code === "invalid_type" && isUnsaid) return withArticle(issue.expected);
  if (issue.code === "invalid_value" && isUnsaid)
    return `one of ${issue.values.map((value) => String(value)).join(", ")}`;
  return issue.message;
}

function withArticle(expected: string): string {
  if (expected === "array") return "a list";
  if (expected === "boolean") return "true or false";
  if (expected === "string") return "text";
  return expected === "object" ? "an object" : `a ${expected}`;
}

const mayHoldSecrets = new Set(["api_key", "token", "text", "code", "passphrase", "masked"]);

function isNoSecret(path: string): boolean {
  return !mayHoldSecrets.has(path.split(".").at(-1) ?? "");
}

function describe(value: unknown, isSafe: boolean): string {
  if (Array.isArray(value)) return "a list";
  if (typeof value === "object" && value !== null) return "an object";
  // A key may be digits alone.
  if (typeof value === "number" && !isSafe) return "a number";
  if (typeof value !== "string") return String(value);
  if (!isSafe) return "text";
  return JSON.stringify(value.length > 60 ? `${value.slice(0, 60)}…` : value);
}

function joinPath(path: readonly PropertyKey[]): string {
  return path.map(String).join(".");
}

function valueAt(input: unknown, path: readonly PropertyKey[]): unknown {
  let value = input;
  for (const step of path) {
    if (typeof value !== "object" || value === null) return undefined;
    value = (value as Record<PropertyKey, unknown>)[step];
  }
  return value;
}
