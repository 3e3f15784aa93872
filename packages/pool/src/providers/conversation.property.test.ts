import fc from "fast-check";
import { describe, expect, it } from "vitest";
import type { Conversation } from "./conversation/places.ts";
import { conversationReaders } from "./conversation-readers.test-bench.ts";

const encoder = new TextEncoder();

const words = fc.string({ unit: "binary", minLength: 1, maxLength: 40 });
const longWords = fc.tuple(words, fc.integer({ min: 1, max: 40 })).map(([text, times]) => text.repeat(times));
const part = fc.oneof(
  longWords.map((text) => ({ type: "text", text })),
  fc.record({ type: fc.constant("tool_use"), id: fc.string(), name: words, input: fc.jsonValue() }),
  fc.record({ type: fc.constant("tool_result"), tool_use_id: fc.string(), content: words }),
);
const content = fc.oneof(longWords, fc.array(part, { minLength: 1, maxLength: 3 }));
const exchange = fc.record({ answer: content, question: content });

/** The same value written otherwise: fields shuffled, space between, characters escaped, numbers spelled in other ways. */
function rewritten(value: unknown, random: () => number): string {
  const gap = (): string => ["", " ", "\n\t", "\r\n  "][Math.floor(random() * 4)] ?? "";
  if (typeof value === "string") return rewrittenText(value, random);
  if (typeof value === "number") return rewrittenNumber(value, random);
  if (Array.isArray(value)) return `${gap()}[${value.map((item) => rewritten(item, random)).join(",")}${gap()}]`;
  if (typeof value !== "object" || value === null) return `${gap()}${JSON.stringify(value)}${gap()}`;
  const fields = Object.entries(value).map(
    ([name, field]) => `${gap()}${rewrittenName(name, random)}${gap()}:${rewritten(field, random)}${gap()}`,
  );
  return `{${fields.toSorted(() => random() - 0.5).join(",")}}`;
}

/** Names of one character stay: Node 24's own `JSON.parse` takes `\\u0072` for a backslash in some states of the process. */
function rewrittenName(name: string, random: () => number): string {
  return name.length === 1 ? JSON.stringify(name) : rewrittenText(name, random);
}

function rewrittenText(text: string, random: () => number): string {
  const often = random();
  const escaped = Array.from({ length: text.length }, (_, i) => {
    const unit = text.charAt(i);
    if (unit === "/" && random() < often) return "\\/";
    if (random() > often) return undefined;
    return `\\u${unit.charCodeAt(0).toString(16).padStart(4, "0")}`;
  });
  // Both halves of a pair are escaped or neither: the bytes between cannot hold one half.
  for (let i = 1; i < text.length; i++) {
    if (/^[\ud800-\udbff][\udc00-\udfff]$/.test(text.slice(i - 1, i + 1))) escaped[i - 1] = escaped[i] = undefined;
  }
  let plain = "";
  let written = '"';
  for (const [i, escape] of escaped.entries()) {
    if (escape === undefined) plain += text.charAt(i);
    else {
      written += JSON.stringify(plain).slice(1, -1) + escape;
      plain = "";
    }
  }
  return `${written}${JSON.stringify(plain).slice(1, -1)}"`;
}

function rewrittenNumber(value: number, random: () => number): string {
  const text = JSON.stringify(value);
  if (random() < 0.5 || /e/.test(text)) return text;
  return text.includes(".") ? `${text}00e0` : `${text}.0E+00`;
}

function shuffle(seed: number): () => number {
  let state = seed | 1;
  return () => {
    state = Math.imul(state ^ (state >>> 15), 0x2c1b3c6d) + 0x9e3779b9;
    return ((state ^ (state >>> 13)) >>> 0) / 2 ** 32;
  };
}

describe.each(conversationReaders)("a conversation in %s", (_, { conversationOf }) => {
  function conversation(text: string): Conversation | undefined {
    return conversationOf("p", encoder.encode(text));
  }

  it("finds every turn of a conversation by the next one, however it grew", () => {
    fc.assert(
      fc.property(content, fc.array(exchange, { minLength: 1, maxLength: 12 }), (opening, exchanges) => {
        const messages: unknown[] = [{ role: "user", content: opening }];
        let before = conversation(JSON.stringify({ messages }));
        for (const { answer, question } of exchanges) {
          messages.push({ role: "assistant", content: answer }, { role: "user", content: question });
          const now = conversation(JSON.stringify({ messages }));

          expect(now?.lookups).toContainEqual(before?.binds[0]);
          before = now;
        }
      }),
      { numRuns: 60 },
    );
  });

  it("does not depend on how the same value is written", () => {
    fc.assert(
      fc.property(
        fc.array(fc.tuple(content, fc.jsonValue()), { minLength: 1, maxLength: 5 }),
        fc.integer(),
        (said, seed) => {
          const body = { system: "s", messages: said.map(([text, more]) => ({ role: "user", content: text, more })) };

          expect(conversation(rewritten(body, shuffle(seed)))).toEqual(conversation(JSON.stringify(body)));
        },
      ),
      { numRuns: 300 },
    );
  });

  it("tells a text from one that differs in a single character", () => {
    fc.assert(
      fc.property(longWords, fc.nat(), fc.constantFrom("\u0000", "\n", '"', "x", "é", ""), (text, place, other) => {
        const at = place % text.length;
        const changed = text.slice(0, at) + other + text.slice(at + 1);
        fc.pre(changed !== text && changed !== "");
        const bind = (words: string): unknown => conversation(JSON.stringify({ input: words }))?.binds[0];

        expect(bind(changed)).not.toEqual(bind(text));
      }),
      { numRuns: 300 },
    );
  });

  it("reads a text the same wherever it stands in the bytes", () => {
    fc.assert(
      fc.property(longWords, fc.nat(20), (text, shift) => {
        const body = JSON.stringify({ messages: [{ role: "user", content: text }] });
        const bytes = encoder.encode(" ".repeat(shift) + body + " ".repeat(shift % 7));
        const framed = new Uint8Array([1, ...bytes, 2]).subarray(1, 1 + bytes.length);

        expect(conversationOf("p", framed)).toEqual(conversation(body));
      }),
    );
  });

  it("never throws, whatever the bytes", () => {
    const pieces = fc.constantFrom(
      '{"messages":[',
      '{"role":"user",',
      '"content":',
      '"a\\',
      "u00e9",
      '"',
      "[",
      "]",
      "{",
      "}",
      ",",
      ":",
      "1",
      "-",
      "e5",
      ".5",
      "true",
      "null",
      "\\ud83d",
      " ",
    );
    const broken = fc.array(pieces, { maxLength: 40 }).map((list) => encoder.encode(list.join("")));

    fc.assert(
      fc.property(fc.oneof(fc.uint8Array({ maxLength: 200 }), broken), (bytes) => {
        expect(() => conversationOf("p", bytes)).not.toThrow();
      }),
      { numRuns: 2_000 },
    );
  });

  it("has nothing to say of what is not JSON, unless it was passed over", () => {
    const body = JSON.stringify({ messages: [{ role: "user", content: [{ n: [1.5, true, null, "é\n"] }] }] });
    fc.assert(
      fc.property(fc.nat(body.length - 1), fc.constantFrom("", "x", '"', "{", "]", ",", "0"), (at, piece) => {
        const text = body.slice(0, at) + piece + body.slice(at + 1);
        fc.pre(!isJson(text));

        expect(conversation(text)).toBeUndefined();
      }),
      { numRuns: 500 },
    );
  });
});

function isJson(text: string): boolean {
  try {
    JSON.parse(text);
    return true;
  } catch {
    return false;
  }
}
