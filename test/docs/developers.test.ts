import { mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, it } from "vitest";
import { readOptions } from "../../bench/options.ts";
import { root } from "../../scripts/lib/root.mjs";
import { allPages } from "./blocks.ts";
import { piecesOf } from "./shell.ts";

const read = (path: string): string => readFileSync(join(root, path), "utf8");
const known = { workloads: ["1k64", "100k", "streams200"], contenders: ["nginx", "undici", "keywheel"] };

/** Scripts with words of their own, wherever a page shows them. They run for minutes to hours: only their words are tried. */
const shown = allPages().flatMap((page) =>
  [...read(page).matchAll(/\bnpm run ([\w:-]+) -- (--[^`#\n]+)/g)].map(([, name = "", words = ""]) => ({
    page,
    name,
    words: words.trim().split(/\s+/),
  })),
);

describe("scripts that the pages show with words behind them", () => {
  // `--help` is answered before the others are read.
  it.each(shown.filter(({ name, words }) => name === "bench" && words[0] !== "--help"))(
    "$page: npm run bench -- $words",
    ({ words }) => {
      expect(readOptions(words, known).rounds).toBeGreaterThan(0);
    },
  );

  it.each(shown.filter(({ name }) => name !== "bench"))("$page: npm run $name -- $words", ({ name, words }) => {
    const script = read(`scripts/${name}.mjs`);

    const flags = words.filter((word) => word.startsWith("--"));
    expect(flags.filter((flag) => !new RegExp(`\\b"?${flag.slice(2)}"?: ["{]`).test(script))).toEqual([]);
  });

  it("are many", () => {
    expect(shown.length).toBeGreaterThan(8);
  });
});

describe("packages/testkit/README.md", () => {
  it("shows what a test can do", { timeout: 60_000 }, async () => {
    const [code = "", ...others] = piecesOf(read("packages/testkit/README.md"), ["ts"]).map((piece) => piece.code);
    const folder = mkdtempSync(join(root, "test", "docs", ".snippets-"));
    try {
      const imports = `import { reply, runGateway, startScriptedProvider } from "@keywheel/testkit";\n`;
      const keys = `const [keyA, keyB] = ["sk-test-A-0123456789abcdef", "sk-test-B-0123456789abcdef"];\n`;
      const told = code.replace("provider.picks();", "export const picks = provider.picks();");
      writeFileSync(join(folder, "snippet.ts"), `${imports}${keys}${told}`);

      const { picks } = (await import(/* @vite-ignore */ join(folder, "snippet.ts"))) as { readonly picks: string };

      expect(picks).toBe(/provider\.picks\(\); \/\/ "(\w+)"/.exec(code)?.[1]);
      expect(others).toEqual([]);
    } finally {
      rmSync(folder, { recursive: true, force: true });
    }
  });
});

it("packages/pool/src/providers/answers/README.md shows a line as it stands in its list", () => {
  const folder = "packages/pool/src/providers/answers";
  const [code = "", ...others] = piecesOf(read(`${folder}/README.md`), ["ts"]).map((piece) => piece.code.trim());

  // There it is compiled, and tried with an example.
  const lists = readdirSync(join(root, folder)).filter((name) => name.endsWith(".ts") && !name.endsWith(".test.ts"));
  expect(lists.filter((name) => read(`${folder}/${name}`).includes(code))).toHaveLength(1);
  expect(others).toEqual([]);
});
