import { expect, it } from "vitest";
import { shapeError } from "./error-shapes.ts";

const exhausted = { code: "pool_exhausted", status: 429, message: "wait", retryAfterMs: 40_200 };

it.each(["openai", "openai-compatible", "azure-openai"] as const)(
  "speaks OpenAI's shape to clients of kind %s",
  (kind) => {
    expect(shapeError(kind, exhausted)).toEqual({
      error: { message: "wait", type: "rate_limit_error", param: null, code: "pool_exhausted" },
    });
  },
);

it.each([
  [400, "invalid_request_error"],
  [401, "authentication_error"],
  [404, "not_found_error"],
  [413, "request_too_large"],
  [429, "rate_limit_error"],
  [502, "api_error"],
  [503, "api_error"],
  [504, "timeout_error"],
  [529, "overloaded_error"],
])("speaks Anthropic's shape: %i is %s", (status, type) => {
  expect(shapeError("anthropic", { code: "x", status, message: "m" })).toMatchObject({
    type: "error",
    error: { type, message: "m" },
  });
});

it("speaks Gemini's shape, with the wait where its clients look for it", () => {
  expect(shapeError("gemini", exhausted)).toMatchObject({
    error: {
      code: 429,
      status: "RESOURCE_EXHAUSTED",
      message: "wait",
      details: [
        { reason: "POOL_EXHAUSTED" },
        { "@type": "type.googleapis.com/google.rpc.RetryInfo", retryDelay: "41s" },
      ],
    },
  });
});
