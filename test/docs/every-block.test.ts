import { existsSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, it } from "vitest";
import { buildProgram } from "../../packages/gateway/src/cli/program.ts";
import type { Actions } from "../../packages/gateway/src/cli/program-parts.ts";
import { root } from "../../scripts/lib/root.mjs";
import { allPages, type Block, blocksOf } from "./blocks.ts";
import { shellLanguages } from "./shell.ts";

/**
 * Which test types or runs what a page shows: all of the page that is in these languages. A block that nobody runs fails here, so
 * that none can be added and forgotten.
 */
const executed: readonly { readonly pages: RegExp; readonly languages: readonly string[]; readonly by: string }[] = [
  // The same code as on the English page, which is what is run.
  { pages: /^docs\/ko\//, languages: ["", "sh", "ts", "js", "json", "toml", "yaml", "promql", "text"], by: "commands" },
  {
    pages:
      /^(CONTRIBUTING|docs\/(start|concepts|clients|providers|api-reference|troubleshooting|moving-in)|packages\/gateway\/README)\.md$/,
    languages: shellLanguages,
    by: "commands",
  },
  { pages: /^README\.md$/, languages: [...shellLanguages, "ts", "toml"], by: "readme" },
  { pages: /^docs\/operations\.md$/, languages: shellLanguages, by: "readme" },
  // Those of programs by `npm run test:clients`, where test/clients/page.ts fails for what nobody runs.
  {
    pages: /^docs\/clients\/(claude-code|codex|gemini-cli|opencode)\.md$/,
    languages: ["sh", "toml", "json"],
    by: "../clients/clients",
  },
  { pages: /^docs\/clients\/[\w-]+\.md$/, languages: ["sh", "ts"], by: "client-pages" },
  { pages: /^packages\/pool\/README\.md$/, languages: ["ts"], by: "../library/readme" },
  { pages: /^packages\/pool\/README\.md$/, languages: ["sh"], by: "../library/package" },
  {
    pages: /^docs\/configuration\.md$/,
    languages: ["yaml"],
    by: "../../packages/gateway/src/cli/config-file/read-config",
  },
  {
    pages: /^docs\/(configuration|observability|scaling)\.md$/,
    languages: [...shellLanguages, "json", "js"],
    by: "operators",
  },
  {
    pages: /^(docs\/observability|deploy\/prometheus\/README)\.md$/,
    languages: ["yaml", "promql"],
    by: "../deploy/prometheus",
  },
  { pages: /^deploy\/(compose|kubernetes)\/README\.md$/, languages: shellLanguages, by: "deploy-pages" },
  { pages: /^bench\/README\.md$/, languages: shellLanguages, by: "developers" },
  { pages: /^packages\/(testkit|pool\/src\/providers\/answers)\/README\.md$/, languages: ["ts"], by: "developers" },
];

/** What is not code, by its page: why. */
const drawings: Readonly<Record<string, string>> = {
  "docs/ARCHITECTURE.md": "the picture of the parts",
  "docs/concepts.md": "the turns of a wheel; `commands` tries that the preview gives such",
};

const blocks = allPages().flatMap(blocksOf);

function isExecuted({ page, language }: Block): boolean {
  if (language === "text" && page in drawings) return true;
  return executed.some(({ pages, languages }) => pages.test(page) && languages.includes(language));
}

describe("what the pages show", () => {
  it("is run by a test, all of it", () => {
    const forgotten = blocks
      .filter((block) => !isExecuted(block))
      .map(({ page, line, language }) => `${page}:${line} ${language}`);

    expect(forgotten).toEqual([]);
    expect(blocks.length).toBeGreaterThan(180);
  });

  it.each(executed.map((rule) => [rule.by, rule] as const))("is still there for %s", (by, { pages, languages }) => {
    const path = join(root, "test", "docs", `${by}.test.ts`);
    const theirs = blocks.filter(({ page, language }) => pages.test(page) && languages.includes(language));

    expect([path, existsSync(path)]).toEqual([path, true]);
    expect(theirs).not.toEqual([]);
  });

  it("is no drawing any more where none is", () => {
    const drawn = blocks.filter(({ page, language }) => language === "text" && !page.startsWith("docs/ko/"));

    expect(new Set(drawn.map(({ page }) => page))).toEqual(new Set(Object.keys(drawings)));
  });
});

const program = buildProgram(new Proxy({}, { get: () => () => undefined }) as Actions);

/** What is wrong with the words of a call, as far as they go: pages often show but the beginning. */
function faultIn(call: string): string | undefined {
  let command = program;
  for (const word of call.split(/\s+/)) {
    if (/^[|&>#(]/.test(word)) return undefined;
    if (word.startsWith("--")) {
      const flag = word.replace(/=.*|[,;.:)]+$/, "");
      const known = [...command.options, ...program.options].some(({ long }) => long === flag) || flag === "--help";
      if (!known) return `${call}: ${command.name()} takes no ${flag}`;
      continue;
    }
    if (command.commands.length === 0) continue;
    const next = command.commands.find((one) => one.name() === word || one.aliases().includes(word));
    if (next === undefined) return word === "…" || word === "help" ? undefined : `${call}: there is no ${word}`;
    command = next;
  }
  return undefined;
}

describe("commands in the middle of a sentence", () => {
  const calls = allPages().flatMap((page) =>
    [
      ...readFileSync(join(root, page), "utf8").matchAll(
        /`(?:[A-Z_]+=\S+ |docker compose exec gateway-1 )*(?:npx (?:--prefix \S+ )?)?keywheel ([a-z][^`]*)`/g,
      ),
    ].map(([, call = ""]) => call),
  );

  it("are such as the program knows, with flags that it takes", () => {
    const faults = calls.flatMap((call) => faultIn(call.trim()) ?? []);

    expect(faults).toEqual([]);
    expect(calls.length).toBeGreaterThan(100);
  });

  it("would not get by if they were wrong", () => {
    expect(faultIn("keys list")).toContain("there is no keys");
    expect(faultIn("key add openai --wait 3")).toContain("takes no --wait");
    expect(faultIn("key add openai --weight 3")).toBeUndefined();
  });
});
