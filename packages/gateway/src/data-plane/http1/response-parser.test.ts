import { describe, expect, it } from "vitest";
import type { ResponseHead } from "./response-head.ts";
import { ResponseParser } from "./response-parser.ts";

interface Heard {
  readonly heads: ResponseHead[];
  body: string;
  trailers: readonly string[] | undefined;
  rest: string | undefined;
  upgraded: string | undefined;
  interims: number;
}

function listening(method = "GET", upgrade?: string): { readonly parser: ResponseParser; readonly heard: Heard } {
  const heard: Heard = { heads: [], body: "", trailers: undefined, rest: undefined, upgraded: undefined, interims: 0 };
  const parser = new ResponseParser({
    onInterim: () => heard.interims++,
    onHead: (head) => heard.heads.push(head),
    onData: (chunk) => (heard.body += chunk.toString("latin1")),
    onEnd: (trailers, rest) => {
      heard.trailers = trailers;
      heard.rest = rest?.toString("latin1");
    },
    onUpgrade: (head, rest) => {
      heard.heads.push(head);
      heard.upgraded = rest.toString("latin1");
    },
  });
  parser.start({ method, upgrade });
  return { parser, heard };
}

function read(pieces: readonly string[], method?: string, upgrade?: string): Heard {
  const { parser, heard } = listening(method, upgrade);
  for (const piece of pieces) parser.execute(Buffer.from(piece, "latin1"));
  return heard;
}

const ok = "HTTP/1.1 200 OK\r\n";
const chunkedHead = `${ok}Transfer-Encoding: chunked\r\n\r\n`;
const long =
  "HTTP/1.1 103 Early Hints\r\nLink: <x>\r\n\r\nHTTP/1.1 200 Fein\xfc\r\nContent-Type:  text/plain \r\nX-Empty:\r\nx-twice: a\r\n" +
  "X-Twice: b\r\nTransfer-Encoding: Chunked\r\n\r\n3\r\nabc\r\n0000A;name=value\r\n0123456789\r\n0\r\nX-Sum: 1\r\nx-b: 2\r\n\r\n";

describe("an answer", () => {
  it.each(long.split("").map((_, at) => at))("reads the same wherever it is cut in two: at %i", (at) => {
    expect(read([long.slice(0, at), long.slice(at)])).toEqual(read([long]));
  });

  it("reads the same byte by byte", () => {
    const heard = read(long.split(""));

    expect(heard).toEqual(read([long]));
    expect(heard).toMatchObject({
      body: "abc0123456789",
      trailers: ["X-Sum", "1", "x-b", "2"],
      rest: undefined,
      interims: 1,
    });
    expect(heard.heads[0]).toMatchObject({
      status: 200,
      phrase: "Fein\xfc",
      rawHeaders: [
        "Content-Type",
        "text/plain",
        "X-Empty",
        "",
        "x-twice",
        "a",
        "X-Twice",
        "b",
        "Transfer-Encoding",
        "Chunked",
      ],
      isPersistent: true,
    });
  });

  it.each([
    ["a length", `${ok}Content-Length: 5\r\n\r\nhello`, "GET", "hello"],
    ["a length of nothing", `${ok}Content-Length: 0\r\n\r\n`, "GET", ""],
    ["HEAD, whatever it announces", `${ok}Content-Length: 5\r\n\r\n`, "HEAD", ""],
    ["204", "HTTP/1.1 204 No Content\r\n\r\n", "GET", ""],
    [
      "304 that tells the length of what it is not",
      "HTTP/1.1 304 Not Modified\r\nContent-Length: 5\r\n\r\n",
      "GET",
      "",
    ],
    ["an empty chunked body", `${chunkedHead}0\r\n\r\n`, "GET", ""],
  ])("ends by %s", (_, text, method, body) => {
    expect(read([text], method)).toMatchObject({ body, trailers: [], rest: undefined });
  });

  it.each([
    [`${ok}Content-Length: 2\r\n\r\nabX`, "X"],
    [`${chunkedHead}0\r\n\r\nHTTP/1.1 200 OK\r\n\r\n`, "HTTP/1.1 200 OK\r\n\r\n"],
    [`HTTP/1.1 204 No Content\r\n\r\nX`, "X"],
  ])("has nothing behind its end; what is there is told: %j", (text, rest) => {
    expect(read([text])).toMatchObject({ trailers: [], rest });
  });

  it("without a length ends with its connection, others are cut by that", () => {
    const { parser, heard } = listening();
    parser.execute(Buffer.from(`${ok}\r\nhalf`));
    parser.execute(Buffer.from(" and half"));
    expect(heard.trailers).toBeUndefined();
    parser.finish();

    expect(heard).toMatchObject({ body: "half and half", trailers: [] });
    expect(heard.heads[0]?.isPersistent).toBe(false);
    for (const text of ["", "HTTP", `${ok}Content-Length: 5\r\n\r\nhell`, `${chunkedHead}0\r\n`]) {
      const cut = listening();
      cut.parser.execute(Buffer.from(text));
      expect(() => cut.parser.finish()).toThrow("closed within the answer");
    }
  });

  it.each([
    ["Connection: close", `${ok}Connection: x, Close\r\nContent-Length: 0\r\n\r\n`],
    ["HTTP/1.0", "HTTP/1.0 200 OK\r\nConnection: keep-alive\r\nContent-Length: 0\r\n\r\n"],
    ["a body that 204 cannot have", "HTTP/1.1 204 No Content\r\nContent-Length: 5\r\n\r\n"],
    ["a phrase that is none", "HTTP/1.1 200 O\0K\r\nContent-Length: 0\r\n\r\n"],
  ])("is the last of its connection: %s", (_, text) => {
    expect(read([text]).heads[0]?.isPersistent).toBe(false);
  });

  it("changes the protocol if that was asked for, with what came behind it", () => {
    const text = "HTTP/1.1 101 Switching Protocols\r\nConnection: Upgrade\r\nUpgrade: WebSocket\r\n\r\n\x81\x00";

    expect(read([text], "GET", "websocket").upgraded).toBe("\x81\x00");
    expect(() => read([text])).toThrow("not asked for");
    expect(() => read([text.replace("WebSocket", "h2c")], "GET", "websocket")).toThrow("not asked for");
  });

  it("may be told to stop within, and says nothing more", () => {
    const { parser, heard } = listening();
    parser.execute(Buffer.from(`${ok}Content-Length: 5\r\n\r\nhe`));
    parser.stop();
    parser.execute(Buffer.from("llo"));

    expect(heard).toMatchObject({ body: "he", trailers: undefined });
  });
});

describe("what is refused", () => {
  it.each([
    ["nonsense", "nonsense\r\n\r\n"],
    ["nonsense that does not end", "nonsense"],
    ["another protocol's answer", "ICY 200 OK\r\n\r\n"],
    ["HTTP/2 in words", "HTTP/2 200 OK\r\n\r\n"],
    ["a status of two digits", "HTTP/1.1 20 OK\r\n\r\n"],
    ["a status of four digits", "HTTP/1.1 2000 OK\r\n\r\n"],
    ["a length and chunks", `${ok}Content-Length: 5\r\nTransfer-Encoding: chunked\r\n\r\n`],
    ["chunks and a length", `${ok}Transfer-Encoding: chunked\r\nContent-Length: 5\r\n\r\n`],
    ["two lengths", `${ok}Content-Length: 5\r\nContent-Length: 6\r\n\r\n`],
    ["the same length twice", `${ok}Content-Length: 5\r\ncontent-length: 5\r\n\r\n`],
    ["a list of lengths", `${ok}Content-Length: 5, 5\r\n\r\n`],
    ["a negative length", `${ok}Content-Length: -1\r\n\r\n`],
    ["a length with a sign", `${ok}Content-Length: +5\r\n\r\n`],
    ["a length in hex", `${ok}Content-Length: 0x5\r\n\r\n`],
    ["no length where one should be", `${ok}Content-Length: \r\n\r\n`],
    ["a length beyond all numbers", `${ok}Content-Length: 99999999999999999999\r\n\r\n`],
    ["another coding before chunks", `${ok}Transfer-Encoding: gzip, chunked\r\n\r\n`],
    ["another coding instead", `${ok}Transfer-Encoding: identity\r\n\r\n`],
    ["chunks twice", `${ok}Transfer-Encoding: chunked\r\nTransfer-Encoding: chunked\r\n\r\n`],
    ["chunks in HTTP/1.0", "HTTP/1.0 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n"],
    ["a space before the colon", `${ok}Content-Length : 5\r\n\r\n`],
    ["no name", `${ok}: value\r\n\r\n`],
    ["no colon", `${ok}value\r\n\r\n`],
    ["a folded line", `${ok}X-A: b\r\n c\r\n\r\n`],
    ["a nought in a header", `${ok}X-A: b\0\r\n\r\n`],
    ["a CR in a header", `${ok}X-A: b\rContent-Length: 5\r\n\r\n`],
    ["an LF in a header", `${ok}X-A: b\nContent-Length: 5\r\n\r\n`],
    ["an LF in the status line", "HTTP/1.1 200 OK\nX-A: b\r\n\r\n"],
    ["lines that end with LF, at once", "HTTP/1.1 200 OK\nContent-Length: 5\n\n"],
    ["an interim answer with a length", "HTTP/1.1 103 Early\r\nContent-Length: 5\r\n\r\n"],
    ["an interim answer that closes", "HTTP/1.1 103 Early\r\nConnection: close\r\n\r\n"],
    ["an interim answer of HTTP/1.0", "HTTP/1.0 103 Early\r\n\r\n"],
    ["a chunk without a size", `${chunkedHead}\r\nabc`],
    ["a chunk's size that is none", `${chunkedHead}x\r\n`],
    ["a chunk's size with a sign", `${chunkedHead}-1\r\n`],
    ["a chunk's size as C writes it", `${chunkedHead}0x1\r\n`],
    ["a space behind a chunk's size", `${chunkedHead}1 \r\n`],
    ["a chunk's size beyond all numbers", `${chunkedHead}ffffffffffffff\r\n`],
    ["a chunk's size that ends with LF", `${chunkedHead}1\na`],
    ["a control character in a chunk's extension", `${chunkedHead}1;\0\r\n`],
    ["an extension without an end", `${chunkedHead}1;${"a".repeat(2_000)}`],
    ["a chunk longer than its size", `${chunkedHead}1\r\nab\r\n`],
    ["a chunk that ends with LF", `${chunkedHead}1\r\na\n`],
    ["a length in the trailers", `${chunkedHead}0\r\nContent-Length: 5\r\n\r\n`],
    ["a trailer without a name", `${chunkedHead}0\r\n: x\r\n\r\n`],
    ["a head too large", `${ok}X-A: ${"a".repeat(140_000)}\r\n\r\n`],
    ["a head too large that does not end", `${ok}X-A: ${"a".repeat(140_000)}`],
    ["interim answers without end", "HTTP/1.1 103 Early\r\nLink: <x>\r\n\r\n".repeat(4_000)],
    ["trailers too large", `${chunkedHead}0\r\n${"a: b\r\n".repeat(30_000)}`],
  ])("%s", (_, text) => {
    const refusal = expect.objectContaining({ code: "HTTP1_BAD_ANSWER" }) as Error;

    expect(() => read([text])).toThrow(refusal);
    expect(() => read(text.match(/[^]{1,7}/g) ?? [])).toThrow(refusal);
  });
});
