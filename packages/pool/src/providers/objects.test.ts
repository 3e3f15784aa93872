import fc from "fast-check";
import { describe, expect, it } from "vitest";
import {
  isListing,
  mayShowObjects,
  objectInLocation,
  objectInModel,
  objectsInBody,
  objectsInPath,
  objectsInQuery,
  objectsShown,
} from "./objects.ts";

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
    expect(objectsInQuery("id=gen-0123456789")).toEqual(["gen-0123456789"]);
  });

  it.each([
    ["openings of lists", '"vector_store_ids":[', ""],
    ["openings of lists of texts", '"vector_store_ids":["', ""],
    ["openings of objects", '"conversation":{"id":', ""],
    ["openings of ids", '"file_id":"', ""],
    ["space", " ", '"file_id"'],
    ["a list without an end", '"abcdefgh",', '"file_ids":['],
  ])("are found in linear time: %s", (_, piece, start) => {
    const timeOf = (count: number): number => {
      const text = start + piece.repeat(count);
      // Of the processor, not of the wall: other programs take turns with this one. It is counted in steps of milliseconds.
      const times = Array.from({ length: 3 }, () => {
        const started = process.cpuUsage();
        for (let n = 0; n < 10; n++) expect(objectsInBody(text).length).toBeLessThan(100);
        const { user, system } = process.cpuUsage(started);
        return (user + system) / 1_000;
      });
      return Math.min(...times);
    };
    timeOf(10_000);

    // Eight times as much, and a little for what does not grow; quadratic work would take 64 times as long.
    expect(timeOf(80_000)).toBeLessThan(24 * timeOf(10_000) + 5);
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
    [
      { output: [{ type: "code_interpreter_call", container_id: "cntr_0123" }], id: "resp_0123" },
      ["resp_0123", "cntr_0123"],
    ],
    [{ object: "conversation.response", conversation_id: "conv_0123" }, ["conv_0123"]],
    [{ output: { task_id: "0b3c0d5e-0001", task_status: "PENDING" } }, ["0b3c0d5e-0001"]],
    [{ request_id: "d97415a1-5796" }, ["d97415a1-5796"]],
    [{ requestId: "req_video1" }, ["req_video1"]],
    [{ id: "msg_0123", container: { id: "container_01", expires_at: "x" } }, ["msg_0123", "container_01"]],
    [{ id: "ftjob-abc", fine_tuned_model: "ft:gpt-x:acme::abc123" }, ["ftjob-abc", "ft:gpt-x:acme::abc123"]],
    [
      {
        data: [{ id: "msg_0123", content: [{ text: { annotations: [{ file_citation: { file_id: "file-abc1" } }] } }] }],
      },
      ["msg_0123", "file-abc1"],
    ],
    [{ id: "resp_0123", output: [{ content: [{ text: 'say "file_id": "file-abc1"' }] }] }, ["resp_0123"]],
    [{ name: "My assistant" }, []],
    [[], []],
    [null, []],
    ["text", []],
  ])("%j shows %j", (answer, ids) => {
    expect(objectsShown(JSON.stringify(answer))).toEqual(ids);
  });

  it("never throws, and finds ids only", () => {
    fc.assert(
      fc.property(fc.jsonValue(), (answer) => {
        for (const id of objectsShown(JSON.stringify(answer))) expect(id).toMatch(/^(ft:)?[\w.:-]{6,512}$/);
      }),
    );
  });
});

describe("of an answer that is cut", () => {
  it("every object counts that has an id", () => {
    const text = '{"object": "list", "data": [{"id": "file-abc123", "bytes": 1}, {"id": "file-def456", "by';
    expect(objectsShown(text)).toEqual(["file-abc123", "file-def456"]);
  });
});

describe("the place of what was made", () => {
  it.each([
    ["/v1/realtime/calls/rtc_0123", ["rtc_0123"]],
    ["https://res.openai.azure.com/openai/operations/images/f508bcf2?api-version=2026-01-01", ["f508bcf2"]],
    ["/", []],
  ])("%s names %j", (location, ids) => {
    expect(objectInLocation(location)).toEqual(ids);
  });
});

describe("a model", () => {
  it.each([
    ["ft:gpt-x:acme::abc123", ["ft:gpt-x:acme::abc123"]],
    ["gpt-5-mini", []],
  ])("%s names %j", (model, ids) => {
    expect(objectInModel(model)).toEqual(ids);
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
    expect(mayShowObjects(method, path, new Map([["store", String(stores)]]), "{}")).toBe(expected);
  });

  it("may show objects where they say so in the request: what is deferred, a container that runs code", () => {
    expect(mayShowObjects("POST", "/v1/chat/completions", new Map([["deferred", "true"]]))).toBe(true);
    const tools = JSON.stringify({ tools: [{ type: "code_execution_20250825", name: "code_execution" }] });
    expect(mayShowObjects("POST", "/v1/messages", new Map(), tools)).toBe(true);
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
