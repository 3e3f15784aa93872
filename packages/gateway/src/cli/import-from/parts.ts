import { existsSync, readFileSync, statSync } from "node:fs";
import { join } from "node:path";
import { failed } from "../exit.ts";

/** Far more than any of these files has. */
export const maxBytes = 256 * 1_048_576;

export type Fields = Readonly<Record<string, unknown>>;

export function isFields(value: unknown): value is Fields {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}

/** A field as text; an empty one for what is none. */
export function textOf(value: unknown): string {
  if (typeof value === "string") return value.trim();
  return typeof value === "number" ? String(value) : "";
}

/** A field as a number, also one that a dump has as text; undefined for what is none. */
export function numberOf(value: unknown): number | undefined {
  const number = typeof value === "string" && /^-?\d+(\.\d+)?$/.test(value) ? Number(value) : value;
  return typeof number === "number" && Number.isFinite(number) ? number : undefined;
}

/** Whether a field says no, in the words of JSON, SQLite, MySQL or PostgreSQL. */
export function isNo(value: unknown): boolean {
  return value === false || value === 0 || value === "0" || value === "f" || value === "false";
}

/** What a column has as JSON; undefined for an empty one. @throws CommandError (1) that repeats nothing of it */
export function jsonIn(value: unknown, what: string): unknown {
  if (isFields(value) && !(value instanceof Uint8Array)) return value;
  const text = value instanceof Uint8Array ? Buffer.from(value).toString("utf8") : textOf(value);
  return text === "" ? undefined : (parseJson(text, what) ?? undefined);
}

/** The objects of a list; an empty list for what is none. */
export function objectsOf(value: unknown): readonly Fields[] {
  return Array.isArray(value) ? value.filter(isFields) : [];
}

/** A file of that name in a folder, or the file that was named. @throws CommandError (1) */
export function fileIn(path: string, names: readonly string[]): string {
  if (!isFolder(path)) return path;
  const file = names.map((name) => join(path, name)).find((candidate) => existsSync(candidate));
  if (file === undefined) throw failed(`There is no ${names.join(" or ")} in ${path}.`);
  return file;
}

export function isFolder(path: string): boolean {
  try {
    return statSync(path).isDirectory();
  } catch (error) {
    throw unreadable(path, error);
  }
}

/** @throws CommandError (1) */
export function readBytes(path: string): Buffer {
  try {
    const { size } = statSync(path);
    if (size > maxBytes) throw new Error(`it has ${size} bytes, and ${maxBytes} are the most`);
    return readFileSync(path);
  } catch (error) {
    throw unreadable(path, error);
  }
}

/** @throws CommandError (1) */
export function readText(path: string): string {
  return readBytes(path)
    .toString("utf8")
    .replace(/^\ufeff/, "");
}

/** @throws CommandError (1) that repeats nothing of the file */
export function parseJson(text: string, path: string): unknown {
  try {
    return JSON.parse(text) as unknown;
  } catch {
    // The error quotes what stands there.
    throw failed(`${path} is damaged, or another file: it is not valid JSON.`);
  }
}

/** @throws CommandError (1) that repeats nothing of the file */
export async function parseYaml(text: string, path: string): Promise<unknown> {
  const { LineCounter, parseDocument } = await import("yaml");
  const lines = new LineCounter();
  const document = parseDocument(text, { prettyErrors: false, lineCounter: lines, merge: true, uniqueKeys: false });
  const [error] = document.errors;
  if (error !== undefined) throw failed(`${path} is no YAML: see line ${lines.linePos(error.pos[0]).line}.`);
  try {
    return document.toJS() as unknown;
  } catch {
    // An alias without an anchor; the error quotes it.
    throw failed(`${path} is no YAML: it has an alias that has no anchor.`);
  }
}

/** @throws CommandError (1) */
export function notThat(path: string, tool: string, lacks: string): Error {
  return failed(`${path} is not a file of ${tool} that is understood: ${lacks}.`);
}

function unreadable(path: string, error: unknown): Error {
  const code = error instanceof Error && "code" in error ? String(error.code) : String(error);
  return failed(`${path} cannot be read: ${code === "ENOENT" ? "there is no such file" : code}.`, error);
}
