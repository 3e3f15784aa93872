import { readFile } from "node:fs/promises";
import { join } from "node:path";
import type { ScriptedKind } from "@keywheel/testkit";
import { root } from "../../scripts/lib/root.mjs";

/** A piece of TypeScript that we show to people. */
export interface Snippet {
  readonly heading: string;
  readonly code: string;
}

const pool = join(root, "packages", "pool");
const sources = ["key-pool.ts", "snapshot.ts"];

export const readme = snippetsOf(await readFile(join(pool, "README.md"), "utf8"), /^## ([^\n]+)/);
export const reference = (
  await Promise.all(sources.map(async (name) => readFile(join(pool, "src", "library", name), "utf8")))
).flatMap((text) => snippetsOf(text.replaceAll(/^ *\* ?/gm, ""), /^@example([^\n]*)/));
/** Those of README and reference. */
export const snippets = [...readme, ...reference];

/** The TypeScript of a text, each piece with the heading that it stands under. */
export function snippetsOf(text: string, heading: RegExp): readonly Snippet[] {
  const parts = text.matchAll(new RegExp(`${heading.source}|^\`\`\`ts\\n(.+?)^\`\`\``, "gms"));
  let under = "";
  return [...parts].flatMap(([, title, code]) => {
    if (title !== undefined) under = title.trim();
    return code === undefined ? [] : [{ heading: under, code }];
  });
}

/** Where the snippets' providers live, and who stands in for them. */
export const homes: Readonly<Record<string, ScriptedKind>> = {
  "https://api.openai.com": "openai",
  "https://api.anthropic.com": "anthropic",
  "https://generativelanguage.googleapis.com": "gemini",
};

const numbered = ["OPENAI", "ANTHROPIC", "GEMINI"].flatMap((name) => [1, 2, 3].map((at) => `${name}_KEY_${at}`));
const others = ["TEAM_KEY", "SPARE_KEY", "OTHER_KEY"];

/** What the snippets find in their environment. */
export const values: ReadonlyMap<string, string> = new Map([
  ...numbered.map((name, at) => [name, `sk-test-${at}-0123456789abcdef${at}`] as const),
  ...others.map((name) => [name, `sk-test-${name}-0123456789`] as const),
]);

/** The keys that the stand-ins know. */
export const numberedKeys: readonly string[] = numbered.map((name) => values.get(name) ?? "");
