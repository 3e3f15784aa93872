import { parse, patch, stringify } from "@decimalturn/toml-patch";
import { type Change, type Format, isRecord, Unreadable, valueAt, withChange } from "./format.ts";

export const tomlFormat: Format = {
  read: (text) => {
    try {
      return parse(text) as unknown;
    } catch (error) {
      const [sentence = ""] = (error instanceof Error ? error.message : String(error)).split("\n");
      throw new Unreadable(`it is no valid TOML (${sentence.replace(/:$/, "")})`);
    }
  },
  edit: (text, changes) => {
    const before = tomlFormat.read(text);
    const isNew = ({ path }: Change): boolean =>
      path.length > 2 && valueAt(before, path.slice(0, -1)) === undefined && !isInline(text, path[0]);
    const inNewTables = changes.filter((change) => isNew(change) && change.value !== undefined);
    const others = changes.filter((change) => !isNew(change));
    return withTables(others.length === 0 ? text : patched(text, others), inNewTables);
  },
};

function patched(text: string, changes: readonly Change[]): string {
  const wanted = changes.reduce(withChange, tomlFormat.read(text));
  return isRecord(wanted) ? patch(text, wanted) : text;
}

/** Tables that are not there yet, as people write them: a header of their own at the end. */
function withTables(text: string, changes: readonly Change[]): string {
  const tables = Map.groupBy(changes, ({ path }) => path.slice(0, -1).join("."));
  const blocks = [...tables].map(([header, values]) => {
    const lines = Object.fromEntries(values.map(({ path, value }) => [path.at(-1) ?? "", value]));
    return `[${header}]\n${stringify(lines).trim()}\n`;
  });
  if (blocks.length === 0) return text;
  const eol = text.includes("\r\n") ? "\r\n" : "\n";
  const head = text.trim() === "" ? "" : `${text.trimEnd()}${eol}${eol}`;
  return head + blocks.join("\n").replaceAll("\n", eol);
}

/** Whether a table is written on one line: nothing can be added to it below. */
function isInline(text: string, name: string): boolean {
  return new RegExp(`^\\s*${name}\\s*=`, "m").test(text);
}
