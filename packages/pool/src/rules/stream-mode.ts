/**
 * How a body is taken apart. `sniff`: its first byte will tell. `lines`: JSON objects one after the other. `json`: one object or
 * an array of them. `tail`: an object of which only the last byte still matters. `opaque`: nothing that could be understood.
 */
export type StreamMode = "sniff" | "sse" | "lines" | "json" | "tail" | "opaque";

const lineTypes = [
  "application/x-ndjson",
  "application/ndjson",
  "application/jsonl",
  "application/x-jsonlines",
  "application/stream+json",
];

/** The mode that a content type asks for. JSON and plain text are not taken at their word: servers stream under either. */
export function modeOfContentType(contentType: string | undefined): StreamMode {
  // As nearly everybody writes them.
  if (contentType === "application/json") return "sniff";
  if (contentType === "text/event-stream") return "sse";
  const [type = ""] = (contentType ?? "").toLowerCase().split(";");
  const essence = type.trim();
  if (essence === "text/event-stream") return "sse";
  if (lineTypes.includes(essence)) return "lines";
  const isText =
    essence === "" || essence === "text/plain" || essence === "application/json" || essence.endsWith("+json");
  return isText ? "sniff" : "opaque";
}

/** The mode that the first byte of a body tells. */
export function modeOfFirstByte(byte: number): StreamMode {
  const character = String.fromCharCode(byte);
  if (character === "{" || character === "[") return "json";
  // data, event, id, retry, or a comment
  return "deir:".includes(character) ? "sse" : "opaque";
}

/** The first byte that says something; undefined if all is white space. */
export function firstWordByte(chunk: Uint8Array): number | undefined {
  return chunk.find((byte) => !isSpace(byte));
}

/** The last byte that says something; undefined if all is white space. */
export function lastWordByte(chunk: Uint8Array): number | undefined {
  return chunk.findLast((byte) => !isSpace(byte));
}

/** White space of JSON, and the bytes of a byte order mark. */
function isSpace(byte: number): boolean {
  return byte <= 0x20 || byte === 0xef || byte === 0xbb || byte === 0xbf;
}
