import { expect, it } from "vitest";
import type { RequestRecord } from "../../data-plane/request-record.ts";
import { createLog } from "../../telemetry/log.ts";
import { logRequest } from "./access-log.ts";

const record: RequestRecord = {
  requestId: "req_1",
  providerId: "prv_1",
  slug: "openai",
  method: "POST",
  path: "/v1/chat/completions",
  startedAt: 0,
  durationMs: 12.6,
  requestBytes: 1,
  attempts: [],
  status: 200,
  ending: "completed",
  keyId: "key_a",
};

/** The line that is written of a request, as the object that it is. */
function lineOf(changes: Partial<RequestRecord>): unknown {
  const lines: string[] = [];
  const { entry } = createLog({
    level: "info",
    format: "json",
    color: false,
    fields: { worker: 2 },
    redact: (line) => line,
    sink: (line) => lines.push(line),
  });
  logRequest(entry, { ...record, ...changes }, (text) => text.replaceAll("hunter2", "[redacted]"));
  expect(lines).toHaveLength(1);
  expect(lines[0]).toMatch(/^\{[^\n]*\}\n$/);
  return JSON.parse(lines[0] ?? "");
}

it("is a line of JSON like any other, with the time in UTC", () => {
  expect(lineOf({})).toEqual({
    level: "info",
    time: expect.stringMatching(/^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z$/) as string,
    worker: 2,
    request: "req_1",
    method: "POST",
    path: "/openai/v1/chat/completions",
    status: 200,
    ms: 13,
    key: "key_a",
    msg: "Request",
  });
});

it("quotes and redacts what a client chooses, and shortens it", () => {
  const odd = `/"}\\ü\u2028 hunter2 ${"x".repeat(300)}`;

  const line = lineOf({ path: odd, sessionId: `a"b hunter2` }) as { path: string; session: string };

  expect(line.path).toMatch(/^\/openai\/"\}\\ü\u2028 \[redacted\] x+…$/);
  expect(line.path).toHaveLength(201);
  expect(line.session).toBe(`a"b [redacted]`);
});

it("tells of failures: what was tried, the error, how it ended; our own faults as errors", () => {
  const attempt = { keyId: "key_a", why: "turn", passedOver: [], startedAt: 0, durationMs: 1, status: 429 } as const;
  const attempts = [
    { ...attempt, outcome: "rate_limited" },
    { ...attempt, keyId: "key_b", outcome: "ok" },
  ];

  expect(lineOf({ attempts, ending: "truncated" })).toMatchObject({
    level: "info",
    attempts: ["key_a rate_limited", "key_b ok"],
    ending: "truncated",
  });
  expect(lineOf({ error: "internal", status: 500 })).toMatchObject({ level: "error", error: "internal", status: 500 });
});
