import { expect, it } from "vitest";
import { displayWidth, formatTable } from "./table.ts";
import { paletteFor } from "./terminal.ts";

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
