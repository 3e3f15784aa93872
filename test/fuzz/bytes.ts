import fc from "fast-check";
import type { RawMessage } from "./raw-socket.ts";

/** Any bytes, as latin1. */
export const garbage = fc.uint8Array({ maxLength: 64 }).map((bytes) => Buffer.from(bytes).toString("latin1"));

/** One of the texts nine times of ten, garbage else. */
export function oftenOf(...texts: readonly string[]): fc.Arbitrary<string> {
  return fc.oneof({ weight: 9, arbitrary: fc.constantFrom(...texts) }, { weight: 1, arbitrary: garbage });
}

/** Line ends as they should be, mostly. */
const lineEnd = fc.oneof(
  { weight: 12, arbitrary: fc.constant("\r\n") },
  fc.constantFrom("\n", "\r", "\r\r\n", "\0\r\n"),
);

/** A field line: mostly well formed. */
export function fieldLine(name: fc.Arbitrary<string>, value: fc.Arbitrary<string>): fc.Arbitrary<string> {
  const separator = fc.oneof(
    { weight: 20, arbitrary: fc.constant(": ") },
    fc.constantFrom(":", " : ", "", "\t", ":\r\n "),
  );
  return fc.tuple(name, separator, value, lineEnd).map((parts) => parts.join(""));
}

/** A chunked body of these texts, its sizes and ends now and then wrong. */
export function chunked(content: fc.Arbitrary<string>): fc.Arbitrary<string> {
  const size = (text: string): fc.Arbitrary<string> =>
    fc.oneof(
      { weight: 15, arbitrary: fc.constant(text.length.toString(16)) },
      fc.constantFrom(
        "ffffffffffffffffff",
        "-1",
        "0x5",
        "",
        "5 ",
        "7fffffff",
        "1;name=value",
        "1;\0",
        "g",
        "00000000005",
      ),
    );
  const chunk = content
    .chain((text) => fc.tuple(size(text), lineEnd, fc.constant(text), lineEnd))
    .map((parts) => parts.join(""));
  const last = fc.oneof(
    { weight: 8, arbitrary: fc.constant("0\r\n\r\n") },
    fc.constantFrom(
      "",
      "0\r\n",
      "0\r\nX-Trailer: 1\r\n\r\n",
      "0\r\nContent-Length: 9\r\n\r\n",
      "0\n\n",
      "00\r\n:\r\n\r\n",
    ),
  );
  return fc.tuple(fc.array(chunk, { maxLength: 4 }), last).map(([chunks, end]) => chunks.join("") + end);
}

/** One change to bytes that were right, so that what is nearly right comes up often. */
interface Mutation {
  readonly kind: "cut" | "drop" | "double" | "put" | "none";
  readonly at: number;
  readonly length: number;
  readonly text: string;
}

const mutation: fc.Arbitrary<Mutation> = fc.record({
  kind: fc.constantFrom<Mutation["kind"]>("cut", "drop", "double", "put", "none", "none", "none", "none"),
  at: fc.double({ min: 0, max: 1, noNaN: true }),
  length: fc.nat(16),
  text: fc.oneof(garbage, fc.constantFrom("\r\n", "\r\n\r\n", "\0", ":", "0\r\n\r\n", "\xff\xfe", "a".repeat(70_000))),
});

function mutate(bytes: string, { kind, at, length, text }: Mutation): string {
  const place = Math.floor(at * bytes.length);
  switch (kind) {
    case "cut":
      return bytes.slice(0, place);
    case "drop":
      return bytes.slice(0, place) + bytes.slice(place + length);
    case "double":
      return bytes.slice(0, place) + bytes.slice(place, place + length).repeat(2) + bytes.slice(place + length);
    case "put":
      return bytes.slice(0, place) + text + bytes.slice(place);
    case "none":
      return bytes;
  }
}

/** These bytes, changed at most a little, in pieces of any size. */
export function messageOf(bytes: fc.Arbitrary<string>, end: fc.Arbitrary<RawMessage["end"]>): fc.Arbitrary<RawMessage> {
  const cuts = fc.array(fc.double({ min: 0, max: 1, noNaN: true }), { maxLength: 4 });
  return fc.tuple(bytes, mutation, cuts, end).map(([text, change, places, how]) => {
    const changed = mutate(text, change);
    const offsets = [
      ...places.map((place) => Math.floor(place * changed.length)).sort((a, b) => a - b),
      changed.length,
    ];
    const pieces = offsets.map((offset, at) => changed.slice(offsets[at - 1] ?? 0, offset));
    return { pieces: pieces.filter((piece) => piece !== ""), end: how };
  });
}
