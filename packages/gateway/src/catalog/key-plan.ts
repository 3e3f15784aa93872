import type { FieldRefusal } from "../contract/field-faults.ts";
import type { KeyPatchBody } from "../contract/key.ts";
import type { KeyPatch, KeyRecord, KeySecret } from "../store/store.ts";
import { refusal } from "./core.ts";
import { parseKeyText, showSecret } from "./key-text.ts";

/** What a call changes about a key. */
export interface PlannedChange {
  /** Empty if nothing changes. */
  readonly patch: KeyPatch;
  /** A person brought it back, or gave it another value: cooldown, count and refusal are forgotten. */
  readonly clears: boolean;
}

/** The change that a body asks for. @param secret its new value, if it brings one */
export function planChange(
  record: KeyRecord,
  body: KeyPatchBody,
  secret: KeySecret | undefined,
  now: number,
): PlannedChange {
  const patch: { -readonly [Name in keyof KeyRecord]?: KeyRecord[Name] } = {};
  if (body.label !== undefined && body.label !== record.label) patch.label = body.label;
  if (body.weight !== undefined && body.weight !== record.weight) patch.weight = body.weight;
  if (body.order !== undefined && body.order !== record.order) patch.order = body.order;
  if (body.group !== undefined && body.group !== record.group) patch.group = body.group;

  const refused = !record.enabled && !isByOperator(record);
  // A new value is a new key: a refusal of the old one says nothing about it. A person's own switch stays as it is.
  const enabled = body.enabled ?? (secret && refused ? true : undefined);
  if (enabled === true && !record.enabled) Object.assign(patch, switchedOn);
  if (enabled === false && (record.enabled || secret)) Object.assign(patch, switchedOff(now));
  if (secret) {
    patch.secret = secret;
    patch.secretVersion = record.secretVersion + 1;
    // A refusal of the old value that arrives before the store answers must not outlive it.
    if (record.enabled && enabled !== false) Object.assign(patch, switchedOn);
  }
  return { patch, clears: secret !== undefined || (enabled === true && refused) };
}

type Switch = Pick<KeyRecord, "enabled" | "disabledReason">;

const switchedOn: Switch = { enabled: true, disabledReason: null };

/** A key as it begins. */
export function newKeyRecord(parts: {
  readonly id: string;
  readonly providerId: string;
  readonly secret: KeySecret;
  readonly fields: Pick<KeyRecord, "label" | "weight" | "enabled" | "order" | "group">;
  readonly at: number;
}): KeyRecord {
  const { id, providerId, secret, fields, at } = parts;
  const base = { id, providerId, secret, secretVersion: 1, disabledReason: null, createdAt: at, updatedAt: at };
  return { ...base, ...fields, ...(fields.enabled ? {} : switchedOff(at)) };
}

/** What a person's switch leaves behind: its reason holds since when, which later changes do not move. */
export function switchedOff(at: number): Switch {
  return {
    enabled: false,
    disabledReason: { code: "disabled_by_operator", httpStatus: null, message: null, at },
  };
}

function isByOperator({ disabledReason }: KeyRecord): boolean {
  return disabledReason === null || disabledReason.code === "disabled_by_operator";
}

/** @throws KeywheelError validation_failed */
export function secretOf(text: string): KeySecret {
  const parsed = parseKeyText(text);
  if (parsed.ok) return parsed.secret;
  throw refusal([{ path: "api_key", ...parsed.fault }]);
}

/**
 * The new value; undefined if it is the reference that the key holds, as it comes back from GET.
 *
 * @throws KeywheelError validation_failed, also for the mask of the stored value: an object that was read and is written
 *   back as it was must not destroy its key
 */
export function newSecretOf(held: KeySecret, text: string): KeySecret | undefined {
  if (text === showSecret(held) && held.kind !== "reference") {
    const message = "This is the mask of the stored key: leave `api_key` out to keep the key";
    throw refusal([{ path: "api_key", message, code: "key_masked" }]);
  }
  const secret = secretOf(text);
  const isHeld = held.kind === "reference" && secret.kind === "reference" && held.name === secret.name;
  return isHeld ? undefined : secret;
}

/**
 * What is wrong with fields that come from GET and cannot be set.
 *
 * What identifies the key may come back as it is. So may its status, which a person who sends another one expects to set.
 * What changes by itself (counts, times) is passed over.
 *
 * @param status the key's status now; needed only if the body holds one
 */
export function problemsOfReadOnly(record: KeyRecord, status: string | undefined, body: KeyPatchBody): FieldRefusal[] {
  const fixed: readonly [keyof KeyPatchBody, unknown][] = [
    ["id", record.id],
    ["provider_id", record.providerId],
    ["created_at", new Date(record.createdAt).toISOString()],
  ];
  const problems: FieldRefusal[] = fixed
    .filter(([path, held]) => body[path] !== undefined && body[path] !== held)
    .map(([path]) => ({ path, message: `\`${path}\` cannot be changed`, code: "read_only" }));
  if (body.status !== undefined && body.status !== status) {
    const message = "`status` cannot be set: use `enabled`, or POST /api/keys/{id}/reset to end a cooldown";
    problems.push({ path: "status", message, code: "read_only" });
  }
  return problems;
}
