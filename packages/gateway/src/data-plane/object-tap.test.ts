import { gzipSync } from "node:zlib";
import { describe, expect, it } from "vitest";
import { ObjectTap } from "./object-tap.ts";
import type { StreamedAnswer } from "./streamed-answer.ts";

function anAnswer(headers: Readonly<Record<string, string | undefined>>): StreamedAnswer {
  return { status: 200, header: (name: string) => headers[name] } as unknown as StreamedAnswer;
}

function inPieces(bytes: Buffer, count: number): Buffer[] {
  const place = (n: number): number => Math.floor((n * bytes.length) / count);
  return Array.from({ length: count }, (_, n) => bytes.subarray(place(n), place(n + 1)));
}

describe("an object", () => {
  it.each([
    ["as it is", undefined],
    ["in gzip", "gzip"],
  ])("is looked for in a long stream of small pieces without keeping anybody waiting, %s", (_, coding) => {
    const events = Array.from(
      { length: 4_000 },
      (__, n) => `data: {"type":"response.delta","delta":"word ${n} ${n * n}"}\n\n`,
    );
    const last = 'data: {"type":"response.completed","response":{"id":"resp_late01"}}\n\n';
    const bytes = coding ? gzipSync(events.join("") + last) : Buffer.from(events.join("") + last);
    const pieces = Array.from({ length: 3_000 }, (__, n) =>
      bytes.subarray(Math.floor((n * bytes.length) / 3_000), Math.floor(((n + 1) * bytes.length) / 3_000)),
    );
    const answer = {
      status: 200,
      header: (name: string) => ({ "content-type": "text/event-stream", "content-encoding": coding })[name],
    } as unknown as StreamedAnswer;
    const learnt: string[] = [];
    const tap = new ObjectTap(answer, (ids) => learnt.push(...ids));
    const started = performance.now();

    for (const piece of pieces) tap.push(piece);
    tap.end();

    expect(learnt).toEqual(["resp_late01"]);
    // Real time, generously: reading all of it anew at each piece took ten times as long.
    expect(performance.now() - started).toBeLessThan(1_000);
  });

  it.each(["\n", "\r\n", "\r"])(
    "is learnt from an event as it comes, cut anywhere, with lines that end in %j",
    (end) => {
      const text = `event: a${end}data: {"id":"resp_0123"}${end}${end}data: {"item":{"container_id":"cntr_0123"}}${end}${end}`;
      for (const count of [1, 2, 3, 7, text.length]) {
        const learnt: string[] = [];
        const tap = new ObjectTap(anAnswer({ "content-type": "text/event-stream" }), (ids) => learnt.push(...ids));
        for (const piece of inPieces(Buffer.from(text), count)) tap.push(piece);
        expect(learnt).toEqual(["resp_0123", "cntr_0123"]);
      }
    },
  );

  it("is learnt from JSON with its last byte, whatever pieces it came in", () => {
    const bytes = Buffer.from(JSON.stringify({ data: [{ id: "file-abc123" }, { id: "file-def456" }] }));
    const headers = { "content-type": "application/json", "content-length": String(bytes.length) };
    for (const count of [1, 2, bytes.length]) {
      const learnt: string[][] = [];
      const tap = new ObjectTap(anAnswer(headers), (ids) => learnt.push([...ids]));
      for (const piece of inPieces(bytes, count)) tap.push(piece);
      expect(learnt).toEqual([["file-abc123", "file-def456"]]);
      tap.end();
      expect(learnt).toHaveLength(1);
    }
  });
});
