import type { Settings, SettingsPatch } from "../../api/openapi.ts";
import { amountOf } from "../../parts/amount.ts";

/** Empty stands for the default. */
type Amount = number | string;

/** The settings as a person enters them: times in seconds, sizes in MiB. */
export interface SettingsValues {
  readonly cooldownBase: Amount;
  readonly cooldownCap: Amount;
  readonly scopeModel: boolean;
  readonly affinityEnabled: boolean;
  readonly affinityIdle: Amount;
  readonly retry: Amount;
  readonly timeoutConnect: Amount;
  readonly timeoutHeaders: Amount;
  readonly timeoutIdle: Amount;
  readonly maxBody: Amount;
}

type AmountField = Exclude<keyof SettingsValues, "scopeModel" | "affinityEnabled">;

const mebibyte = 1_048_576;
const day = 86_400;

/** What the API takes, in the units of the form. */
const ranges: Readonly<Record<AmountField, readonly [min: number, max: number]>> = {
  cooldownBase: [0.1, day],
  cooldownCap: [0.1, day],
  affinityIdle: [0.01, 30 * day],
  retry: [0, 10],
  timeoutConnect: [0.01, day],
  timeoutHeaders: [0.01, day],
  timeoutIdle: [0.01, day],
  maxBody: [0.001, 1_024],
};

const fieldsByPath: Readonly<Record<string, keyof SettingsValues>> = {
  "settings.cooldown.base_ms": "cooldownBase",
  "settings.cooldown.cap_ms": "cooldownCap",
  "settings.cooldown.scope": "scopeModel",
  "settings.affinity.enabled": "affinityEnabled",
  "settings.affinity.idle_ttl_ms": "affinityIdle",
  "settings.retry.provider_errors": "retry",
  "settings.timeouts.connect_ms": "timeoutConnect",
  "settings.timeouts.headers_ms": "timeoutHeaders",
  "settings.timeouts.idle_ms": "timeoutIdle",
  "settings.max_body_bytes": "maxBody",
};

/** The field beside which an error of the API belongs. */
export function fieldOfPath(path: string): string {
  return fieldsByPath[path] ?? path;
}

const outside: ReadonlySet<string> = new Set(["too_small", "too_large", "no_integer"]);

/** What may be entered in the field that the API refused for its size, in the units of the form. */
export function rangeOfPath(
  path: string,
  code: string | undefined,
): { readonly min: number; readonly max: number } | undefined {
  const field = fieldsByPath[path];
  if (field === undefined || !(field in ranges) || code === undefined || !outside.has(code)) return undefined;
  const [min, max] = ranges[field as AmountField];
  return { min, max };
}

export function settingsValuesOf({ cooldown, affinity, retry, timeouts, max_body_bytes }: Settings): SettingsValues {
  return {
    cooldownBase: cooldown.base_ms / 1_000,
    cooldownCap: cooldown.cap_ms / 1_000,
    scopeModel: cooldown.scope === "model",
    affinityEnabled: affinity.enabled,
    affinityIdle: affinity.idle_ttl_ms / 1_000,
    retry: retry.provider_errors,
    timeoutConnect: timeouts.connect_ms / 1_000,
    timeoutHeaders: timeouts.headers_ms / 1_000,
    timeoutIdle: timeouts.idle_ms / 1_000,
    maxBody: Math.round((max_body_bytes / mebibyte) * 1_000) / 1_000,
  };
}

/**
 * What the API takes: null brings a default back. Only what was changed here: someone else may have changed the rest
 * meanwhile, and a size that the form shows rounded stays what it was.
 */
export function settingsPatchOf(values: SettingsValues, before: SettingsValues): SettingsPatch {
  const amount = <Name extends string>(name: Name, field: AmountField, unit: number) =>
    (String(values[field]) === String(before[field]) ? {} : { [name]: scaled(values[field], unit) }) as {
      [_ in Name]?: number | null;
    };
  const parts = {
    cooldown: {
      ...amount("base_ms", "cooldownBase", 1_000),
      ...amount("cap_ms", "cooldownCap", 1_000),
      ...(values.scopeModel === before.scopeModel
        ? {}
        : { scope: values.scopeModel ? ("model" as const) : ("key" as const) }),
    },
    affinity: {
      ...(values.affinityEnabled === before.affinityEnabled ? {} : { enabled: values.affinityEnabled }),
      ...amount("idle_ttl_ms", "affinityIdle", 1_000),
    },
    retry: amount("provider_errors", "retry", 1),
    timeouts: {
      ...amount("connect_ms", "timeoutConnect", 1_000),
      ...amount("headers_ms", "timeoutHeaders", 1_000),
      ...amount("idle_ms", "timeoutIdle", 1_000),
    },
  };
  const changed = Object.entries(parts).filter(([, part]) => Object.keys(part).length > 0);
  return { ...Object.fromEntries(changed), ...amount("max_body_bytes", "maxBody", mebibyte) };
}

function isEmpty(amount: Amount): boolean {
  return String(amount).trim() === "";
}

function scaled(amount: Amount, unit: number): number | null {
  return isEmpty(amount) ? null : Math.round(amountOf(amount) * unit);
}

export interface RangeFault {
  readonly field: AmountField;
  readonly min: number;
  readonly max: number;
}

/** The amounts that are outside of what may be entered. The longest rest is at least as long as the first. */
export function rangeFaults(values: SettingsValues): readonly RangeFault[] {
  const fields = Object.keys(ranges) as AmountField[];
  return fields.flatMap((field) => {
    const [least, max] = ranges[field];
    const base = amountOf(values.cooldownBase);
    // One that is out of its own range says nothing about the other.
    const min = field === "cooldownCap" && base >= least && base <= max ? base : least;
    const amount = amountOf(values[field]);
    const isRight = amount >= min && amount <= max && (field !== "retry" || Number.isInteger(amount));
    return isEmpty(values[field]) || isRight ? [] : [{ field, min, max }];
  });
}
