import { describe, expect, it } from "vitest";
import { clip, displayWidth, formatTable } from "./table.ts";
import { paletteFor, wantsColor } from "./terminal.ts";

it.each([
  ["key", 3],
  ["팀 키", 5],
  ["プロ", 4],
  ["é", 1],
  ["e\u0301", 1],
  ["👩‍👩‍👧", 2],
  ["ｗide", 5],
  ["한글", 4],
])("%s takes %i columns", (text, width) => {
  expect(displayWidth(text)).toBe(width);
});

const columns = [
  { heading: "Label", value: (row: { label: string; weight: number }) => row.label },
  { heading: "Weight", value: (row: { weight: number }) => String(row.weight), align: "right" as const },
];

it("aligns columns whatever the script", () => {
  const rows = [
    { label: "팀 키", weight: 3 },
    { label: "mine", weight: 100 },
  ];

  expect(formatTable(columns, rows, paletteFor(false))).toBe(
    ["Label  Weight", "팀 키       3", "mine      100", ""].join("\n"),
  );
});

it("lets no label play with the terminal", () => {
  const rows = [{ label: "\u001b[31mred\u001b]0;title\u0007\nnext", weight: 1 }];

  const shown = formatTable(columns, rows, paletteFor(false));

  expect(shown.split("\n")).toHaveLength(3);
  expect(shown).not.toContain("\u001b");
});

describe("a line that is longer than the screen", () => {
  const { red } = paletteFor(true);

  it.each([
    ["fits", 4, "fits"],
    ["too long", 4, "too…"],
    ["열쇠 하나", 6, "열쇠 …"],
    ["열쇠 하나", 4, "열…"],
    [`${red("red")} and plain`, 6, `${red("red")} a…`],
    [red("red alone"), 4, red("red…")],
    [`full${red("!")}`, 4, `full${red("")}`],
  ])("%j on %i columns", (line, columns, expected) => {
    expect(clip(line, columns)).toBe(expected);
  });
});

it.each([
  [{}, true, true],
  [{}, false, false],
  [{ NO_COLOR: "1" }, true, false],
  [{ NO_COLOR: "" }, true, true],
  [{ TERM: "dumb" }, true, false],
  [{ FORCE_COLOR: "1" }, false, true],
  [{ FORCE_COLOR: "0" }, true, false],
  [{ FORCE_COLOR: "1", NO_COLOR: "1" }, false, true],
])("colours for %j on a terminal (%s): %s", (environment, isTerminal, expected) => {
  expect(wantsColor(environment, isTerminal)).toBe(expected);
});
