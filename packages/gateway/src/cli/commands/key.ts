import { readFile } from "node:fs/promises";
import { failed, wrongWords } from "../exit.ts";
import { showProgress } from "../progress.ts";
import { confirm, readInput } from "../prompt.ts";
import { formatTable } from "../table.ts";
import { type Context, enabledField, numberOf, present, printJson, say, sayUndone, segment } from "./context.ts";
import { findKeys, type Found, nameOf, readKeys } from "./find-key.ts";
import { readKeyValue } from "./key-value.ts";
import type { ImportResult, KeyOnTheWire, KeyTestResult } from "./wire.ts";
import { ago, counted, reasonOf, statusColor, statusOf } from "./words.ts";

export interface KeyFlags {
  readonly provider?: string;
  readonly apiKey?: string;
  readonly label?: string;
  readonly weight?: string;
  readonly order?: string;
  readonly group?: string;
  readonly enabled?: boolean;
  readonly disabled?: boolean;
}

export async function addKey(
  context: Context,
  call: { readonly provider: string; readonly value: string | undefined; readonly flags: KeyFlags },
): Promise<void> {
  const { provider, value, flags } = call;
  const body = { api_key: await readKeyValue(context.terminal, value), ...fieldsOf(flags) };
  const text = await context.client.text("POST", `/providers/${segment(provider)}/keys`, body);
  if (context.json) return printJson(context, text);
  const key = JSON.parse(text) as KeyOnTheWire;
  say(context, `Added the key ${key.api_key} with weight ${key.weight} (${key.id}): ${statusOf(key, Date.now())}.`);
  if (key.status === "unresolved") say(context, `It serves as soon as the gateway's environment has ${key.api_key}.`);
}

export async function importKeys(
  context: Context,
  call: {
    readonly provider: string;
    readonly file: string;
    readonly dryRun: boolean;
    readonly group: string | undefined;
  },
): Promise<void> {
  const { provider, file, dryRun, group } = call;
  const list = file === "-" ? await readInput(context.terminal) : await readList(file);
  const body = { text: list, ...(dryRun ? { dry_run: true } : {}), ...present({ group }) };
  const text = await importing(context, () =>
    context.client.text("POST", `/providers/${segment(provider)}/keys/import`, body),
  );
  if (context.json) return printJson(context, text);

  const { added, skipped, understood = [] } = JSON.parse(text) as ImportResult;
  say(
    context,
    dryRun ? `${counted(understood.length, "key")} would be added.` : `Added ${counted(added.length, "key")}.`,
  );
  for (const { line, masked, reason } of skipped)
    say(context, `  Line ${line} (${masked}) was passed over: ${reason}.`);
  if (added.length + understood.length === 0 && skipped.some(({ code }) => code === "refused")) {
    throw failed("No line of it was taken.");
  }
}

async function importing(context: Context, call: () => Promise<string>): Promise<string> {
  using _progress = showProgress(context.terminal, "Importing keys");
  return await call();
}

async function readList(file: string): Promise<string> {
  try {
    return await readFile(file, "utf8");
  } catch (error) {
    throw failed(`The file ${file} cannot be read: ${error instanceof Error ? error.message : String(error)}.`, error);
  }
}

export async function listKeys(context: Context, provider: string | undefined): Promise<void> {
  if (context.json && provider !== undefined) {
    return printJson(context, await context.client.text("GET", `/providers/${segment(provider)}/keys`));
  }
  const keys = await readKeys(context, provider);
  if (context.json) return printJson(context, JSON.stringify({ data: keys.map(({ key }) => key) }));
  if (keys.length === 0) return say(context, `There is no key yet. Add one: keywheel key add ${provider ?? "openai"}`);

  const { colors } = context.terminal;
  const now = Date.now();
  const columns = [
    { heading: "Provider", value: ({ provider: owner }: Found) => owner.slug },
    { heading: "Id", value: ({ key }: Found) => key.id },
    { heading: "Label", value: ({ key }: Found) => key.label },
    { heading: "Key", value: ({ key }: Found) => key.api_key },
    { heading: "Weight", value: ({ key }: Found) => String(key.weight), align: "right" as const },
    ...(keys.some(isOwned) ? [{ heading: "Owner", value: ownerOf }] : []),
    {
      heading: "Status",
      value: ({ key }: Found) => statusOf(key, now),
      paint: (shown: string, { key }: Found) => statusColor(colors, key.status)(shown),
    },
    { heading: "Sessions", value: ({ key }: Found) => String(key.bound_sessions), align: "right" as const },
    { heading: "Requests", value: ({ key }: Found) => String(key.stats.requests), align: "right" as const },
    { heading: "Last used", value: ({ key }: Found) => ago(key.stats.last_used_at, now) },
    { heading: "Reason", value: ({ key }: Found) => reasonOf(key) },
  ];
  context.terminal.out(formatTable(columns, keys, colors));
}

export async function setKey(context: Context, name: string, flags: KeyFlags): Promise<void> {
  const value = flags.apiKey === undefined ? {} : { api_key: await readKeyValue(context.terminal, flags.apiKey) };
  const body = { ...fieldsOf(flags), ...value };
  if (Object.keys(body).length === 0)
    throw wrongWords("Say what to set, such as --weight or --label; --help lists all.");
  for (const found of await findKeys(context, [name], flags.provider)) {
    const text = await context.client.text("PATCH", `/keys/${segment(found.key.id)}`, body);
    if (context.json) printJson(context, text);
    else say(context, `Saved the key ${nameOf({ ...found, key: JSON.parse(text) as KeyOnTheWire })}.`);
  }
}

/** Enables or disables keys. */
export async function switchKeys(
  context: Context,
  call: { readonly names: readonly string[]; readonly provider: string | undefined; readonly enabled: boolean },
): Promise<void> {
  const { names, provider, enabled } = call;
  for (const found of await findKeys(context, names, provider)) {
    const text = await context.client.text("PATCH", `/keys/${segment(found.key.id)}`, { enabled });
    if (context.json) printJson(context, text);
    else say(context, `${enabled ? "Enabled" : "Disabled"} the key ${nameOf(found)}.`);
  }
}

export async function resetKeys(
  context: Context,
  call: { readonly names: readonly string[]; readonly provider: string | undefined },
): Promise<void> {
  for (const found of await findKeys(context, call.names, call.provider)) {
    const text = await context.client.text("POST", `/keys/${segment(found.key.id)}/reset`);
    if (context.json) printJson(context, text);
    else say(context, `Cleared the cooldown of the key ${nameOf(found)}.`);
  }
}

export async function removeKeys(
  context: Context,
  call: { readonly names: readonly string[]; readonly provider: string | undefined; readonly yes: boolean },
): Promise<void> {
  const found = await findKeys(context, call.names, call.provider);
  const named = found.map(nameOf).join(", ");
  const sentence = `This removes the ${found.length === 1 ? "key" : "keys"} ${named} and cannot be undone.`;
  if (!call.yes && !(await confirm(context.terminal, sentence))) return sayUndone(context);
  for (const one of found) {
    await context.client.call("DELETE", `/keys/${segment(one.key.id)}`);
    if (context.json) printJson(context, JSON.stringify({ id: one.key.id, removed: true }));
    else say(context, `Removed the key ${nameOf(one)}.`);
  }
}

/** @throws CommandError (1) if the provider did not take one of the keys */
export async function testKeys(
  context: Context,
  call: { readonly names: readonly string[]; readonly provider: string | undefined },
): Promise<void> {
  const found = await findKeys(context, call.names, call.provider);
  let refused = 0;
  for (const [at, one] of found.entries()) {
    const text = await asking(context, one, { at, all: found.length });
    const result = JSON.parse(text) as KeyTestResult;
    if (!result.ok) refused++;
    if (context.json) printJson(context, text);
    else say(context, resultOf(one, result, context));
  }
  if (refused > 0) throw failed(`${counted(refused, "key")} of ${found.length} did not pass.`);
}

async function asking(
  { client, terminal }: Context,
  { key, provider }: Found,
  { at, all }: { readonly at: number; readonly all: number },
): Promise<string> {
  using progress = showProgress(terminal, `Asking ${provider.name} with the key ${key.api_key}`, all);
  progress.at(at);
  return await client.text("POST", `/keys/${segment(key.id)}/test`);
}

function resultOf(
  found: Found,
  { ok, http_status: status, code, message, duration_ms: ms }: KeyTestResult,
  context: Context,
): string {
  const { green, red } = context.terminal.colors;
  const took = `${Math.round(ms)} ms`;
  if (ok) return `${green("ok")}  The provider took the key ${nameOf(found)} (${took}).`;
  const said = message === null ? "" : `: ${message}`;
  return `${red("no")}  ${code.replaceAll("_", " ")}${status === null ? "" : ` (${status})`} for the key ${nameOf(found)}${said} (${took})`;
}

function isOwned({ key }: Found): boolean {
  return key.group !== "" || key.organization !== null;
}

/** The group that it was given, else whose the provider says that it is. */
function ownerOf({ key: { group, organization, project } }: Found): string {
  const told = [organization, project].filter((name) => name !== null);
  return group || (told.length === 0 ? "" : `(${told.join(", ")})`);
}

function fieldsOf(flags: KeyFlags): object {
  return present({
    label: flags.label,
    weight: numberOf(flags.weight),
    order: numberOf(flags.order),
    group: flags.group === "none" ? "" : flags.group,
    ...enabledField(flags),
  });
}
