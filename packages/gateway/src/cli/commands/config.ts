import { existsSync } from "node:fs";
import { parseKeyText } from "../../catalog/key-text.ts";
import type { Resolution } from "../../catalog/environment.ts";
import type { ConfigExport, ConfigMistake, ConfigState } from "../../contract/config-file.ts";
import { lineOf, mistakesOf, readText, wordsOf } from "../config-file/config-file.ts";
import { failed } from "../exit.ts";
import { readInput } from "../prompt.ts";
import { readSettings, type Environment as Variables } from "../settings.ts";
import { startSettings } from "../start-options.ts";
import { type Context, printJson, say } from "./context.ts";
import { taken, writePrivately } from "./private-file.ts";
import { counted } from "./words.ts";

export interface CheckFlags {
  readonly strict?: boolean;
}

export interface ConfigExportFlags {
  readonly force?: boolean;
}

type Alone = Pick<Context, "terminal" | "json">;

/** @throws CommandError (1) that names every mistake with its line */
export async function checkConfig(context: Alone, file: string, flags: CheckFlags & object): Promise<void> {
  const { terminal } = context;
  const name = file === "-" ? "standard input" : file;
  const text = file === "-" ? await readInput(terminal) : readFile(file);
  const { mistakes, warnings, counts } = await judgeConfig(text, terminal.environment, flags);
  const isRight = mistakes.length === 0 && (flags.strict !== true || warnings.length === 0);
  if (context.json) {
    printJson(context, JSON.stringify({ file: name, ok: isRight, mistakes, warnings, ...counts }));
    if (isRight) return;
    throw failed(`${name} cannot be taken.`);
  }
  for (const warning of warnings) terminal.err(`${name}:${lineOf(warning)}. (warning)\n`);
  if (!isRight) {
    const count = mistakes.length > 0 ? counted(mistakes.length, "mistake") : counted(warnings.length, "warning");
    throw failed([...mistakes.map((mistake) => `${name}:${lineOf(mistake)}`), `${name} has ${count}.`].join("\n"));
  }
  const { providers = 0, keys = 0, tokens = 0 } = counts;
  say(
    context,
    `${name} is right: ${counted(providers, "provider")}, ${counted(keys, "key")}, ${counted(tokens, "token")}.`,
  );
}

/** What is to be said of a file of configuration. */
export interface Judgement {
  readonly mistakes: readonly ConfigMistake[];
  readonly warnings: readonly ConfigMistake[];
  /** Why references to values of keys come to nothing here, a sentence each; keychains are not asked for it. */
  readonly missing: readonly string[];
  readonly counts: { readonly providers?: number; readonly keys?: number; readonly tokens?: number };
}

/** Reads it as a gateway with this environment would, references to values included. Asks nobody, changes nothing. */
export async function judgeConfig(text: string, environment: Variables, flags: object): Promise<Judgement> {
  const { readConfig } = await import("../config-file/read-config.ts");
  const read = readConfig(text);
  if (!read.ok) return { mistakes: read.mistakes, warnings: [], missing: [], counts: {} };
  const { checkDeclared } = await import("../../catalog/declared/declared-book.ts");
  const { Environment } = await import("../../catalog/environment.ts");
  const { envFile, secretsDir, allowPrivateMetadata } = startSettings;
  const options = readSettings({ envFile, secretsDir, allowPrivateMetadata }, { ...flags }, environment);
  const variables = new Environment({
    variables: environment,
    pollMs: 0,
    files: { folders: options.secretsDir, closed: [] },
    ...(options.envFile === undefined ? {} : { envFile: options.envFile }),
  });
  const { problems, warnings } = checkDeclared(read.config, {
    allowPrivateMetadata: options.allowPrivateMetadata,
    resolve: (name) => variables.resolve(name),
  });
  const providers = Object.values(read.config.providers);
  const texts = providers.flatMap(({ api_key: own, keys }) =>
    [own ?? [], (keys ?? []).map((key) => key.api_key)].flat(),
  );
  return {
    missing: missingOf(texts, (name) => variables.peek(name)),
    mistakes: mistakesOf(problems, read.locate),
    warnings: mistakesOf(warnings, read.locate),
    counts: {
      providers: providers.length,
      keys: providers.reduce((sum, { keys }) => sum + (keys?.length ?? 0), 0),
      tokens: Object.keys(read.config.tokens ?? {}).length,
    },
  };
}

function missingOf(texts: readonly string[], resolve: (name: string) => Resolution): readonly string[] {
  return [...new Set(texts)].flatMap((text) => {
    const parsed = parseKeyText(text);
    if (!parsed.ok || parsed.secret.kind !== "reference" || parsed.secret.name.startsWith("keychain:")) return [];
    const resolution = resolve(parsed.secret.name);
    return resolution.kind === "resolved" ? [] : [resolution.message];
  });
}

/** @throws CommandError (1) while the file cannot be taken */
export async function showConfig(context: Context): Promise<void> {
  show(context, await context.client.call<ConfigState>("GET", "/config"));
}

/** @throws CommandError (1) if it cannot be taken */
export async function reloadConfig(context: Context): Promise<void> {
  show(context, await context.client.call<ConfigState>("POST", "/config/reload", {}));
}

function show(context: Context, state: ConfigState): void {
  const { file, problem, mistakes, warnings, applied_at: appliedAt } = state;
  if (context.json) printJson(context, JSON.stringify(state));
  else if (file === null) {
    say(context, "The gateway follows no configuration file. Start it with --config keywheel.yaml to have one.");
  } else {
    if (problem === null) say(context, `${file} is in force, taken up ${appliedAt ?? "never"}.`);
    for (const warning of warnings) context.terminal.err(`${file}:${lineOf(warning)}. (warning)\n`);
  }
  if (problem === null) return;
  const lines =
    mistakes.length > 0 ? mistakes.map((mistake) => `${file}:${lineOf(mistake)}`) : [`${file}: ${problem}.`];
  throw failed([...lines, "What was taken up before goes on."].join("\n"));
}

export async function exportConfig(
  context: Context,
  file: string | undefined,
  flags: ConfigExportFlags,
): Promise<void> {
  const { terminal, client } = context;
  const target = file === "-" ? undefined : file;
  if (target !== undefined && flags.force !== true && existsSync(target)) throw taken(target);
  const exported = await client.call<ConfigExport>("GET", "/config/export");
  const text = await yamlOf(exported);
  if (target === undefined) terminal.out(text);
  else writePrivately(target, text, flags.force === true);
  const { document, variables } = exported;
  if (target !== undefined && context.json) {
    return printJson(context, JSON.stringify({ file: target, variables }));
  }
  const providers = Object.keys(document.providers).length;
  terminal.err(`Exported ${counted(providers, "provider")}${target === undefined ? "" : ` to ${target}`}.\n`);
  if (variables.length > 0) {
    terminal.err(`${counted(variables.length, "key")} must be put into variables first, as the file says.\n`);
  }
}

async function yamlOf({ document, variables }: ConfigExport): Promise<string> {
  const { stringify } = await import("yaml");
  const legend = variables.map(
    ({ name, provider, label, masked }) => `#   ${name}  ${masked}  ${provider}${label === "" ? "" : `, ${label}`}\n`,
  );
  const head =
    variables.length === 0
      ? []
      : [
          "# Put these keys into variables, or into files (file:/run/secrets/…), before this file is used:\n",
          ...legend,
        ];
  return `${head.join("")}${stringify(document, { lineWidth: 0 })}`;
}

export async function printSchema({ terminal }: Alone): Promise<void> {
  const { configFileJsonSchema } = await import("../../contract/config-file.ts");
  terminal.out(`${JSON.stringify(configFileJsonSchema(), undefined, 2)}\n`);
}

function readFile(file: string): string {
  try {
    return readText(file);
  } catch (error) {
    throw failed(`The file ${file} cannot be read: ${wordsOf(error)}.`, error);
  }
}
