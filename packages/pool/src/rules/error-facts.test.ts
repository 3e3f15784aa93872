import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { anAnswer } from "../../../testkit/src/provider-answers.ts";
import { type ErrorFacts, readErrorFacts } from "./error-facts.ts";

function factsOf(body: unknown, headers: Record<string, string> = {}): ErrorFacts {
  return readErrorFacts(anAnswer({ status: 400, headers, body }));
}

describe("envelopes of errors", () => {
  it.each([
    ["OpenAI", { error: { message: "m", type: "t", param: null, code: "c" } }, ["c", "t"]],
    ["Anthropic", { type: "error", error: { type: "t", message: "m", details: { error_code: "d" } } }, ["d", "t"]],
    [
      "Gemini",
      { error: { code: 400, message: "m", status: "S", details: [{ "@type": "x.ErrorInfo", reason: "R" }] } },
      ["R", "400", "S"],
    ],
    ["Gemini in an array", [{ error: { code: 400, message: "m", status: "S" } }], ["400", "S"]],
    ["Gemini Interactions", { error: { code: "invalid_request", message: "m" } }, ["invalid_request"]],
    [
      "Azure's content filter",
      { error: { message: "m", type: null, code: "content_filter", innererror: { code: "I" } } },
      ["content_filter", "I"],
    ],
    ["Azure API Management", { statusCode: 401, message: "m" }, []],
    ["OpenRouter", { error: { code: 402, message: "m", metadata: { error_type: "e" } } }, ["402", "e"]],
    [
      "OpenRouter's availability",
      { error: { error_type: "e", http_status: 429, message: "m", availability: { code: "a" } } },
      ["e", "a"],
    ],
    ["Mistral", { object: "error", message: "m", type: "t", param: null, code: "1300" }, ["1300", "t"]],
    ["Mistral's validation", { object: "error", message: { detail: [{ msg: "m" }] }, type: "t" }, ["t"]],
    ["xAI", { code: "A sentence", error: "m" }, ["A sentence"]],
    ["xAI's speech", { error: "m" }, []],
    ["Fireworks' front door", { fault: { faultstring: "m", detail: { errorcode: "e" } } }, ["e"]],
    ["Moonshot", { error: { type: "t", message: "m" } }, ["t"]],
    ["Zhipu", { error: { code: "1302", message: "m" }, request_id: "r" }, ["1302"]],
    ["DashScope's native form", { code: "Throttling", message: "m", request_id: "r" }, ["Throttling"]],
    ["SiliconFlow", { code: 30001, message: "m", data: null }, ["30001"]],
    ["Cohere", { id: "x", message: "m" }, []],
    ["NIM", { status: 404, title: "Not Found", detail: "m" }, ["404"]],
    ["Ollama", { error: "m" }, []],
    ["FastAPI", { detail: [{ loc: ["body"], msg: "m", type: "t" }] }, []],
    ["a gateway around a gateway", { error: { error: { message: "m", code: "c" } } }, ["c"]],
    [
      "a failed response in a stream",
      { type: "response.failed", response: { error: { code: "c", message: "m" } } },
      ["c"],
    ],
    [
      "a failed run",
      { type: "error", error: { object: "thread.run", last_error: { code: "c", message: "m" } } },
      ["c"],
    ],
    ["a flat error event", { type: "error", code: "c", message: "m", sequence_number: 2 }, ["c"]],
    ["a list of errors", { success: false, errors: [{ code: 7003, message: "m" }] }, ["7003"]],
    ["plain text", "m", []],
    ["a JSON string", '"m"', []],
  ])("reads %s", (_, body, codes) => {
    const facts = factsOf(body);

    expect(facts.message).toBe("m");
    expect(facts.codes).toEqual(codes);
  });

  it.each([
    ["a numeric code", { error: { code: 429 } }, 429],
    ["a status as a string", { error: { code: "401" } }, 401],
    ["http_status", { error: { http_status: 503 } }, 503],
    ["no status in an inner code", { error: { code: 1302 } }, undefined],
    ["no status in a success", { error: { code: 200 } }, undefined],
  ])("finds %s", (_, body, status) => {
    expect(factsOf(body).status).toBe(status);
  });

  it("has nothing to say of an empty body", () => {
    expect(factsOf("")).toMatchObject({ codes: [], message: undefined, isPage: false });
  });

  it("reads the codes of a body that was cut off", () => {
    const body = JSON.stringify({ error: { code: "insufficient_quota", message: "x".repeat(100_000) } }).slice(
      0,
      65_536,
    );

    expect(factsOf(body).codes).toEqual(["insufficient_quota"]);
    expect(factsOf(body).message).toHaveLength(4096);
  });

  it("looks for phrases in the error, not in what the request said", () => {
    const facts = factsOf({ error: { message: "Bad request", param: "limit: 0" }, input: "prompt is too long" });

    expect(facts.words).not.toContain("too long");
  });

  it.each([
    ["limit: 0, model: gemini-x", true],
    ["limit: 0\nPlease retry", true],
    ["limit: 0.", true],
    ["limit: 0.5", false],
    ["limit: 05", false],
    ["limit: 10", false],
  ])("reads the quota of %j", (message, isZero) => {
    expect(factsOf({ error: { message } }).marks.includes("quota_zero")).toBe(isZero);
  });
});

describe("pages", () => {
  it.each([
    ["an HTML content type", "blocked", { "content-type": "text/html; charset=UTF-8" }],
    ["a body that begins as HTML", "  <!DOCTYPE html><html>", {}],
    ["upper case", "<HTML><head>", {}],
    ["an edge that says so", '{"error":"x"}', { "CF-Mitigated": "challenge" }],
  ])("are known by %s", (_, body, headers) => {
    expect(factsOf(body, headers).isPage).toBe(true);
  });

  it("are not JSON that is labelled as HTML", () => {
    const facts = factsOf({ error: { code: "c" } }, { "content-type": "text/html" });

    expect(facts).toMatchObject({ isPage: false, codes: ["c"] });
  });
});

describe("reading what anybody may send", () => {
  it("never throws", () => {
    const nasty = fc.oneof(
      fc.string(),
      fc.json(),
      fc.json().map((text) => `{"error":${text}}`),
      errorLike.map((error) => JSON.stringify(error)),
    );
    fc.assert(
      fc.property(nasty, fc.nat(), (text, cut) => {
        factsOf(text);
        factsOf(text.slice(0, cut % (text.length + 1)));
      }),
    );
  });

  it.each([
    ["brackets", "[".repeat(65_536)],
    ["objects in objects", '{"error":'.repeat(7_000)],
    ["quotes and backslashes", '{"a":"' + '\\"'.repeat(32_000)],
    ["commas", "[" + "1,".repeat(32_000)],
    ["near misses of a phrase", JSON.stringify({ error: { message: "limit: 0.".repeat(7_000) } })],
    ["digits", JSON.stringify({ error: { message: `try again in ${"1".repeat(60_000)}` } })],
  ])("takes no time for %s", (_, text) => {
    const started = performance.now();

    factsOf(text);

    expect(performance.now() - started).toBeLessThan(500);
  });
});

const scalar = fc.oneof(fc.string(), fc.integer(), fc.double(), fc.constant(null), fc.boolean(), fc.jsonValue());
const errorLike = fc.dictionary(
  fc.constantFrom(
    "error",
    "message",
    "code",
    "type",
    "status",
    "details",
    "metadata",
    "availability",
    "response",
    "detail",
  ),
  fc.oneof(
    scalar,
    fc.dictionary(fc.constantFrom("message", "code", "headers", "reasons", "details", "raw", "error"), scalar),
    fc.array(fc.dictionary(fc.constantFrom("reason", "violations", "retryDelay", "metadata", "msg"), scalar)),
  ),
);
