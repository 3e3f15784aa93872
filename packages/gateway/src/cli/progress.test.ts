import { describe, expect, it } from "vitest";
import { lineOf, showProgress } from "./progress.ts";

const screen = { size: () => ({ columns: 80, rows: 24 }), onResize: () => () => {} };

describe("the line of progress", () => {
  it.each([
    [0, 30, 80, "Testing keys [························]   0 of 30  2 s"],
    [15, 30, 80, "Testing keys [############············]  15 of 30  2 s"],
    [30, 30, 80, "Testing keys [########################]  30 of 30  2 s"],
    [15, 30, 30, "Testing keys  15 of 30"],
    [15, 30, 10, "Testing k"],
    [0, undefined, 80, "Testing keys …  2 s"],
  ])("%i of %s on %i columns", (done, all, columns, expected) => {
    expect(lineOf({ words: "Testing keys", done, all, elapsedMs: 2_400 }, columns)).toBe(expected);
  });
});

it("says nothing where nobody watches", () => {
  const said: string[] = [];
  using progress = showProgress({ canDraw: false, err: (text) => said.push(text), screen }, "Testing keys", 3);
  progress.at(1);

  expect(said).toEqual([]);
});
