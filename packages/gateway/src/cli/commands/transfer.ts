import { existsSync } from "node:fs";
import { readFile } from "node:fs/promises";
import type { ExportDocument, ImportReport } from "../../contract/transfer.ts";
import { Refusal } from "../client/api-client.ts";
import { finish } from "../client/explain.ts";
import { failed, wrongWords } from "../exit.ts";
import type { documentOf } from "../import-from/document.ts";
import type { Left } from "../import-from/foreign.ts";
import { type ForeignTool, foreignTools } from "../import-from/tools.ts";
import { showProgress } from "../progress.ts";
import { readInput } from "../prompt.ts";
import { type Context, printJson, say } from "./context.ts";
import { askNewPassphrase, askPassphrase, givenPassphrase, type PassphraseFlags } from "./passphrase.ts";
import { taken, writePrivately } from "./private-file.ts";
import { counted } from "./words.ts";

export interface ExportFlags extends PassphraseFlags {
  readonly withSecrets?: boolean;
  readonly force?: boolean;
}

export interface ImportFlags extends PassphraseFlags {
  readonly withoutSecrets?: boolean;
  readonly keep?: boolean;
  readonly dryRun?: boolean;
  /** Another tool, whose file it is. */
  readonly from?: string;
}

export async function exportAll(context: Context, file: string | undefined, flags: ExportFlags): Promise<void> {
  const { terminal, client } = context;
  const target = file === "-" ? undefined : file;
  if (target !== undefined && flags.force !== true && existsSync(target)) throw taken(target);
  const given = await givenPassphrase(terminal, flags);
  const passphrase = given ?? (flags.withSecrets === true ? await askNewPassphrase(terminal) : undefined);
  const body = passphrase === undefined ? {} : { passphrase };
  const document = await client.call<ExportDocument>("POST", "/export", body).catch(inWords("Nothing was exported."));

  const keys = document.providers.flatMap((provider) => [
    ...(provider.api_key === null ? [] : [provider.api_key]),
    ...provider.keys.map((key) => key.api_key),
  ]);
  const omitted = keys.filter((key) => typeof key !== "string" && key.secret === undefined).length;
  const text = `${JSON.stringify(document, undefined, 2)}\n`;
  if (target === undefined) terminal.out(text);
  else writePrivately(target, text, flags.force === true);

  if (target !== undefined && context.json) {
    const counts = { providers: document.providers.length, keys: keys.length, omitted };
    return printJson(context, JSON.stringify({ file: target, ...counts }));
  }
  const tell = target === undefined ? terminal.err : terminal.out;
  tell(
    `Exported ${counted(document.providers.length, "provider")} and ${counted(keys.length, "key")}${target === undefined ? "" : ` to ${target}`}.\n`,
  );
  if (omitted > 0) {
    const one = omitted === 1;
    terminal.err(
      `The ${one ? "value" : "values"} of ${counted(omitted, "key")} ${one ? "is" : "are"} not in it: ${
        passphrase === undefined
          ? "--with-secrets takes them along, encrypted with a passphrase"
          : "they cannot be read"
      }.\n`,
    );
  }
  if (passphrase !== undefined) terminal.err("Keep the passphrase: without it the keys in the file cannot be read.\n");
}

export async function importAll(context: Context, file: string, flags: ImportFlags): Promise<void> {
  const { client } = context;
  const taken = flags.from === undefined ? undefined : await readForeign(context, file, flags.from);
  const left = taken?.left ?? [];
  const document = taken?.document ?? parse(file === "-" ? await readInput(context.terminal) : await read(file), file);
  const passphrase = await passphraseFor(context, document, flags);
  const body = { document, ...(passphrase === undefined ? {} : { passphrase }) };

  // Looked at first: a refusal would name fields, this names providers and keys.
  const planned = await client
    .call<ImportReport>("POST", "/import", { ...body, dry_run: true })
    .catch(inWords("Nothing was imported."));
  const conflicts = planned.providers.conflicts + planned.keys.conflicts;
  const isStopped = conflicts > 0 && flags.keep !== true;
  if (flags.dryRun === true || isStopped) {
    show(context, { ...planned, left }, isStopped && flags.dryRun !== true ? "stopped" : "dry");
    if (!isStopped) return;
    throw failed(
      `${flags.dryRun === true ? "Nothing would be" : "Nothing was"} imported: ${counted(conflicts, "entry differs", "entries differ")} from what is here. Change them, or say --keep to leave them as they are here and import the rest.`,
    );
  }
  const onConflict = flags.keep === true ? "keep" : "stop";
  const done = await bringIn(context, { ...body, on_conflict: onConflict });
  show(context, { ...done, left }, "done");
}

async function bringIn({ client, terminal }: Context, body: object): Promise<ImportReport> {
  using _progress = showProgress(terminal, "Importing");
  return await client.call<ImportReport>("POST", "/import", body).catch(inWords("Nothing was imported."));
}

/** What became of it, and what of another tool's file was never sent. */
type Shown = ImportReport & { readonly left: readonly Left[] };

function show(context: Context, { left, ...report }: Shown, state: "done" | "dry" | "stopped"): void {
  if (context.json) return printJson(context, JSON.stringify(left.length === 0 ? report : { ...report, left }));
  const { providers, keys, entries } = report;
  if (state !== "stopped") {
    const added = `${counted(providers.added, "provider")} and ${counted(keys.added, "key")}`;
    say(context, state === "dry" ? `${added} would be added.` : `Added ${added}.`);
    const same = providers.unchanged + keys.unchanged;
    if (same > 0) say(context, `${counted(same, "entry is", "entries are")} here already, unchanged.`);
  }
  const shown = entries.filter(({ outcome }) => outcome !== "added" || state === "dry");
  for (const { outcome, provider, key, reason } of shown) {
    const label = key === null || key.label === "" ? "" : ` "${key.label}"`;
    const name = key === null ? `provider ${provider}` : `${provider}: key ${key.api_key}${label}`;
    say(context, `  ${outcome === "added" ? "new" : outcome}  ${name}${reason === null ? "" : `  ${reason}`}`);
  }
  const missing = providers.missing + keys.missing;
  if (missing > 0) {
    say(
      context,
      `The ${missing === 1 ? "value" : "values"} of ${counted(missing, "key")} ${missing === 1 ? "is" : "are"} missing: add them with \`keywheel key add\`, or export with --with-secrets.`,
    );
  }
  if (left.length === 0) return;
  say(context, "Not taken over:");
  for (const { what, why } of left) say(context, `  ${what}: ${why}`);
}

/** @throws CommandError (1) for files that are not that tool's, or have nothing in them that could be taken */
async function readForeign(
  { terminal, json }: Context,
  path: string,
  tool: string,
): Promise<ReturnType<typeof documentOf>> {
  if (!isForeignTool(tool))
    throw wrongWords(`Expected --from to be one of ${foreignTools.join(", ")}, got ${JSON.stringify(tool)}.`);
  if (path === "-") throw wrongWords("With --from a file or a folder is named, not the standard input.");
  const [{ readers }, { documentOf }] = await Promise.all([
    import("../import-from/readers.ts"),
    import("../import-from/document.ts"),
  ]);
  const taken = documentOf(await readers[tool]({ path, environment: terminal.environment }), Date.now());
  if (taken.document.providers.length > 0) return taken;
  const left = taken.left.map(({ what, why }) => `  ${what}: ${why}`);
  if (json) terminal.out(`${JSON.stringify({ left: taken.left })}\n`);
  throw failed([`There is nothing in ${path} that could be taken over.`, ...left].join("\n"));
}

function isForeignTool(tool: string): tool is ForeignTool {
  return (foreignTools as readonly string[]).includes(tool);
}

async function passphraseFor(
  { terminal }: Context,
  document: Readonly<Record<string, unknown>>,
  flags: ImportFlags,
): Promise<string | undefined> {
  const isSealed = typeof document["secrets"] === "object" && document["secrets"] !== null;
  if (!isSealed || flags.withoutSecrets === true) return undefined;
  const whatFor = "The keys in this file are encrypted with a passphrase; --without-secrets leaves them out.";
  return (await givenPassphrase(terminal, flags)) ?? (await askPassphrase(terminal, whatFor));
}

/** @throws CommandError (1) for what is no export, or one of a newer version */
function parse(text: string, file: string): Readonly<Record<string, unknown>> {
  const name = file === "-" ? "What came on the standard input" : file;
  const document = parseObject(text, name);
  if (document["format"] !== "keywheel-export") throw failed(`${name} is no export of Keywheel.`);
  if (document["version"] !== 1) {
    throw failed(`${name} was made by a newer version of Keywheel. Import it with that version.`);
  }
  return document;
}

function parseObject(text: string, name: string): Readonly<Record<string, unknown>> {
  try {
    // Some editors put a byte order mark in front.
    const value: unknown = JSON.parse(text.replace(/^\ufeff/, ""));
    if (typeof value === "object" && value !== null && !Array.isArray(value)) return value as Record<string, unknown>;
  } catch (error) {
    throw failed(`${name} is damaged, or no export of Keywheel: it is not valid JSON.`, error);
  }
  throw failed(`${name} is no export of Keywheel.`);
}

async function read(file: string): Promise<string> {
  try {
    return await readFile(file, "utf8");
  } catch (error) {
    throw failed(`The file ${file} cannot be read: ${error instanceof Error ? error.message : String(error)}.`, error);
  }
}

/** Fields of the document are no flags: what is said of them stands for itself. */
function inWords(outcome: string): (error: unknown) => never {
  return (error) => {
    if (!(error instanceof Refusal) || error.errors.length === 0) throw error;
    const sentences = error.errors.slice(0, 20).map(({ path, message }) => {
      const isNamed = path === "passphrase" || message.includes(path) || !/^Expected|missing/.test(message);
      return finish(isNamed ? message : `${path}: ${message}`);
    });
    const rest = error.errors.length - sentences.length;
    throw failed([...sentences, ...(rest > 0 ? [`And ${rest} more.`] : []), outcome].join("\n"), error);
  };
}
