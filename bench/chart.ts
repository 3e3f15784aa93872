/** A row of a bar chart. */
export interface Bar {
  readonly label: string;
  readonly value: number;
  /** The lowest and the highest of the rounds. */
  readonly least: number;
  readonly most: number;
  /** Drawn in the colour of what the chart is about. */
  readonly isOurs: boolean;
}

export interface Chart {
  readonly title: string;
  /** Below the title: unit, and which way is better. */
  readonly note: string;
  readonly bars: readonly Bar[];
  readonly format: (value: number) => string;
}

const size = { width: 760, label: 190, value: 90, row: 34, top: 70, bottom: 14, bar: 20 };

/** Draws horizontal bars with the spread of their rounds, as SVG that follows the reader's light or dark. */
export function drawChart({ title, note, bars, format }: Chart): string {
  const height = size.top + bars.length * size.row + size.bottom;
  const room = size.width - size.label - size.value;
  const most = Math.max(...bars.map((bar) => bar.most), Number.MIN_VALUE);
  const at = (value: number): number => size.label + (Math.max(0, value) / most) * room;
  const rows = bars.map((bar, index) => {
    const y = size.top + index * size.row;
    const middle = y + size.bar / 2;
    return `
  <text x="${size.label - 12}" y="${middle + 5}" class="label">${escaped(bar.label)}</text>
  <rect x="${size.label}" y="${y}" width="${round(at(bar.value) - size.label)}" height="${size.bar}" rx="3" class="${bar.isOurs ? "ours" : "other"}"/>
  <path d="M${round(at(bar.least))} ${middle}H${round(at(bar.most))}M${round(at(bar.least))} ${middle - 4}v8M${round(at(bar.most))} ${middle - 4}v8" class="spread"/>
  <text x="${round(at(bar.most) + 10)}" y="${middle + 5}">${escaped(format(bar.value))}</text>`;
  });
  const words = bars.map((bar) => `${bar.label} ${format(bar.value)}`).join(", ");
  return `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 ${size.width} ${height}" role="img" aria-labelledby="title desc">
  <title id="title">${escaped(title)}</title>
  <desc id="desc">${escaped(`${note}: ${words}`)}</desc>
  <style>
    svg { background: #fff; }
    text { font: 14px system-ui, sans-serif; fill: #1f2328; }
    .head { font-weight: 600; font-size: 16px; }
    .note { fill: #59636e; }
    .label { text-anchor: end; }
    .ours { fill: #0f766e; }
    .other { fill: #a3acb8; }
    .spread { stroke: #1f2328; stroke-width: 1.5; fill: none; }
    @media (prefers-color-scheme: dark) {
      svg { background: #0d1117; }
      text { fill: #e6edf3; }
      .note { fill: #9198a1; }
      .ours { fill: #2dd4bf; }
      .other { fill: #57606a; }
      .spread { stroke: #e6edf3; }
    }
  </style>
  <text x="16" y="26" class="head">${escaped(title)}</text>
  <text x="16" y="48" class="note">${escaped(note)}</text>${rows.join("")}
</svg>
`;
}

function round(value: number): number {
  return Math.round(value * 10) / 10;
}

function escaped(text: string): string {
  return text.replaceAll("&", "&amp;").replaceAll("<", "&lt;").replaceAll(">", "&gt;").replaceAll('"', "&quot;");
}
