const colors: Readonly<Record<string, number>> = { trace: 90, debug: 90, info: 36, warn: 33, error: 31, fatal: 31 };

/**
 * A line of the JSON log as people read it: `12:03:04 info  Request served  path=/openai status=200`.
 *
 * @param line one JSON object; anything else is given back as it is
 */
export function formatLine(line: string, color: boolean): string {
  const entry = parse(line);
  if (entry === undefined) return line;
  const { level, time, msg, err, ...fields } = entry;

  const paint = (code: number, text: string): string => (color ? `\u001b[${code}m${text}\u001b[0m` : text);
  const label = plain(level);
  const parts = [
    paint(90, clockTime(plain(time))),
    paint(colors[label] ?? 0, label.padEnd(5)),
    plain(msg),
    ...Object.entries(fields).map(([name, value]) => `${paint(90, `${name}=`)}${show(value)}`),
  ];
  const stack = err === undefined ? "" : `\n${indent(stackOf(err))}`;
  return `${parts.join(" ")}${stack}\n`;
}

function parse(line: string): Record<string, unknown> | undefined {
  try {
    const value: unknown = JSON.parse(line);
    return isRecord(value) ? value : undefined;
  } catch {
    // Not ours; shown as it is.
    return undefined;
  }
}

function isRecord(value: unknown): value is Record<string, unknown> {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}

/** The local time of day: whoever watches knows the date. */
function clockTime(time: string): string {
  const date = new Date(time);
  return Number.isNaN(date.getTime()) ? time : date.toTimeString().slice(0, 8);
}

function show(value: unknown): string {
  if (typeof value === "string") return /^[^\s"=]+$/.test(value) ? value : JSON.stringify(value);
  return JSON.stringify(value);
}

/** An error with those that caused it, as pino serialises them. */
function stackOf(err: unknown): string {
  return isRecord(err) && typeof err["stack"] === "string" ? err["stack"] : show(err);
}

function plain(value: unknown): string {
  return typeof value === "string" ? value : "";
}

function indent(text: string): string {
  return text.replace(/^/gm, "    ");
}
