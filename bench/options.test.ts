import { describe, expect, it } from "vitest";
import { assignCores } from "./cores.ts";
import { readOptions } from "./options.ts";

const known = { workloads: ["1k64", "100k", "streams200"], contenders: ["nginx", "undici", "keywheel"] };
const read = (...words: string[]) => readOptions(words, known);

describe("readOptions", () => {
  it("measures all there is, unless told otherwise", () => {
    expect(read()).toMatchObject({ only: undefined, contenders: undefined, rounds: 5, isShort: false });
  });

  it("takes what it is told", () => {
    const words = ["--rounds", "2", "--only", "1k64,100k", "--contenders", "nginx,keywheel", "--seconds", "0.5"];

    expect(read(...words)).toMatchObject({
      rounds: 2,
      seconds: 0.5,
      only: ["1k64", "100k"],
      contenders: ["nginx", "keywheel"],
    });
  });

  it("is short when asked, and still does as it is told", () => {
    expect(read("--short", "--rounds", "1")).toMatchObject({
      isShort: true,
      rounds: 1,
      contenders: ["undici", "keywheel"],
    });
  });

  it.each([
    [["--only", "2k"], 'Expected `--only` to name some of 1k64, 100k, streams200; got "2k"'],
    [["--rounds", "0"], 'Expected `--rounds` to be a whole number from 1 to 10000000; got "0"'],
    [["--rounds", "1.5"], "whole number"],
    [["--seconds", "soon"], "Expected `--seconds` to be a number from 0.2"],
    [["--fast"], "--fast"],
  ])("says what is wrong with %j", (words, message) => {
    expect(() => read(...words)).toThrow(message);
  });
});

describe("assignCores", () => {
  it("lets load and upstream share where there are two, and gives each its own where there are more", () => {
    expect(assignCores("0-1")).toEqual({ contender: 0, load: 1, upstream: 1 });
    expect(assignCores("2,4-6")).toEqual({ contender: 2, load: 4, upstream: 5 });
  });

  it("refuses a single core", () => {
    expect(() => assignCores("3")).toThrow("Two processor cores are needed");
  });
});
