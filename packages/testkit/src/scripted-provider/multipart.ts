/** One part of a form. */
export interface FormPart {
  readonly name: string;
  readonly filename: string | undefined;
  readonly contentType: string | undefined;
  readonly content: Buffer;
}

/**
 * The parts of a `multipart/form-data` or `multipart/related` body.
 *
 * @throws Error naming the place where the body is not what its content type says
 */
export function parseMultipart(contentType: string | undefined, body: Buffer): FormPart[] {
  const boundary = /boundary="?([^";]+)"?/i.exec(contentType ?? "")?.[1];
  if (boundary === undefined) throw new Error(`no boundary in content type ${contentType}`);
  const delimiter = Buffer.from(`--${boundary}`);
  const parts: FormPart[] = [];

  let at = body.indexOf(delimiter);
  if (at === -1) throw new Error("the boundary does not occur in the body");
  for (;;) {
    const start = at + delimiter.length;
    if (body.subarray(start, start + 2).toString("latin1") === "--") return parts;
    const next = body.indexOf(delimiter, start);
    if (next === -1) throw new Error("the body ends inside a part");
    // Each part lies between the line end after its delimiter and the one before the next.
    parts.push(parsePart(body.subarray(start + 2, next - 2)));
    at = next;
  }
}

function parsePart(part: Buffer): FormPart {
  const headEnd = part.indexOf("\r\n\r\n");
  if (headEnd === -1) throw new Error("a part has no end of its head");
  const head = part.subarray(0, headEnd).toString("utf8");
  return {
    name: /name="([^"]*)"/i.exec(head)?.[1] ?? "",
    filename: /filename="([^"]*)"/i.exec(head)?.[1],
    contentType: /^content-type: *(.+)$/im.exec(head)?.[1]?.trim(),
    content: part.subarray(headEnd + 4),
  };
}
