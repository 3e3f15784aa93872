/** A block of server-sent events, taken apart. */
export interface SseBlock {
  readonly name: string | undefined;
  /** Its data lines, joined; undefined if there is none. */
  readonly data: string | undefined;
  /** JSON that stands in the block without a field name, as Gemini writes an error into a running stream. */
  readonly bareJson: string | undefined;
}

/** @see https://html.spec.whatwg.org/multipage/server-sent-events.html#event-stream-interpretation */
export function readSseBlock(text: string): SseBlock {
  let name: string | undefined;
  const data: string[] = [];
  const bare: string[] = [];
  for (const line of text.replace(/^\uFEFF/, "").split(/\r\n|\n|\r/)) {
    const colon = line.indexOf(":");
    const field = colon === -1 ? line : line.slice(0, colon);
    if (field === "data") data.push(valueOf(line, colon));
    else if (field === "event") name = valueOf(line, colon);
    else if (field !== "" && field !== "id" && field !== "retry") bare.push(line);
  }
  const isJson = bare[0]?.startsWith("{") === true || bare[0]?.startsWith("[") === true;
  return {
    name: name === "" ? undefined : name,
    data: data.length === 0 ? undefined : data.join("\n"),
    bareJson: isJson ? bare.join("\n") : undefined,
  };
}

function valueOf(line: string, colon: number): string {
  if (colon === -1) return "";
  return line.slice(line[colon + 1] === " " ? colon + 2 : colon + 1);
}
