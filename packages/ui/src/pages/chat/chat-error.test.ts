import { expect, it } from "vitest";
import { errorOf } from "./chat-error.ts";

function answer(status: number, body: unknown, headers: Record<string, string> = {}): Response {
  return new Response(typeof body === "string" ? body : JSON.stringify(body), { status, headers });
}

it("tells the gateway's own errors from the provider's by the header", async () => {
  const exhausted = { "x-keywheel-error": "pool_exhausted", "retry-after": "47" };

  const own = await errorOf(answer(429, { error: { message: "All rest." } }, exhausted));
  const theirs = await errorOf(answer(429, { error: { message: "Slow down." } }));

  expect(own).toMatchObject({ kind: "pool_exhausted", status: 429, message: "All rest." });
  expect(Date.parse(own.retryAt ?? "") - Date.now()).toBeGreaterThan(46_000);
  expect(theirs).toEqual({ kind: "provider", status: 429, message: "Slow down." });
});

it("keeps a code that has no words of its own as the gateway's", async () => {
  const headers = { "x-keywheel-error": "internal" };

  expect(await errorOf(answer(500, {}, headers))).toEqual({ kind: "gateway", status: 500, message: "" });
});

it.each([
  ["<!doctype html><h1>Bad gateway</h1>", ""],
  ["upstream sent nonsense", "upstream sent nonsense"],
  ["x".repeat(2_000), "x".repeat(600)],
])("shows of %j what a person can read", async (body, message) => {
  expect(await errorOf(answer(502, body))).toMatchObject({ kind: "provider", message });
});
