import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { jsonValue, scanFields, stringValue } from "./json-scan.ts";

const wanted = new Set(["model", "metadata", "session_id"]);

/** UTF-8 for texts without characters beyond ASCII. */
function bytesOf(text: string): Uint8Array {
  return Uint8Array.from(text, (character) => character.charCodeAt(0));
}

describe("scanFields", () => {
  it("reads top-level fields before and behind a long history, and none inside it", () => {
    const body = {
      model: "m-1",
      messages: [{ role: "user", content: 'a "quoted" \\ text with "session_id": "no"', session_id: "inner" }],
      session_id: "s-1",
      metadata: { user_id: "{}" },
    };

    const found = scanFields(bytesOf(JSON.stringify(body)), wanted);

    expect(stringValue(found.get("model"))).toBe("m-1");
    expect(stringValue(found.get("session_id"))).toBe("s-1");
    expect(jsonValue(found.get("metadata"))).toEqual({ user_id: "{}" });
  });

  it("agrees with JSON.parse on the fields of any object", () => {
    fc.assert(
      fc.property(
        fc.dictionary(fc.constantFrom("model", "metadata", "x", "y"), fc.jsonValue({ maxDepth: 4 })),
        (value) => {
          const text = JSON.stringify(value, undefined, 1).replace(/[^\n\x20-\x7e]/g, "?");
          const found = scanFields(bytesOf(text), wanted, 1_000_000);
          const parsed = JSON.parse(text) as Record<string, unknown>;
          for (const name of ["model", "metadata"]) {
            expect(found.has(name)).toBe(Object.hasOwn(parsed, name));
            expect(found.has(name) ? jsonValue(found.get(name)) : undefined).toEqual(parsed[name]);
          }
        },
      ),
    );
  });

  it("never throws nor runs on, whatever the bytes are", () => {
    fc.assert(
      fc.property(fc.uint8Array({ maxLength: 300 }), fc.boolean(), (bytes, framed) => {
        const input = framed ? Uint8Array.from([0x7b, 0x22, ...bytes]) : bytes;
        expect(scanFields(input, wanted).size).toBeLessThanOrEqual(wanted.size);
      }),
    );
  });

  it.each(["", "[]", "nonsense", "{", '{"model"', '{"model":', '{"model":"x', '{"a":1 "model":"x"}', '{"model" "x"}'])(
    "finds nothing in %s",
    (text) => {
      expect(scanFields(bytesOf(text), wanted).size).toBe(0);
    },
  );

  it("passes over a value that is larger than it may be", () => {
    const text = JSON.stringify({ session_id: "x".repeat(20_000), model: "m" });

    expect([...scanFields(bytesOf(text), wanted).keys()]).toEqual(["model"]);
  });
});
