/**
 * Reads `KEY=value` lines: `export` before the name, comments, single and double quotes (over several lines), CRLF and a
 * byte order mark are understood; what makes no sense is passed over. Nothing is expanded.
 *
 * `parseEnv` of node:util cuts an unquoted value at any `#`, also inside a key; here a comment needs white space before it.
 *
 * @returns names and values; the last of equal names wins
 */
export function parseEnvFile(text: string): ReadonlyMap<string, string> {
  const values = new Map<string, string>();
  const line = /^[ \t]*(?:export[ \t]+)?([A-Za-z_][A-Za-z0-9_]*)[ \t]*=[ \t]*("(?:\\.|[^"\\])*"|'[^']*'|[^\n]*)(.*)$/gm;
  for (const [, name = "", raw = ""] of text
    .replace(/^\ufeff/, "")
    .replace(/\r\n?/g, "\n")
    .matchAll(line)) {
    values.set(name, valueOf(raw));
  }
  return values;
}

const escapes: Readonly<Record<string, string>> = { n: "\n", r: "\r", t: "\t" };

function valueOf(raw: string): string {
  if (/^".*"$/s.test(raw)) {
    return raw.slice(1, -1).replace(/\\(.)/gs, (_, character: string) => escapes[character] ?? character);
  }
  if (/^'.*'$/s.test(raw)) return raw.slice(1, -1);
  return raw.replace(/(^|[ \t]+)#.*$/, "").trim();
}
