import { maskSecret } from "@keywheel/pool";
import type { TextFault } from "../contract/field-faults.ts";
import { type KeyText, parseKeyText, trimInvisible } from "./key-text.ts";

/** A key that a pasted list holds. */
export interface ImportedKey {
  /** From 1. */
  readonly line: number;
  readonly secret: KeyText;
  readonly label: string;
  readonly weight: number;
}

/** A part of a pasted list that is not taken, and why. */
export interface SkippedKey {
  readonly line: number;
  readonly code: "refused" | "repeated" | "held";
  readonly fault: TextFault;
  readonly masked: string;
}

export interface ParsedImport {
  readonly keys: readonly ImportedKey[];
  readonly skipped: readonly SkippedKey[];
}

export const maxImportLines = 50_000;

/**
 * Understands a pasted list of keys. Line by line, white space around every field dropped:
 *
 * 1. Empty lines, lines that begin with `#`, and a heading (`key,label,weight`) on the first line are passed over.
 * 2. A line without a comma is one key.
 * 3. A line of exactly three fields whose third is a number or empty is `key,label,weight`; an empty weight is 1.
 * 4. A line of exactly two fields whose second cannot be a key (white space or non-ASCII inside, in double quotes, or
 *    empty) is `key,label`.
 * 5. Any other line is a list of keys: `k1,k2,k3` are three. To give a plain word as a label and no weight, write
 *    `key,label,` or `key,"label"`.
 *
 * A field in double quotes may hold commas; a doubled quote stands for one. A weight outside 1 to 100 refuses its line.
 */
export function parseImportText(text: string): ParsedImport {
  const keys: ImportedKey[] = [];
  const skipped: SkippedKey[] = [];
  text.split(/\r\n|[\n\r\u2028\u2029\u0085]/).forEach((raw, index) => {
    const content = trimInvisible(raw).text;
    if (content === "" || content.startsWith("#")) return;
    const fields = splitFields(content);
    if (index === 0 && isHeading(fields)) return;
    for (const part of partsOf(fields)) {
      const read = readPart(part, index + 1);
      if ("code" in read) skipped.push(read);
      else keys.push(read);
    }
  });
  return { keys, skipped };
}

interface Field {
  readonly text: string;
  readonly quoted: boolean;
}

interface Part {
  readonly key: string;
  readonly label: string;
  readonly weight: string;
}

function partsOf(fields: readonly Field[]): readonly Part[] {
  const [first, second, third] = fields;
  if (first && second && third && fields.length === 3 && /^([+-]?[0-9.]+)?$/.test(third.text)) {
    return [{ key: first.text, label: second.text, weight: third.text }];
  }
  if (first && second && fields.length === 2 && (second.quoted || !/^[\x21-\x7e]+$/.test(second.text))) {
    return [{ key: first.text, label: second.text, weight: "" }];
  }
  return fields.filter((field) => field.text !== "").map((field) => ({ key: field.text, label: "", weight: "" }));
}

function readPart({ key, label, weight }: Part, line: number): ImportedKey | SkippedKey {
  const refuse = (fault: TextFault): SkippedKey => ({ line, code: "refused", fault, masked: maskSecret(key) });
  const parsed = parseKeyText(key);
  if (!parsed.ok) return refuse(parsed.fault);
  if (!/^(|[1-9][0-9]?|100)$/.test(weight)) {
    const message = "Expected the weight to be an integer from 1 to 100";
    return refuse({ code: "weight_range", message, params: { min: 1, max: 100 } });
  }
  if (label.length > maxLabelLength) {
    const message = `The label has more than ${maxLabelLength} characters`;
    return refuse({ code: "label_too_long", message, params: { max: maxLabelLength } });
  }
  if (/\p{Cc}/u.test(label)) {
    return refuse({ code: "label_control_character", message: "There is a control character in the label" });
  }
  return { line, secret: parsed.secret, label, weight: weight === "" ? 1 : Number(weight) };
}

export const maxLabelLength = 200;

const headingWords = new Set(["key", "api_key", "apikey", "api key", "label", "name", "weight"]);

function isHeading(fields: readonly Field[]): boolean {
  return fields.length > 1 && fields.every((field) => headingWords.has(field.text.toLowerCase()));
}

function splitFields(line: string): Field[] {
  const fields: Field[] = [];
  // A field in quotes, or everything up to the next comma; then the comma or the end.
  const field = /\s*(?:"((?:[^"]|"")*)"\s*|([^,]*))(,|$)/y;
  for (;;) {
    const match = field.exec(line);
    // The second branch of the pattern takes anything, so that there is always a match.
    if (!match) return fields;
    const [, quoted, plain, comma] = match;
    fields.push(
      quoted === undefined
        ? { text: trimInvisible(plain ?? "").text, quoted: false }
        : { text: trimInvisible(quoted.replaceAll('""', '"')).text, quoted: true },
    );
    if (comma === "") return fields;
  }
}
