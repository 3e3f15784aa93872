import { describe, expect, it } from "vitest";
import type { SessionRef } from "../ports/shared-state.ts";
import { scanFields } from "./json-scan.ts";
import { sessionFields, sessionHeaders, sessionOf, sessionValueHash } from "./sessions.ts";

const claudeUser = `user_${"a1".repeat(32)}_account__session_0193a5f0-7c1e-7000-8000-000000000001`;

function session(headers: Readonly<Record<string, string>>, body: object = {}, scope = "p"): SessionRef | undefined {
  const bytes = Uint8Array.from(JSON.stringify(body), (character) => character.charCodeAt(0));
  return sessionOf(scope, (name) => headers[name], scanFields(bytes, new Set(sessionFields)));
}

describe("a session", () => {
  it.each(sessionHeaders)("is carried by the header %s", (name) => {
    expect(session({ [name]: "abc" })).toMatchObject({ carrier: name, valueHash: sessionValueHash("abc") });
  });

  it.each([
    ["body.session_id", { session_id: "s-1" }, "s-1"],
    ["body.litellm_session_id", { litellm_session_id: "s-1" }, "s-1"],
    ["body.metadata", { metadata: { session_id: "s-1" } }, "s-1"],
    ["body.metadata", { metadata: { user_id: JSON.stringify({ device_id: "d", session_id: "s-1" }) } }, "s-1"],
    ["body.metadata", { metadata: { user_id: claudeUser } }, "0193a5f0-7c1e-7000-8000-000000000001"],
    ["body.conversation", { conversation: "conv_1" }, "conv_1"],
    ["body.conversation", { conversation: { id: "conv_1" } }, "conv_1"],
    ["body.prompt_cache_key", { prompt_cache_key: "k-1" }, "k-1"],
  ])("is carried by %s: %j", (carrier, body, value) => {
    expect(session({}, body)).toMatchObject({ carrier, valueHash: sessionValueHash(value) });
  });

  it.each([
    ["a person", { user: "u-1" }],
    ["a person", { safety_identifier: "u-1" }],
    ["a person", { metadata: { user_id: "u-1" } }],
    ["nobody", { session_id: "" }],
    ["nobody", { session_id: 5, metadata: null, conversation: [] }],
  ])("is not what names %s: %j", (_, body) => {
    expect(session({}, body)).toBeUndefined();
  });

  it.each(["x-request-id", "x-client-request-id", "traceparent", "x-portkey-trace-id"])(
    "is not the name of one request: %s (case 81)",
    (name) => {
      expect(session({ [name]: "abc" })).toBeUndefined();
    },
  );

  it("is named by our own header before all others, by headers before the body", () => {
    const all = { "x-keywheel-session": "own", "x-claude-code-session-id": "claude" };

    expect(session(all, { session_id: "body" })?.carrier).toBe("x-keywheel-session");
    expect(session({ "x-claude-code-session-id": "claude" }, { session_id: "body" })?.carrier).toBe(
      "x-claude-code-session-id",
    );
  });

  it("keeps its own name only in our own header, and only if that can be shown", () => {
    expect(session({ "x-keywheel-session": "chat-42" })?.id).toBe("chat-42");
    expect(session({ "x-claude-code-session-id": "chat-42" })?.id).toMatch(/^ses_[0-9a-f]{16}$/);
    expect(session({ "x-keywheel-session": "x".repeat(300) })?.id).toMatch(/^ses_/);
    expect(session({ "x-keywheel-session": "a b" })?.id).toMatch(/^ses_/);
  });

  it("of the same value is another one under another scope or carrier", () => {
    const prints = [
      session({ "x-keywheel-session": "s" }),
      session({ "x-keywheel-session": "s" }, {}, "q"),
      session({ "x-session-id": "s" }),
    ].map((each) => `${each?.fingerprint.high} ${each?.fingerprint.low}`);

    expect(new Set(prints).size).toBe(3);
  });

  it("is none when the value is empty or absurdly long", () => {
    expect(session({ "x-keywheel-session": "  " })).toBeUndefined();
    expect(session({ "x-keywheel-session": "x".repeat(2_000) })).toBeUndefined();
  });

  it("is whole in a copy of it, and in its JSON: it is handed to other processes", () => {
    const named = session({ "x-session-id": "abc" });
    const whole = {
      id: named?.id,
      carrier: "x-session-id",
      fingerprint: named?.fingerprint,
      valueHash: sessionValueHash("abc"),
    };

    expect(structuredClone(named)).toEqual(whole);
    expect(JSON.parse(JSON.stringify(named))).toEqual(whole);
  });
});
