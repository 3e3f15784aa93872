/**
 * The value that a text begins to describe as JSON; undefined when it begins no JSON at all.
 *
 * Error bodies are read up to a bound, so a large one arrives cut off: what was complete before the cut is kept, a string
 * that was cut keeps its beginning. What follows the first whole value is ignored. Linear in the length of the text.
 */
export function parseJsonPrefix(text: string): unknown {
  // A byte order mark counts as white space here, and servers do send one.
  const trimmed = text.trimStart();
  return tryParse(trimmed) ?? parseCut(trimmed);
}

function tryParse(text: string): unknown {
  try {
    return JSON.parse(text) as unknown;
  } catch {
    // No JSON is an expected answer here, told by `undefined`.
    return undefined;
  }
}

function parseCut(text: string): unknown {
  const cut = scan(text);
  if (cut.whole !== undefined) return tryParse(cut.whole);
  const closers = cut.open.reverse().join("");
  const withString = cut.stringEnd === undefined ? undefined : tryParse(`${text.slice(0, cut.stringEnd)}"${closers}`);
  return withString ?? (cut.lastSafe === 0 ? undefined : tryParse(text.slice(0, cut.lastSafe) + closers));
}

interface Cut {
  /** The first whole value, when something follows it. */
  readonly whole?: string;
  /** What has to be closed, outermost first. */
  readonly open: string[];
  /** Where the text may be cut so that closing what is open gives valid JSON. No bracket opens or closes after it. */
  readonly lastSafe: number;
  /** Where a string that was cut may be closed. */
  readonly stringEnd?: number;
}

function scan(text: string): Cut {
  const open: string[] = [];
  let lastSafe = 0;
  for (let at = 0; at < text.length; at++) {
    const unit = text[at];
    if (unit === '"') {
      const string = endOfString(text, at + 1);
      if (string.closedAt === -1) return { open, lastSafe, stringEnd: string.safeEnd };
      at = string.closedAt;
    } else if (unit === "{" || unit === "[") {
      open.push(unit === "{" ? "}" : "]");
      lastSafe = at + 1;
    } else if (unit === "}" || unit === "]") {
      open.pop();
      lastSafe = at + 1;
      if (open.length === 0) return { whole: text.slice(0, lastSafe), open, lastSafe };
    } else if (unit === ",") {
      lastSafe = at;
    }
  }
  return { open, lastSafe };
}

/** Where a string ends; if it does not, where it can be cut without tearing an escape such as `\u00e9` apart. */
function endOfString(text: string, from: number): { closedAt: number; safeEnd: number } {
  let escapeAt = -1;
  for (let at = from; at < text.length; at++) {
    const unit = text[at];
    if (unit === '"') return { closedAt: at, safeEnd: at };
    if (unit === "\\") {
      escapeAt = at;
      at++;
    }
  }
  const mayBeTorn = escapeAt !== -1 && escapeAt > text.length - 6;
  return { closedAt: -1, safeEnd: mayBeTorn ? escapeAt : text.length };
}
