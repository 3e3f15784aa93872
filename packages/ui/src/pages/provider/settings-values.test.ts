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

it("sends back what it was given", () => {
  expect(settingsPatchOf(settingsValuesOf(settings))).toEqual(settings);
});

it("brings a default back for an empty field", () => {
  const values = { ...settingsValuesOf(settings), cooldownBase: "", maxBody: "" };

  expect(settingsPatchOf(values)).toMatchObject({ cooldown: { base_ms: null }, max_body_bytes: null });
});

it("finds what is outside of its range, and a cap below the base", () => {
  const values = { ...settingsValuesOf(settings), cooldownCap: 30, retry: 11 };

  expect(rangeFaults(values)).toEqual([
    { field: "cooldownCap", min: 60, max: 86_400 },
    { field: "retry", min: 0, max: 10 },
  ]);
});

it("knows the field of an error's path", () => {
  expect(fieldOfPath("settings.timeouts.idle_ms")).toBe("timeoutIdle");
});
