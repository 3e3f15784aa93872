import { defaultAffinity, defaultCooldownPolicy, type StatePolicy } from "@keywheel/pool";
import type { FieldRefusal } from "../contract/field-faults.ts";
import type { ProviderSettings, SettingsPatch } from "../contract/settings.ts";
import type { StoredSettings } from "../store/store.ts";

/** @see contract §3 */
export const defaultSettings: ProviderSettings = {
  cooldown: { ...defaultCooldownPolicy, scope: "key" },
  affinity: defaultAffinity,
  retry: { providerErrors: 0 },
  timeouts: { connectMs: 10_000, headersMs: 900_000, idleMs: 900_000 },
  maxBodyBytes: 67_108_864,
};

/** Stored settings with the defaults filled in. What an older or newer version stored and this one does not know is passed over. */
export function effectiveSettings(stored: StoredSettings): ProviderSettings {
  const read = <T>(group: string, name: string, byDefault: T): T => {
    const value = (stored[group] as Record<string, unknown> | undefined)?.[name];
    return typeof value === typeof byDefault ? (value as T) : byDefault;
  };
  const { cooldown, affinity, retry, timeouts, maxBodyBytes } = defaultSettings;
  return {
    cooldown: {
      baseMs: read("cooldown", "base_ms", cooldown.baseMs),
      capMs: read("cooldown", "cap_ms", cooldown.capMs),
      scope: read("cooldown", "scope", cooldown.scope),
    },
    affinity: {
      enabled: read("affinity", "enabled", affinity.enabled),
      idleTtlMs: read("affinity", "idle_ttl_ms", affinity.idleTtlMs),
    },
    retry: { providerErrors: read("retry", "provider_errors", retry.providerErrors) },
    timeouts: {
      connectMs: read("timeouts", "connect_ms", timeouts.connectMs),
      headersMs: read("timeouts", "headers_ms", timeouts.headersMs),
      idleMs: read("timeouts", "idle_ms", timeouts.idleMs),
    },
    maxBodyBytes: typeof stored["max_body_bytes"] === "number" ? stored["max_body_bytes"] : maxBodyBytes,
  };
}

/** What is stored after a patch: named settings replaced, those set to null back to their default. */
export function mergeSettings(stored: StoredSettings, patch: SettingsPatch | null): StoredSettings {
  if (patch === null) return {};
  const merged: Record<string, unknown> = { ...stored };
  for (const [name, value] of Object.entries(patch)) {
    if (value === undefined) continue;
    merged[name] = isGroup(value) ? mergeGroup(stored[name], value) : value;
  }
  return withoutNulls(merged);
}

function mergeGroup(stored: unknown, patch: object): Record<string, unknown> | null {
  const merged = withoutNulls({ ...(isGroup(stored) ? stored : {}), ...patch });
  return Object.keys(merged).length === 0 ? null : merged;
}

function isGroup(value: unknown): value is object {
  return typeof value === "object" && value !== null;
}

function withoutNulls(values: Readonly<Record<string, unknown>>): Record<string, unknown> {
  return Object.fromEntries(Object.entries(values).filter(([, value]) => value !== null && value !== undefined));
}

/** What is wrong with settings that are right one by one. */
export function problemsOfSettings({ cooldown }: ProviderSettings): FieldRefusal[] {
  if (cooldown.capMs >= cooldown.baseMs) return [];
  const message = `Expected \`settings.cooldown.cap_ms\` to be at least \`base_ms\` (${cooldown.baseMs}), got ${cooldown.capMs}`;
  return [{ path: "settings.cooldown.cap_ms", message, code: "cap_below_base", params: { min: cooldown.baseMs } }];
}

/** The part of the settings that the pool's state needs. */
export function policyOf({ cooldown, affinity }: ProviderSettings): StatePolicy {
  return {
    cooldown: { baseMs: cooldown.baseMs, capMs: cooldown.capMs },
    cooldownScope: cooldown.scope,
    affinity: { enabled: affinity.enabled, idleTtlMs: affinity.idleTtlMs },
  };
}
