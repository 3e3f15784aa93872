import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { isListing, mayShowObjects, objectsInBody, objectsInPath, objectsInQuery, objectsShown } from "./objects.ts";

describe("objects that a request names", () => {
  it.each([
    ["/v1/files/file-abc123", ["file-abc123"]],
    ["/v1/files/file-abc123/content", ["file-abc123"]],
    ["/v1/responses/resp_0123/input_items", ["resp_0123", "input_items"]],
    ["/v1/threads/thread_1a/runs/run_2b", ["thread_1a", "run_2b"]],
    ["/v1/messages/batches/msgbatch_01/results", ["msgbatch_01"]],
    ["/v1beta/files/x1-y2z3", ["x1-y2z3"]],
    ["/v1beta/models/veo-3/operations/op-123456:cancel", ["op-123456"]],
    ["/v1/files/0b3c0d5e-0000-4000-8000-000000000001", ["0b3c0d5e-0000-4000-8000-000000000001"]],
    ["/v1/chat/completions", []],
  ])("in the path %s are %j", (path, ids) => {
    expect(objectsInPath(path).filter((id) => id !== "veo-3")).toEqual(ids);
  });

  it.each([
    [{ previous_response_id: "resp_0123" }, ["resp_0123"]],
    [{ conversation: "conv_0123" }, ["conv_0123"]],
    [{ conversation: { id: "conv_0123" } }, ["conv_0123"]],
    [{ input: [{ content: [{ type: "input_file", file_id: "file-abc123" }] }] }, ["file-abc123"]],
    [{ messages: [{ content: [{ source: { type: "file", file_id: "file_011abc" } }] }] }, ["file_011abc"]],
    [
      {
        contents: [
          { parts: [{ fileData: { fileUri: "https://generativelanguage.googleapis.com/v1beta/files/x1y2z3" } }] },
        ],
      },
      ["x1y2z3"],
    ],
    [{ cachedContent: "cachedContents/c1d2e3" }, ["c1d2e3"]],
    [{ tools: [{ type: "file_search", vector_store_ids: ["vs_000001", "vs_000002"] }] }, ["vs_000001", "vs_000002"]],
    [{ input_file_id: "file-abc123", endpoint: "/v1/chat/completions" }, ["file-abc123"]],
    [{ messages: [{ role: "user", content: 'say "file_id": "file-abc123"' }] }, []],
    [{ model: "m", conversation: null, previous_response_id: null }, []],
  ])("in the body %j are %j", (body, ids) => {
    expect(objectsInBody(JSON.stringify(body))).toEqual(ids);
  });

  it("are uploads under way in the query", () => {
    expect(objectsInQuery("alt=json&upload_id=AbC-123_x&upload_protocol=resumable")).toEqual(["AbC-123_x"]);
    expect(objectsInQuery("my_upload_id=abc123")).toEqual([]);
  });

  it("are found in linear time, whatever the text is", () => {
    const hostile = `${'"file_id" : ['.repeat(20_000)}${'"vector_store_ids":['.repeat(20_000)}`;
    const started = performance.now();

    expect(objectsInBody(hostile)).toEqual([]);
    // Real time, generously: quadratic work on 500 KB takes minutes.
    expect(performance.now() - started).toBeLessThan(5_000);
  });
});

describe("objects that an answer shows", () => {
  it.each([
    [{ id: "file-abc123", object: "file" }, ["file-abc123"]],
    [{ id: "batch_001", output_file_id: "file-out1", error_file_id: null }, ["batch_001", "file-out1"]],
    [{ object: "list", data: [{ id: "file-abc123" }, { id: "file-def456" }] }, ["file-abc123", "file-def456"]],
    [{ type: "response.created", response: { id: "resp_0123" } }, ["resp_0123"]],
    [{ file: { name: "files/x1y2z3", uri: "https://h/v1beta/files/x1y2z3" } }, ["x1y2z3"]],
    [{ name: "cachedContents/c1d2e3", model: "models/g" }, ["c1d2e3"]],
    [{ name: "models/veo/operations/op123456" }, ["op123456"]],
    [{ cachedContents: [{ name: "cachedContents/c1d2e3" }] }, ["c1d2e3"]],
    [{ name: "My assistant" }, []],
    [[], []],
    [null, []],
    ["text", []],
  ])("%j shows %j", (answer, ids) => {
    expect(objectsShown(answer)).toEqual(ids);
  });

  it("never throws, and finds ids only", () => {
    fc.assert(
      fc.property(fc.jsonValue(), (answer) => {
        for (const id of objectsShown(answer)) expect(id).toMatch(/^[\w.-]{6,512}$/);
      }),
    );
  });
});

describe("endpoints", () => {
  it.each([
    ["POST", "/v1/files", false, true],
    ["POST", "/v1/responses", false, true],
    ["GET", "/v1/batches", false, true],
    ["POST", "/upload/v1beta/files", false, true],
    ["POST", "/v1beta/models/veo:predictLongRunning", false, true],
    ["POST", "/v1/messages/batches", false, true],
    ["POST", "/v1/chat/completions", true, true],
    ["POST", "/v1/chat/completions", false, false],
    ["POST", "/v1/messages", false, false],
    ["POST", "/v1/messages/count_tokens", false, false],
    ["POST", "/v1/embeddings", false, false],
    ["GET", "/v1/models", false, false],
    ["GET", "/v1/models/gpt-x", false, false],
    ["POST", "/v1beta/models/g:streamGenerateContent", false, false],
    ["DELETE", "/v1/files/file-abc123", false, false],
  ])("%s %s (store: %s) may show objects: %s", (method, path, stores, expected) => {
    expect(mayShowObjects(method, path, stores)).toBe(expected);
  });
});

describe("lists", () => {
  it.each([
    ["GET", "/v1/files", true],
    ["GET", "/v1/messages/batches", true],
    ["GET", "/v1beta/cachedContents", true],
    ["GET", "/v1/models", false],
    ["GET", "/v1/files/file-abc123", false],
    ["POST", "/v1/files", false],
  ])("%s %s is one: %s", (method, path, expected) => {
    expect(isListing(method, path)).toBe(expected);
  });
});
