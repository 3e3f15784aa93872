import { readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { expect, it } from "vitest";
import { en } from "./en/en.ts";
import { ko } from "./ko/ko.ts";

const source = join(import.meta.dirname, "..");

/** Messages by their full names. */
function flat(messages: object, prefix = ""): Map<string, string> {
  const entries = Object.entries(messages).flatMap(([name, value]): [string, string][] =>
    typeof value === "string" ? [[prefix + name, value]] : [...flat(value as object, `${prefix}${name}.`)],
  );
  return new Map(entries);
}

const withoutPlural = (name: string): string => name.replace(/_(?:one|other)$/, "");
const valuesIn = (text: string): string[] => [...new Set(text.match(/\{\{\w+\}\}/g))].sort();

const english = flat(en);
const korean = flat(ko);
const program = readdirSync(source, { recursive: true, encoding: "utf8" })
  .filter((file) => /\.tsx?$/.test(file) && !/\.test\.tsx?$/.test(file) && !/i18n.(?:en|ko)./.test(file))
  .map((file) => readFileSync(join(source, file), "utf8"))
  .join("\n");
/** Names that are put together while the program runs: `provider.${id}` uses all that begin with it and an id. */
const snippetName = /^provider\.snippet/;

it("uses every message", () => {
  const unused = [...english.keys()]
    .map(withoutPlural)
    .filter((name) => !program.includes(`"${name}"`) && !snippetName.test(name));

  expect(unused).toEqual([]);
});

it("says every message in Korean, with the same values in it", () => {
  for (const [name, text] of english) {
    if (name.endsWith("_one")) continue;
    expect([name, valuesIn(korean.get(name) ?? "")]).toEqual([name, valuesIn(text)]);
  }
  expect([...korean.keys()]).toHaveLength([...english.keys()].filter((name) => !name.endsWith("_one")).length);
});

it("has both plurals in English of every message that has one", () => {
  const plurals = [...english.keys()].filter((name) => /_(?:one|other)$/.test(name)).map(withoutPlural);

  for (const name of plurals) expect([english.has(`${name}_one`), english.has(`${name}_other`)]).toEqual([true, true]);
});

it("writes Korean in Korean", () => {
  const names = /^provider\.(?:snippet|maxBodyUnit|model)|^keys\.waitLadder/;
  const latin = [...korean].filter(([name, text]) => !names.test(name) && !/[가-힣]/.test(text));

  expect(latin).toEqual([]);
});

it("keeps texts out of the components", () => {
  const bare = [...program.matchAll(/>\s*([A-Z][a-z]+ [a-z]+[^<>{}]*)</g)].map(([, text]) => text?.trim());

  expect(bare).toEqual([]);
});

it("counts things in English in the singular and the plural, unless there are always several", () => {
  const always = new Set([
    // Shown from two on.
    "activity.inShortAfter",
    "activity.heldBackMany",
    "overview.eventKeysChanged",
    "overview.eventKeysCreated",
    "overview.eventKeysDeleted",
  ]);
  // What is at most, or at least, is always several.
  const number = /\{\{(?!max|most|min|percent|share|next|slots)\w+\}\}(?: [a-z]+)?/.source;
  const things =
    "keys|requests|sessions|slots|tokens|turns|attempts|failures|errors|chats|providers|events|lines|variables";
  const counted = [...english].filter(([, text]) => new RegExp(`${number} (?:${things})\\b`).test(text));
  const single = counted.map(([name]) => name).filter((name) => !/_(?:one|other)$/.test(name) && !always.has(name));

  expect(single).toEqual([]);
  expect(new Intl.PluralRules("en").resolvedOptions().pluralCategories.toSorted()).toEqual(["one", "other"]);
});
