import { expect, it } from "vitest";
import type { Settings } from "../../api/openapi.ts";
import { fieldOfPath, rangeFaults, settingsPatchOf, settingsValuesOf } from "./settings-values.ts";

const settings: Settings = {
  cooldown: { base_ms: 60_000, cap_ms: 900_000, scope: "key" },
  affinity: { enabled: true, idle_ttl_ms: 86_400_000 },
  retry: { provider_errors: 0 },
  timeouts: { connect_ms: 10_000, headers_ms: 900_000, idle_ms: 900_000 },
  max_body_bytes: 67_108_864,
};

it("sends only what was changed", () => {
  const before = settingsValuesOf(settings);

  expect(settingsPatchOf(before, before)).toEqual({});
  expect(settingsPatchOf({ ...before, cooldownBase: 61, affinityEnabled: false, maxBody: 2 }, before)).toEqual({
    cooldown: { base_ms: 61_000 },
    affinity: { enabled: false },
    max_body_bytes: 2_097_152,
  });
});

it("brings a default back for an empty field", () => {
  const before = settingsValuesOf(settings);

  expect(settingsPatchOf({ ...before, cooldownBase: "", maxBody: "" }, before)).toEqual({
    cooldown: { base_ms: null },
    max_body_bytes: null,
  });
});

it("finds what is outside of its range, and a cap below the base", () => {
  const values = { ...settingsValuesOf(settings), cooldownCap: 30, retry: 11 };

  expect(rangeFaults(values)).toEqual([
    { field: "cooldownCap", min: 60, max: 86_400 },
    { field: "retry", min: 0, max: 10 },
  ]);
});

it("measures the cap against no base that is itself out of range", () => {
  const values = { ...settingsValuesOf(settings), cooldownBase: "99999999" };

  expect(rangeFaults(values)).toEqual([{ field: "cooldownBase", min: 0.1, max: 86_400 }]);
});

it("takes no part of what was typed for the whole", () => {
  const values = { ...settingsValuesOf(settings), cooldownBase: "-5", timeoutIdle: "1e3", retry: "1.7" };

  expect(rangeFaults(values).map(({ field }) => field)).toEqual(["cooldownBase", "retry", "timeoutIdle"]);
});

it("knows the field of an error's path", () => {
  expect(fieldOfPath("settings.timeouts.idle_ms")).toBe("timeoutIdle");
});
