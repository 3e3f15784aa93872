import { expect, it } from "vitest";
import { changesBetween, remembering, type Scene } from "./narrator.ts";

type Key = Scene["keys"][number];

const now = Date.parse("2026-11-30T12:00:00Z");
const key = (label: string, status: Key["status"] = "available", httpStatus = 0): Key => ({
  id: `key_${label}`,
  label,
  status,
  cooldown_until: status === "cooling_down" ? new Date(now + 12_000).toISOString() : null,
  status_reason:
    httpStatus === 0
      ? null
      : { code: "rate_limited", http_status: httpStatus, message: null, at: "", wait: null, shared_from: null },
});
const session = (id: string, label: string) => ({ id, key_id: `key_${label}` });

it("says which key rests and where its chats went", () => {
  const before: Scene = { keys: [key("Ada"), key("Ben")], sessions: [session("essay", "Ben"), session("quiz", "Ada")] };
  const after: Scene = {
    keys: [key("Ada"), key("Ben", "cooling_down", 429)],
    sessions: [session("essay", "Ada"), session("quiz", "Ada")],
  };

  expect(changesBetween(before, after, now)).toEqual([
    "Ben's key got a 429 and rests for 12 s. The request that met it went on with the next key.",
    'Moved, and the client noticed nothing: "essay" from Ben to Ada.',
  ]);
  expect(changesBetween(after, before, now)[0]).toBe("Ben's key is available again and takes its turns.");
});

it("knows a chat again that was with no key for a while", () => {
  const before: Scene = { keys: [key("Ada"), key("Ben")], sessions: [session("essay", "Ben")] };
  const between: Scene = { keys: [key("Ada"), key("Ben", "cooling_down", 429)], sessions: [] };
  const after: Scene = { ...between, sessions: [session("essay", "Ada")] };

  expect(changesBetween(remembering(before, between), after, now)).toEqual([
    'Moved, and the client noticed nothing: "essay" from Ben to Ada.',
  ]);
});

it("says which key is refused", () => {
  const before: Scene = { keys: [key("Cleo")], sessions: [] };
  const after: Scene = { keys: [key("Cleo", "disabled", 401)], sessions: [] };

  expect(changesBetween(before, after, now)).toEqual([
    "Cleo's key got a 401 and is disabled until somebody enables it. The request went on with the next key.",
  ]);
});

it("says nothing of what is as it was, or new", () => {
  const before: Scene = { keys: [key("Ada")], sessions: [] };
  const after: Scene = { keys: [key("Ada"), key("Ben")], sessions: [session("essay", "Ada")] };

  expect(changesBetween(before, after, now)).toEqual([]);
});
