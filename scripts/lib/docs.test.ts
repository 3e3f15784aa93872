import { existsSync, readdirSync, readFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { expect, it } from "vitest";
import { tableOfModel } from "./scaling-model.mjs";

const root = join(import.meta.dirname, "..", "..");
const read = (path: string): string => readFileSync(join(root, path), "utf8");

/** The production dependencies of a workspace package; those of the gateway are built into it, and installed for that only. */
function dependenciesOf(name: string): string[] {
  const { dependencies = {}, devDependencies = {} } = JSON.parse(read(`packages/${name}/package.json`)) as Readonly<
    Record<"dependencies" | "devDependencies", Readonly<Record<string, string>> | undefined>
  >;
  const builtIn = name === "gateway" ? Object.keys(devDependencies).filter((each) => !isForTests(each)) : [];
  return [...Object.keys(dependencies), ...builtIn].sort();
}

function isForTests(dependency: string): boolean {
  return dependency === "@keywheel/testkit" || dependency.startsWith("@types/");
}

/** The rows below a heading of a page of dependencies. */
function listedFor(name: string, page: string): { readonly name: string; readonly reason: string }[] {
  const section = read(page)
    .split(/^## /m)
    .find((part) => part.split("\n", 1)[0]?.includes(`\`${name}\``));
  return [...(section ?? "").matchAll(/^\| `([^`]+)` +\| (.*?) *\|$/gm)].map(([, found = "", reason = ""]) => ({
    name: found,
    reason,
  }));
}

it.each([
  ["pool", "@keywheel/pool"],
  ["gateway", "keywheel"],
  ["ui", "@keywheel/ui"],
])("docs/dependencies.md gives a reason for each production dependency: %s", (folder, name) => {
  const listed = listedFor(name, "docs/dependencies.md");

  expect(listed.map((row) => row.name).sort()).toEqual(dependenciesOf(folder));
  expect(listed.filter(({ reason }) => reason.length < 10)).toEqual([]);
});

it.each([
  ["pool", "@keywheel/pool"],
  ["gateway", "keywheel"],
  ["ui", "@keywheel/ui"],
])("docs/ko/dependencies.md gives a reason in Korean for each of them: %s", (folder, name) => {
  const listed = listedFor(name, "docs/ko/dependencies.md");

  expect(listed.map((row) => row.name).sort()).toEqual(dependenciesOf(folder));
  expect(listed.filter(({ reason }) => !/\p{Script=Hangul}/u.test(reason))).toEqual([]);
});

/** What a page's tables name row by row and no language changes: packages, files, tests and words of their names. */
function namedInTables(page: string): string[][] {
  return read(page)
    .split("\n")
    .filter((line) => line.startsWith("| "))
    .map((row) => (row.match(/`[^`]+`|"[^"]+"/g) ?? []).sort());
}

it.each(["dependencies", "threat-model", "ARCHITECTURE"])(
  "docs/ko/%s.md names in each row of its tables what its twin does",
  (page) => {
    const named = namedInTables(`docs/${page}.md`);

    expect(named.flat().length).toBeGreaterThan(30);
    expect(namedInTables(`docs/ko/${page}.md`)).toEqual(named);
  },
);

it("docs/ko/ARCHITECTURE.md names in each of its parts what its twin does", () => {
  const namedInParts = (page: string): string[][] =>
    read(page)
      .replaceAll(/^```[\s\S]+?^```$/gm, "")
      .split(/^## /m)
      .map((part) => [...new Set(part.replaceAll("\n", " ").match(/`[^`]+`/g))].sort());
  const named = namedInParts("docs/ARCHITECTURE.md");

  expect(named.length).toBeGreaterThan(8);
  expect(named.flat().length).toBeGreaterThan(100);
  expect(namedInParts("docs/ko/ARCHITECTURE.md")).toEqual(named);
});

/** Each test that the page names: its file, and the words that must be in it. */
function citedTests(): { readonly file: string; readonly words: string }[] {
  const cited: { file: string; words: string }[] = [];
  for (const [, file, quotes = ""] of read("docs/threat-model.md").matchAll(
    /`((?:test|packages|scripts)\/[^`]+\.test\.ts)`((?:,? "[^"]+")*)/g,
  )) {
    const words = [...quotes.matchAll(/"([^"]+)"/g)].map(([, text = ""]) => text);
    expect([file, words.length]).not.toEqual([file, 0]);
    for (const text of words) cited.push({ file: file ?? "", words: text });
  }
  return cited;
}

it("docs/threat-model.md names tests that are there", () => {
  const cited = citedTests();
  const gone = cited.filter(({ file, words }) => !existsSync(join(root, file)) || !read(file).includes(words));

  expect(cited.length).toBeGreaterThan(40);
  expect(gone).toEqual([]);
});

it("docs/threat-model.md names a test for every threat", () => {
  const threats = read("docs/threat-model.md").split("## Threats")[1] ?? "";
  const rows = threats.split("\n").filter((line) => /^\| (?!threat|---)/.test(line));

  expect(rows.length).toBeGreaterThan(25);
  expect(rows.filter((row) => !/\.test\.ts` "/.test(row))).toEqual([]);
});

it("docs/scaling.md has the table that the model gives, and its Korean twin the same figures", () => {
  const korean = { gateways: "게이트웨이", gateway: "게이트웨이", sums: "합계", connections: "연결" };
  const inKorean = (row: string): string =>
    Object.entries(korean).reduce((text, [word, twin]) => text.replaceAll(word, twin), row);
  const rowsOf = (table: string): string[] => table.split("\n").map((row) => row.replaceAll(/ +/g, " "));
  const rows = rowsOf(tableOfModel()).filter((row) => !row.startsWith("| -"));

  expect(read("docs/scaling.md")).toContain(tableOfModel());
  expect(rows.length).toBeGreaterThan(4);
  expect(rowsOf(read("docs/ko/scaling.md"))).toEqual(expect.arrayContaining(rows.map(inKorean)));
});

it("the pages for people lead to files that are there", () => {
  const folders = [
    "docs",
    "docs/ko",
    "docs/clients",
    "docs/ko/clients",
    "docs/ko/deploy",
    "deploy/compose",
    "deploy/kubernetes",
  ];
  const inFolders = folders.flatMap((folder) => readdirSync(join(root, folder)).map((name) => `${folder}/${name}`));
  const pages = ["README.md", "SECURITY.md", "CHANGELOG.md", "CONTRIBUTING.md", ...inFolders];
  const dead = pages
    .filter((page) => page.endsWith(".md"))
    .flatMap((page) =>
      [...read(page).matchAll(/\]\((?!https?:|#)([^)#\s]+)/g)]
        .filter(([, target = ""]) => !existsSync(join(root, dirname(page), target)))
        .map(([, target]) => `${page}: ${target}`),
    );

  expect(dead).toEqual([]);
});

it("the pages for people name scripts that are there", () => {
  const { scripts } = JSON.parse(read("package.json")) as { readonly scripts: Readonly<Record<string, string>> };
  const pages = readdirSync(join(root, "docs"), { recursive: true, encoding: "utf8" })
    .filter((name) => name.endsWith(".md") && !name.startsWith("site") && !name.startsWith("api"))
    .map((name) => `docs/${name}`);
  const named = ["README.md", "CONTRIBUTING.md", "SECURITY.md", ...pages].flatMap((page) =>
    [...read(page).matchAll(/\bnpm run ([\w:-]+)/g)].map(([, name = ""]) => ({ page, name })),
  );

  expect(named.length).toBeGreaterThan(12);
  expect(named.filter(({ name }) => !(name in scripts))).toEqual([]);
});
