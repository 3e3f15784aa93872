type Cell = string | number | null | undefined;

/** Programs that open tables take a cell for a formula that begins so; an apostrophe makes it a text. @see OWASP, CSV Injection */
const formula = /^[=+\-@\t\r]/;

/** A table as RFC 4180 writes it. The mark at its beginning makes spreadsheets read it as UTF-8. */
export function csvOf(columns: readonly string[], rows: readonly (readonly Cell[])[]): string {
  const lines = [columns, ...rows].map((cells) => cells.map(cellOf).join(","));
  return `\uFEFF${lines.join("\r\n")}\r\n`;
}

function cellOf(cell: Cell): string {
  if (cell === null || cell === undefined) return "";
  if (typeof cell === "number") return String(cell);
  const text = formula.test(cell) ? `'${cell}` : cell;
  return /[",\r\n]/.test(text) ? `"${text.replaceAll('"', '""')}"` : text;
}

/** Hands a file to the person at the page. */
export function download(name: string, text: string): void {
  const url = URL.createObjectURL(new Blob([text], { type: "text/csv;charset=utf-8" }));
  const link = document.createElement("a");
  link.href = url;
  link.download = name;
  link.click();
  // The browser has taken it up by then.
  setTimeout(() => URL.revokeObjectURL(url), 1_000);
}
