import { existsSync } from "node:fs";
import { homedir } from "node:os";
import type { Client, Place, Setup, Target, Targets } from "../connect/client.ts";
import { chooseTargets } from "../connect/choose-targets.ts";
import { chooseToken, isToken, makeToken, readGivenToken, type TokenChoice } from "../connect/choose-token.ts";
import { clients } from "../connect/clients.ts";
import { outsideModels, outsideTargets, tryTarget } from "../connect/outside.ts";
import { type Plan, planFile, writePlan } from "../connect/files.ts";
import { valueAt } from "../connect/format.ts";
import { contentOf, differencesOf, exportLine, shortPath } from "../connect/show.ts";
import { CommandError, failed, wrongWords } from "../exit.ts";
import { nearest } from "../nearest.ts";
import { formatTable } from "../table.ts";
import type { Terminal } from "../terminal.ts";
import type { ApiClient } from "../client/api-client.ts";
import { type Context, printJson, say, segment } from "./context.ts";
import type { List, Provider, Status } from "./wire.ts";

export interface ConnectFlags {
  readonly provider?: readonly string[];
  /** Of the provider, at a gateway of which no more than the address is known. */
  readonly kind?: string;
  readonly token?: string;
  readonly newToken?: string | true;
  readonly write?: boolean;
  readonly dryRun?: boolean;
}

/** Says which clients are known; needs no gateway. */
export function listClients(context: Pick<Context, "terminal" | "json">): void {
  if (context.json) {
    const data = clients.map(({ id, name, speaks, writes }) => ({ id, name, kinds: speaks, writes }));
    return printJson(context, JSON.stringify({ data }));
  }
  const columns = [
    { heading: "Client", value: ({ id }: Client) => id },
    { heading: "Name", value: ({ name }: Client) => name },
    { heading: "Speaks", value: ({ speaks }: Client) => speaks.join(", ") },
    { heading: "--write changes", value: ({ writes }: Client) => writes },
  ];
  context.terminal.out(formatTable(columns, clients, context.terminal.colors));
  say(
    context,
    "\nShow the set-up of one: keywheel connect claude-code. Anything else: the provider's base URL becomes\nthe gateway's address with the provider's slug behind it.",
  );
}

/** @throws CommandError (2) if no client has this name; checked before a gateway is looked for */
export function clientNamed(name: string): Client {
  const found = clients.find(({ id }) => id === name.toLowerCase());
  if (found !== undefined) return found;
  const names = clients.map(({ id }) => id);
  const near = nearest(name, names);
  throw wrongWords(
    `There is no client "${name}".${near === undefined ? "" : ` Did you mean ${near}?`} There are: ${names.join(", ")}.`,
  );
}

/** Shows the set-up of a client, or makes it. */
export async function connectClient(context: Context, client: Client, flags: ConnectFlags): Promise<void> {
  if (flags.kind !== undefined)
    throw wrongWords(
      "The gateway knows the kinds of its providers: leave out --kind, or name another gateway with --url.",
    );
  return settleClient(context, await prepare(context, client, flags), flags);
}

/**
 * The same for a gateway whose operator somebody else is: by its address and a token for clients alone, which is tried.
 *
 * @param gatewayUrl without a slash at the end
 */
export async function connectFromOutside(
  context: Speaking,
  client: Client,
  { gatewayUrl, flags }: { readonly gatewayUrl: string; readonly flags: ConnectFlags },
): Promise<void> {
  if (flags.newToken !== undefined) {
    throw wrongWords(
      "Only the operator of a gateway can make tokens there (KEYWHEEL_ADMIN_TOKEN). Ask for one, and give it with --token.",
    );
  }
  const place = placeOf(context.terminal);
  const targets = outsideTargets({ client, wanted: flags.provider ?? [], kind: flags.kind, gatewayUrl });
  const setup = client.setUp(targets, undefined, place);
  // A token is sent to nobody but the gateway that it was set up for.
  const isKept = (flags.write === true || flags.dryRun === true) && isSetUpFor(setup, gatewayUrl);
  const found = isKept ? tokenThere(setup) : undefined;
  const choice = await outsideToken(context.terminal, flags.token, found);
  const token = choice.origin === "none" ? undefined : choice.token;
  for (const target of targets) await tryTarget(target, token);
  const named = await withModels(client, targets, (target) => outsideModels(target, token));
  return settleClient(context, { client, targets: named, choice, place, api: undefined }, flags);
}

async function outsideToken(terminal: Terminal, given: string | undefined, found: unknown): Promise<Known> {
  if (given !== undefined) return { origin: "given", token: await readGivenToken(terminal, given) };
  return isToken(found) ? { origin: "kept", token: found } : { origin: "none" };
}

async function settleClient(context: Speaking, task: Task, flags: ConnectFlags): Promise<void> {
  if (flags.write && flags.dryRun) throw wrongWords("--write and --dry-run exclude each other.");
  if (flags.dryRun) return showDifferences(context, task);
  return flags.write ? write(context, task) : show(context, task);
}

/** What is to be done, with nothing done yet. */
interface Task {
  readonly client: Client;
  readonly targets: Targets;
  readonly choice: TokenChoice;
  readonly place: Place;
  /** Makes the token, where one is to be made. */
  readonly api: ApiClient | undefined;
}

/** A token that need not be made. */
type Known = Exclude<TokenChoice, { readonly origin: "new" }>;
type Speaking = Pick<Context, "terminal" | "json">;

async function prepare({ client: api, terminal }: Context, client: Client, flags: ConnectFlags): Promise<Task> {
  if (api.url === undefined) {
    throw failed(
      `No gateway runs on the data directory ${api.where}. Start it first: keywheel start. Or name the one you mean with --url.`,
    );
  }
  const { data: providers } = await api.call<List<Provider>>("GET", "/providers");
  const targets = chooseTargets({ client, providers, wanted: flags.provider ?? [], gatewayUrl: api.url });
  const { require_token: requiresToken } = await api.call<Status>("GET", "/status");
  const place = placeOf(terminal);
  const choice = await chooseToken(api, terminal, {
    given: flags.token,
    made: flags.newToken,
    found: flags.write || flags.dryRun ? tokenThere(client.setUp(targets, undefined, place)) : undefined,
    clientId: client.id,
    targets,
    requiresToken,
  });
  return { client, targets: await withModels(client, targets, (target) => modelsOf(api, target)), choice, place, api };
}

async function modelsOf(api: ApiClient, { provider }: Target): Promise<readonly string[]> {
  const { data } = await api.call<List<{ readonly id: string }>>("GET", `/providers/${segment(provider.id)}/models`);
  return data.map(({ id }) => id);
}

/** With what those are called that the client cannot know, as far as their provider says it. */
async function withModels(
  { wantsModels }: Client,
  [first, ...others]: Targets,
  ask: (target: Target) => Promise<readonly string[]>,
): Promise<Targets> {
  const told = async (target: Target): Promise<Target> =>
    wantsModels && target.provider.kind === "openai-compatible"
      ? // Without them the set-up is right all the same: what it prints says what is left to do.
        { ...target, models: await ask(target).catch(() => []) }
      : target;
  return [await told(first), ...(await Promise.all(others.map(told)))];
}

function placeOf({ environment }: Terminal): Place {
  return { home: environment["HOME"] ?? homedir(), folder: process.cwd(), environment, exists: existsSync };
}

/** Whether the client speaks to this gateway already. */
function isSetUpFor({ files }: Setup, gatewayUrl: string): boolean {
  return files.some((file) =>
    file.changes.some(({ secret, path, value }) => {
      const isAddress = secret !== true && typeof value === "string" && value.startsWith(`${gatewayUrl}/`);
      return isAddress && readAt(file, path) === value;
    }),
  );
}

/** What stands where the client looks for its token. */
function tokenThere({ files }: Setup): unknown {
  return files
    .flatMap((file) => file.changes.filter(({ secret }) => secret).map(({ path }) => readAt(file, path)))
    .find((value) => value !== undefined);
}

function readAt(file: Setup["files"][number], path: readonly string[]): unknown {
  const { before, setup } = planFile({ ...file, changes: [] });
  return before === undefined ? undefined : valueAt(setup.format.read(before), path);
}

async function show(context: Speaking, task: Task): Promise<void> {
  const { setup } = await settle(context, task);
  if (task.choice.origin === "new") context.terminal.err("It is shown this once.\n");
  const { variables, files } = setup;
  if (context.json) {
    return printJson(
      context,
      JSON.stringify({
        ...summaryOf(task),
        variables: Object.fromEntries(variables),
        files: files.map((file) => ({ path: file.path, content: contentOf(file) })),
        notes: notesOf(task, setup),
      }),
    );
  }
  const { bold, dim } = context.terminal.colors;
  for (const { provider, url } of task.targets) say(context, `${task.client.name} → ${provider.name}, at ${bold(url)}`);
  for (const file of files) {
    say(context, `\n${dim(`In ${shortPath(file.path, task.place)}:`)}\n`);
    say(context, contentOf(file).trimEnd());
  }
  if (variables.length > 0) {
    say(context, `\n${dim("Or for this terminal alone:")}\n`);
    for (const variable of variables) say(context, exportLine(variable));
  }
  sayNotes(context, task, setup);
  context.terminal.err(
    "\n--write puts this into the file and keeps the rest of it; --dry-run says what would change.\n",
  );
}

/** The set-up with the token that it is to have: a new one is made here, and shown or written this once. */
async function settle(
  { terminal }: Speaking,
  { client, targets, choice, place, api }: Task,
): Promise<{ setup: Setup; madeId?: string }> {
  if (choice.origin !== "new")
    return { setup: client.setUp(targets, choice.origin === "none" ? undefined : choice.token, place) };
  if (api === undefined) throw new Error("a token is to be made, and nobody can make it");
  const { token, id } = await makeToken(api, choice.name, targets);
  terminal.err(`Made the gateway token "${choice.name}", good for ${slugsOf(targets)}.\n`);
  return { setup: client.setUp(targets, token, place), madeId: id };
}

function planAll({ files }: Setup): readonly Plan[] {
  return files.map(planFile);
}

/** The set-up before its token is made: enough to see whether it can be written. */
function draftOf({ client, targets, choice, place }: Task): Setup {
  const token = choice.origin === "none" ? undefined : choice.origin === "new" ? "kw_new" : choice.token;
  return client.setUp(targets, token, place);
}

function showDifferences(context: Speaking, task: Task): void {
  const setup = draftOf(task);
  const plans = planAll(setup);
  if (context.json) {
    const files = plans.map((plan) => ({
      path: plan.path,
      changed: plan.before !== plan.after,
      changes: differencesOf(plan),
    }));
    return printJson(context, JSON.stringify({ ...summaryOf(task), files, notes: notesOf(task, setup) }));
  }
  for (const plan of plans) {
    const differences = differencesOf(plan);
    const state = differences.length === 0 ? " is as it should be" : plan.before === undefined ? " (new)" : "";
    say(context, `${shortPath(plan.path, task.place)}${state}`);
    for (const { name, from, to } of differences) {
      if (from !== null) say(context, context.terminal.colors.red(`- ${name} = ${from}`));
      if (to !== null) say(context, context.terminal.colors.green(`+ ${name} = ${to}`));
    }
  }
  sayNotes(context, task, setup);
  context.terminal.err("Nothing was changed. --write does it.\n");
}

async function write(context: Speaking, task: Task): Promise<void> {
  // Before a token is made: what cannot be written is known by then.
  planAll(draftOf(task));
  const { setup, madeId } = await settle(context, task);
  const now = new Date();
  const files: { readonly path: string; readonly changed: boolean; readonly backup: string | null }[] = [];
  try {
    for (const plan of planAll(setup)) {
      const backup = writePlan(plan, now);
      files.push({ path: plan.path, changed: plan.before !== plan.after, backup: backup ?? null });
    }
  } catch (error) {
    if (madeId !== undefined) await task.api?.call("DELETE", `/tokens/${segment(madeId)}`);
    throw error;
  }
  if (context.json)
    return printJson(context, JSON.stringify({ ...summaryOf(task), files, notes: notesOf(task, setup) }));
  for (const { path, changed, backup } of files) {
    const copy = backup === null ? "" : ` What was there before: ${shortPath(backup, task.place)}`;
    const shown = shortPath(path, task.place);
    say(context, changed ? `Wrote ${shown}.${copy}` : `${shown} is as it should be.`);
  }
  sayNotes(context, task, setup);
  const { start, name } = task.client;
  const who = start === undefined ? "What reads it" : name;
  const next = start === undefined ? "" : ` Start it: ${start}`;
  say(context, `${who} now speaks to ${slugsOf(task.targets)} through the gateway.${next}`);
}

function sayNotes({ terminal }: Speaking, task: Task, setup: Setup): void {
  for (const note of notesOf(task, setup)) terminal.err(`Note: ${note}\n`);
}

function notesOf(task: Task, setup: Setup): readonly string[] {
  const disabled = task.targets
    .filter(({ provider }) => !provider.enabled)
    .map(({ provider: { slug } }) => `${slug} is disabled. Enable it: keywheel provider set ${slug} --enabled`);
  return [...setup.notes, ...disabled, ...rivalsOf(task, setup)];
}

/** What of the person's own gets in the way: names alone, for their values may be keys. */
function rivalsOf({ client, place }: Task, { files }: Setup): readonly string[] {
  const here = client.rivals.filter((name) => (place.environment[name] ?? "") !== "");
  const inFiles = files.flatMap((file) => {
    const own = new Set(file.changes.map(({ path }) => path.at(-1)));
    const beside = file.changes[0]?.path.slice(0, -1) ?? [];
    return client.rivals
      .filter((name) => !own.has(name) && stands(file, [...beside, name]))
      .map((name) => `${name} stands in ${shortPath(file.path, place)} and gets in the way: take it out.`);
  });
  if (here.length === 0) return inFiles;
  const verbs = here.length === 1 ? (["is", "gets"] as const) : (["are", "get"] as const);
  const sentence = `${here.join(" and ")} ${verbs[0]} set in this terminal and ${verbs[1]} in the way: unset ${here.join(" ")}`;
  return [...inFiles, sentence];
}

function stands(file: Setup["files"][number], path: readonly string[]): boolean {
  try {
    return readAt(file, path) !== undefined;
  } catch (error) {
    // A file that cannot be read: whoever is to write it is told so; what is shown is right all the same.
    if (error instanceof CommandError) return false;
    throw error;
  }
}

function slugsOf(targets: readonly Target[]): string {
  return targets.map(({ provider }) => provider.slug).join(", ");
}

function summaryOf({ client, targets, choice }: Task): object {
  return {
    client: client.id,
    providers: targets.map(({ provider, url }) => ({ slug: provider.slug, url })),
    token: choice.origin,
  };
}
