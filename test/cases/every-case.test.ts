import { readdirSync, readFileSync } from "node:fs";
import { describe, expect, it } from "vitest";

/** The numbers of sections A to K of the field notes, in their order. */
const cases = [
  [1, 3, 4, 5, 6, 7, 9, 10, 11, 12],
  [13, 14, 16, 17, 18, 19, 20],
  [21, 22, 24, 25, 26, 27, 28, 29],
  [30, 31, 32, 33, 34, 35, 36, 37, 38],
  [39, 41, 42, 43, 44, 45, 47],
  [50, 52, 53, 54, 55, 56, 57, 58, 59, 60, 61, 62, 64, 65, 66],
  [70, 71, 73, 74, 75, 76, 77],
  [78, 79, 80, 81, 82, 84],
  [85, 86, 87],
  [88, 89, 90, 91, 92, 94, 95, 96, 97, 98, 99, 100, 101],
  [102, 104, 105, 106, 107, 108, 109],
];
const files = readdirSync(import.meta.dirname).filter((name) => /^[a-z]\.test\.ts$/.test(name));

/** The titles of a file's tests: what stands first behind `it(` and behind the brackets of `it.each(…)`. */
function titlesOf(file: string): string[] {
  const source = readFileSync(`${import.meta.dirname}/${file}`, "utf8");
  const titles = source.matchAll(
    /(?:\bit|\bit\.each(?:<[^()]*>)?\((?:[^()]|\([^()]*\))*\)|^ {2}\]\))\(\s*(["'`])(.*?)\1/gm,
  );
  return Array.from(titles, ([, , title]) => title ?? "");
}

describe("the field cases", () => {
  it.each(cases.map((numbers, at) => [`${"abcdefghijk"[at]}.test.ts`, numbers] as const))(
    "of a section each have a test in %s, and every test there names its case",
    (file, numbers) => {
      const titles = titlesOf(file);
      const named = titles.map((title) => Number(/^case (\d+): /.exec(title)?.[1]));

      expect(titles.length).toBeGreaterThanOrEqual(numbers.length);
      expect(titles.filter((_, at) => !numbers.includes(named[at] ?? 0))).toEqual([]);
      expect(numbers.filter((number) => !named.includes(number))).toEqual([]);
    },
  );

  it("have no section beyond these", () => {
    expect(files).toHaveLength(cases.length);
  });
});
