import type { DeclaredKey } from "../../contract/config-file.ts";
import type { KeyRecord } from "../../store/store.ts";
import { newKeyRecord, planChange } from "../key-plan.ts";
import { type KeyText, parseKeyText, showSecret } from "../key-text.ts";
import type { KeyCell, ProviderEntry } from "../provider-entry.ts";
import { isSameSecret } from "../same-secret.ts";
import type { Marks } from "./marks.ts";
import { type DeclaredGround, type DeclaredPlan, literalWarning } from "./declared-plan.ts";

interface KeysCall {
  readonly ground: DeclaredGround;
  readonly before: Marks;
  /** Of the provider in the file. */
  readonly path: string;
  /** The provider that is here. */
  readonly entry: ProviderEntry | undefined;
  readonly providerId: string;
  readonly keys: readonly DeclaredKey[];
}

/** A key of the file, understood. */
interface Understood {
  readonly declared: DeclaredKey;
  readonly secret: KeyText;
  readonly order: number;
}

/** @returns how many keys the provider has that are not the file's */
export function planKeys(plan: DeclaredPlan, call: KeysCall): { readonly foreign: number } {
  const { entry, before } = call;
  const understood = understand(plan, call);
  const held = entry === undefined ? new Map<Understood, KeyCell>() : match(understood, entry, call);
  for (const key of understood) {
    const cell = held.get(key);
    if (cell === undefined) add(plan, call, key);
    else change(plan, call, { key, cell });
  }
  const kept = new Set([...held.values()].map(({ record }) => record.id));
  const rest = (entry?.cells() ?? []).filter(({ record }) => !kept.has(record.id));
  const gone = rest.filter(({ record }) => before.keys.has(record.id));
  plan.change.deletedKeys.push(...gone.map(({ record }) => record.id));
  return { foreign: rest.length - gone.length };
}

function understand(plan: DeclaredPlan, { path, keys }: KeysCall): Understood[] {
  const seen = new Map<string, number>();
  return keys.flatMap((declared, order) => {
    const at = `${path}.keys.${order}`;
    const parsed = parseKeyText(declared.api_key);
    if (!parsed.ok) {
      plan.problems.push({ ...parsed.fault, path: `${at}.api_key` });
      return [];
    }
    const { secret } = parsed;
    const mark = secret.kind === "literal" ? secret.value.reveal() : showSecret(secret);
    const first = seen.get(mark);
    if (first !== undefined) {
      const message = `This key stands in the list twice: it is \`${path}.keys.${first}\` as well`;
      plan.problems.push({ path: `${at}.api_key`, message, code: "repeated" });
      return [];
    }
    seen.set(mark, order);
    if (secret.kind === "literal") plan.warnings.push(literalWarning(`${at}.api_key`));
    return [{ declared, secret, order }];
  });
}

/**
 * Which key here each key of the file is: the one with that value or reference, the one whose value is what the reference
 * comes to, or the file's own one with that label, whose value is then replaced.
 */
function match(
  keys: readonly Understood[],
  entry: ProviderEntry,
  { ground, before }: KeysCall,
): Map<Understood, KeyCell> {
  const found = new Map<Understood, KeyCell>();
  const taken = new Set<string>();
  const take = (key: Understood, id: string | undefined): void => {
    const cell = id === undefined || taken.has(id) ? undefined : entry.cell(id);
    if (cell === undefined || found.has(key)) return;
    found.set(key, cell);
    taken.add(cell.record.id);
  };
  for (const key of keys) take(key, entry.holderOf(key.secret));
  for (const key of keys) {
    if (key.secret.kind !== "reference" || found.has(key)) continue;
    const resolution = ground.resolve(key.secret.name);
    if (resolution.kind === "resolved") take(key, entry.holderOf({ kind: "literal", value: resolution.value }));
  }
  const isFree = ({ record }: KeyCell): boolean => before.keys.has(record.id) && !taken.has(record.id);
  const byLabel = Map.groupBy(entry.cells().filter(isFree), ({ record }) => record.label);
  const left = keys.filter((key) => !found.has(key));
  for (const key of left) {
    const label = key.declared.label ?? "";
    const isOne = label !== "" && left.filter(({ declared }) => declared.label === label).length === 1;
    const [cell, ...others] = byLabel.get(label) ?? [];
    if (isOne && others.length === 0) take(key, cell?.record.id);
  }
  return found;
}

function add(plan: DeclaredPlan, { ground, providerId }: KeysCall, { declared, secret, order }: Understood): void {
  const { label = "", weight = 1, enabled = true, group = "" } = declared;
  const fields = { label, weight, enabled, order, group };
  const record = newKeyRecord({ id: ground.newId("key"), providerId, secret, fields, at: ground.now() });
  plan.change.insertedKeys.push(record);
  mark(plan, record.id, declared);
}

function change(
  plan: DeclaredPlan,
  { ground, before }: KeysCall,
  { key, cell }: { readonly key: Understood; readonly cell: KeyCell },
): void {
  const { declared, order, secret } = key;
  const { record } = cell;
  const { label = "", weight = 1, group = "" } = declared;
  const enabled = switchOf(record, declared.enabled, before);
  const isHeld = isSameSecret(record.secret, secret);
  const body = { label, weight, order, group, ...(enabled === undefined ? {} : { enabled }) };
  const { patch } = planChange(record, body, isHeld ? undefined : secret, ground.now());
  if (Object.keys(patch).length > 0) {
    plan.change.updatedKeys.push({ id: record.id, patch: { ...patch, updatedAt: ground.now() } });
  }
  mark(plan, record.id, declared);
}

/**
 * Whether it is to be switched; undefined to leave it. A key that its provider refused is not tried again because a file
 * was read: a new value does that, or a person.
 */
function switchOf(record: KeyRecord, declared: boolean | undefined, before: Marks): boolean | undefined {
  if (declared === false) return false;
  const isOff = !record.enabled && (record.disabledReason?.code ?? "disabled_by_operator") === "disabled_by_operator";
  if (!isOff) return undefined;
  return declared === true || before.switches.has(record.id) ? true : undefined;
}

function mark({ marks }: DeclaredPlan, id: string, declared: DeclaredKey): void {
  marks.keys.add(id);
  if (declared.enabled !== undefined) marks.switches.add(id);
}
