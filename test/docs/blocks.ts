import { readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { root } from "../../scripts/lib/root.mjs";

/** A piece of code, or of what is typed, that a page shows. */
export interface Block {
  /** From the root of the project. */
  readonly page: string;
  /** Of the fence, from 1 up. */
  readonly line: number;
  /** `""`: none is named. */
  readonly language: string;
  readonly code: string;
}

const made = new Set(["node_modules", "dist", "coverage"]);

/** Every page in Markdown that is kept here; nothing that was installed, built or measured. */
export function allPages(folder = ""): readonly string[] {
  return readdirSync(join(root, folder), { withFileTypes: true }).flatMap((entry) => {
    const path = folder === "" ? entry.name : `${folder}/${entry.name}`;
    if (entry.isDirectory()) return isKept(entry.name) ? allPages(path) : [];
    return entry.name.endsWith(".md") ? [path] : [];
  });
}

function isKept(name: string): boolean {
  return !made.has(name) && (!name.startsWith(".") || name === ".github");
}

/** The blocks of a page, whatever is in front of their fences. */
export function blocksOf(page: string): readonly Block[] {
  const text = readFileSync(join(root, page), "utf8");
  const fences = text.matchAll(/^[ >]*(`{3,}|~{3,})[ \t]*([^\n`]*)\n([\s\S]*?)^[ >]*\1[ \t]*$/gm);
  return [...fences].map(({ index, 2: language = "", 3: code = "" }) => ({
    page,
    line: text.slice(0, index).split("\n").length,
    language: language.trim(),
    code,
  }));
}
