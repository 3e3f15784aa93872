import { parseEnv } from "node:util";
import { type Change, type Format, Unreadable } from "./format.ts";

/** Lines of `NAME=value`, as shells and dotenv read them. */
export const envFormat: Format = {
  read: (text) => ({ ...parseEnv(text) }),
  edit: (text, changes) => {
    const eol = text.includes("\r\n") ? "\r\n" : "\n";
    return changes.reduce((sofar, change) => withLine(sofar, change, eol), text);
  },
};

function withLine(text: string, { path: [name], value }: Change, eol: string): string {
  if (value !== undefined && !/^[\w:/.,@%+[\]~-]*$/.test(value))
    throw new Unreadable(`the value of ${name} has characters that programs read differently`);
  const lines = text.split(/\r?\n/);
  const assigns = new RegExp(`^\\s*(export\\s+)?${name}\\s*=`);
  // The last one counts, for those who read such files.
  const at = lines.findLastIndex((line) => assigns.test(line));
  if (value === undefined) return lines.filter((line) => !assigns.test(line)).join(eol);
  if (at >= 0) return lines.with(at, `${assigns.exec(lines[at] ?? "")?.[1] ?? ""}${name}=${value}`).join(eol);
  const head = text === "" || text.endsWith("\n") ? text : `${text}${eol}`;
  return `${head}${name}=${value}${eol}`;
}
