import { describe, expect, it } from "vitest";
import { settingsSchema, settingsToWire } from "../contract/settings.ts";
import { defaultSettings, effectiveSettings, mergeSettings, problemsOfSettings } from "./settings.ts";

describe("settings", () => {
  it("are the defaults where nothing is stored", () => {
    expect(effectiveSettings({})).toEqual(defaultSettings);
    expect(settingsSchema.parse(settingsToWire(defaultSettings))).toEqual(settingsToWire(defaultSettings));
  });

  it("keep what a patch does not name", () => {
    const stored = mergeSettings({ cooldown: { base_ms: 500, scope: "model" } }, { cooldown: { cap_ms: 1_000 } });

    expect(stored).toEqual({ cooldown: { base_ms: 500, scope: "model", cap_ms: 1_000 } });
    expect(effectiveSettings(stored).cooldown).toEqual({ baseMs: 500, capMs: 1_000, scope: "model" });
  });

  it.each([
    ["a field", { cooldown: { base_ms: null } }, { cooldown: { cap_ms: 1_000 }, max_body_bytes: 5 }],
    ["a group", { cooldown: null }, { max_body_bytes: 5 }],
    ["a number beside the groups", { max_body_bytes: null }, { cooldown: { base_ms: 500, cap_ms: 1_000 } }],
    ["everything", null, {}],
  ])("go back to the default for %s that is null", (_, patch, expected) => {
    const stored = { cooldown: { base_ms: 500, cap_ms: 1_000 }, max_body_bytes: 5 };

    expect(mergeSettings(stored, patch)).toEqual(expected);
  });

  it("leave no empty group behind", () => {
    expect(mergeSettings({ cooldown: { base_ms: 500 } }, { cooldown: { base_ms: null } })).toEqual({});
  });

  it("must not cap below the base, be it a default or not", () => {
    const problems = problemsOfSettings(effectiveSettings({ cooldown: { base_ms: 1_000_000 } }));

    expect(problems).toEqual([
      {
        path: "settings.cooldown.cap_ms",
        message: "Expected `settings.cooldown.cap_ms` to be at least `base_ms` (1000000), got 900000",
        code: "cap_below_base",
        params: { min: 1_000_000 },
      },
    ]);
  });

  it("pass over what another version stored", () => {
    expect(effectiveSettings({ cooldown: { base_ms: "x", future: 1 }, other: {} })).toEqual(defaultSettings);
  });
});
