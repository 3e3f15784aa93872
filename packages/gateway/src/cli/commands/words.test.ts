import { describe, expect, it } from "vitest";
import { readSettingFlags } from "./setting-flags.ts";
import type { KeyOnTheWire } from "./wire.ts";
import { ago, bytes, countsOf, duration, percent, statusOf } from "./words.ts";

it.each([
  [0, "0 s"],
  [1, "1 s"],
  [59_001, "1 min"],
  [61_000, "1 min 1 s"],
  [3_600_000, "1 h"],
  [90_061_000, "1 d 1 h"],
])("%i ms is %s", (ms, words) => {
  expect(duration(ms)).toBe(words);
});

it.each([
  [0, "0 B"],
  [999, "999 B"],
  [1000, "1.0 kB"],
  [131_072, "131 kB"],
  [3_440_000, "3.4 MB"],
])("%i bytes are %s", (count, words) => {
  expect(bytes(count)).toBe(words);
});

it("tells how long ago something was", () => {
  const now = Date.UTC(2026, 0, 1);

  expect(ago(null, now)).toBe("never");
  expect(ago("2025-12-31T23:59:59.900Z", now)).toBe("just now");
  expect(ago("2025-12-31T22:00:00.000Z", now)).toBe("2 h ago");
});

it("shows what is left of a cooldown", () => {
  const key = { status: "cooling_down", cooldown_until: "2026-01-01T00:01:30.000Z" } as KeyOnTheWire;

  expect(statusOf(key, Date.UTC(2026, 0, 1))).toBe("cooling down, 1 min 30 s left");
});

it("counts keys by what they can do, and names only what there is", () => {
  const none = { total: 0, available: 0, cooling_down: 0, disabled: 0, unresolved: 0 };

  expect(countsOf(none)).toBe("no keys");
  expect(countsOf({ ...none, total: 1, available: 1 })).toBe("1 of 1 key available");
  expect(countsOf({ ...none, total: 3, available: 1, cooling_down: 2 })).toBe("1 of 3 keys available, 2 cooling down");
});

describe("settings as flags", () => {
  it("become a patch, numbers and truths told from words", () => {
    const flags = [
      "cooldown.base_ms=30000",
      "cooldown.scope=model",
      "affinity.enabled=false",
      "max_body_bytes=default",
    ];

    expect(readSettingFlags(flags)).toEqual({
      cooldown: { base_ms: 30_000, scope: "model" },
      affinity: { enabled: false },
      max_body_bytes: null,
    });
  });

  it.each(["cooldown", "cooldown.base_ms", "=5", "a.b.c=1", "Base=1"])("are refused: %s", (flag) => {
    expect(() => readSettingFlags([flag])).toThrow("Expected `--setting` to be <name>=<value>");
  });
});

it.each([
  [null, "–"],
  [0, "0%"],
  [0.925, "92.5%"],
  [1 / 3, "33.3%"],
  [1, "100%"],
])("writes the share %s as %s", (share, text) => {
  expect(percent(share)).toBe(text);
});
