import { applyEdits, type FormattingOptions, modify, parse, type ParseError, printParseErrorCode } from "jsonc-parser";
import { type Format, Unreadable } from "./format.ts";

/** JSON, with or without comments and trailing commas. */
export const jsonFormat: Format = {
  read: (text) => {
    if (isBlank(text)) return {};
    const errors: ParseError[] = [];
    const value: unknown = parse(withoutMark(text), errors, { allowTrailingComma: true });
    const [first] = errors;
    if (first !== undefined) {
      const line = text.slice(0, first.offset).split("\n").length;
      throw new Unreadable(`it is no valid JSON (line ${line}: ${printParseErrorCode(first.error)})`);
    }
    return value;
  },
  edit: (text, changes) => {
    const formattingOptions = formattingOf(text);
    const mark = text.slice(0, text.length - withoutMark(text).length);
    const whole = isBlank(text) ? `{}${formattingOptions.eol ?? "\n"}` : withoutMark(text);
    const edited = changes.reduce(
      (sofar, { path, value }) => applyEdits(sofar, modify(sofar, [...path], value, { formattingOptions })),
      whole,
    );
    return mark + edited;
  },
};

function isBlank(text: string): boolean {
  return withoutMark(text).trim() === "";
}

/** Editors on Windows begin a file with a byte order mark. */
function withoutMark(text: string): string {
  return text.replace(/^\uFEFF/, "");
}

/** As the file is indented already; two spaces in a new one. */
function formattingOf(text: string): FormattingOptions {
  const indent = /^([ \t]+)\S/m.exec(text)?.[1] ?? "  ";
  const eol = text.includes("\r\n") ? "\r\n" : "\n";
  return { insertSpaces: !indent.startsWith("\t"), tabSize: indent.startsWith("\t") ? 1 : indent.length, eol };
}
