import { type Palette, printable } from "./terminal.ts";

export interface Column<Row> {
  readonly heading: string;
  readonly value: (row: Row) => string;
  /** Numbers stand at the right. */
  readonly align?: "right";
  /** Applied after the width is known. */
  readonly paint?: (text: string, row: Row) => string;
}

/** Rows in aligned columns below a line of headings; widths as a terminal shows them, Korean and emoji included. */
export function formatTable<Row>(columns: readonly Column<Row>[], rows: readonly Row[], colors: Palette): string {
  const cells = rows.map((row) => columns.map((column) => printable(column.value(row))));
  const widths = columns.map((column, i) =>
    Math.max(displayWidth(column.heading), ...cells.map((line) => displayWidth(line[i] ?? ""))),
  );
  const place = (text: string, i: number): string => pad(text, widths[i] ?? 0, columns[i]?.align);

  const head = columns.map((column, i) => colors.dim(place(column.heading, i)));
  const body = cells.map((line, r) =>
    line.map((text, i) => {
      const row = rows[r];
      const paint = columns[i]?.paint;
      return paint === undefined || row === undefined ? place(text, i) : paint(place(text, i), row);
    }),
  );
  return [head, ...body].map((line) => `${line.join("  ").trimEnd()}\n`).join("");
}

function pad(text: string, width: number, align: "right" | undefined): string {
  const filling = " ".repeat(Math.max(0, width - displayWidth(text)));
  return align === "right" ? filling + text : text + filling;
}

/** A line as far as a screen of that width shows it; what it is painted with counts for nothing, and ends with it. */
export function clip(line: string, columns: number): string {
  let left = columns;
  let clipped = "";
  let isCut = false;
  for (const [piece, paint] of line.matchAll(/(\p{Cc}\[\d*m)|\P{Cc}+/gu)) {
    if (paint !== undefined) clipped += piece;
    else if (!isCut && displayWidth(piece) <= left) {
      clipped += piece;
      left -= displayWidth(piece);
    } else if (!isCut) {
      isCut = true;
      clipped += cut(piece, left);
    }
  }
  return clipped;
}

/** The beginning of a text that is too long, with a mark in its last column. */
function cut(text: string, columns: number): string {
  if (columns < 1) return "";
  let shown = "";
  let left = columns - 1;
  for (const { segment } of graphemes.segment(text)) {
    left -= widthOf(segment);
    if (left < 0) break;
    shown += segment;
  }
  return `${shown}…`;
}

const graphemes = new Intl.Segmenter("en", { granularity: "grapheme" });

/** How many columns of a terminal a text takes. */
export function displayWidth(text: string): number {
  if (/^[\x20-\x7e]*$/.test(text)) return text.length;
  let width = 0;
  for (const { segment } of graphemes.segment(text)) width += widthOf(segment);
  return width;
}

/** East Asian Width W and F (UAX #11), by block: Hangul, Kana, Han, full-width forms. */
const wide =
  /^[\u1100-\u115f\u2e80-\u303e\u3041-\ua4cf\ua960-\ua97c\uac00-\ud7a3\uf900-\ufaff\ufe30-\ufe6f\uff00-\uff60\uffe0-\uffe6\u{20000}-\u{3fffd}]/u;

function widthOf(grapheme: string): number {
  if (/^[\p{Mn}\p{Me}\p{Cf}]+$/u.test(grapheme)) return 0;
  return wide.test(grapheme) || /^\p{Emoji_Presentation}|\ufe0f/u.test(grapheme) ? 2 : 1;
}
