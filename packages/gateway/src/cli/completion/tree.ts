import type { Command, Option } from "commander";
import { providerPresets } from "../../catalog/presets.ts";
import { clients } from "../connect/clients.ts";

/** A place in the words of the command line, and what may come next. */
export interface Place {
  /** The words that lead there: "", "key", "key add". */
  readonly path: string;
  readonly words: readonly Word[];
  readonly options: readonly Word[];
  /** Of the options, those behind which a value follows. */
  readonly valued: readonly string[];
  /** Of those, the ones whose value is a file or a folder. */
  readonly filed: readonly string[];
  /** Whether it takes a file itself, behind a stored name where it takes one as well. */
  readonly takesFile: boolean;
  /** What is stored under the name that it takes first. */
  readonly names: NameKind | undefined;
  /** Whether more of them may follow. */
  readonly takesSeveral: boolean;
  /** Of the options, those whose value is the name of a provider. */
  readonly providers: readonly string[];
}

/** What is stored under a name that can be said on the command line. */
export const nameKinds = ["provider", "key", "token", "webhook"] as const;
export type NameKind = (typeof nameKinds)[number];

export interface Word {
  readonly word: string;
  readonly meaning: string;
}

/** Everything that can be said. What is stored is named by its kind here: it is looked up when it is asked for. */
export function placesOf(program: Command): readonly Place[] {
  return [placeOf(program, ""), ...inside(program, "")];
}

function inside(command: Command, path: string): readonly Place[] {
  return visible(command).flatMap((one) => {
    const here = path === "" ? one.name() : `${path} ${one.name()}`;
    return [placeOf(one, here), ...inside(one, here)];
  });
}

function visible(command: Command): readonly Command[] {
  const shown = new Set(command.createHelp().visibleCommands(command));
  return command.commands.filter((one) => shown.has(one));
}

function placeOf(command: Command, path: string): Place {
  const options = command.options.filter(({ hidden }) => !hidden);
  const help = { word: "--help", meaning: "show how it is used" };
  const valued = command.options.filter(({ required }) => required);
  const takesFile = command.registeredArguments.some((argument) => /file/.test(argument.name()));
  return {
    path,
    words: [...visible(command).map((one) => ({ word: one.name(), meaning: one.description() })), ...choicesAt(path)],
    options: [...options.map((option) => ({ word: wordOf(option), meaning: option.description })), help],
    valued: valued.map(wordOf),
    filed: valued.filter(({ flags }) => /<(file|folder|dir)>/i.test(flags)).map(wordOf),
    takesFile,
    names: namesAt(command, path),
    takesSeveral: command.registeredArguments[0]?.variadic === true,
    providers: valued.filter(({ flags }) => flags.startsWith("--provider ")).map(wordOf),
  };
}

/** What is not stored yet has no name that could be offered. */
const makers = ["provider add", "token create", "webhook add"];

function namesAt({ registeredArguments: [first] }: Command, path: string): NameKind | undefined {
  if (first === undefined || makers.includes(path)) return undefined;
  const [subject] = path.split(" ");
  return nameKinds.find((kind) => first.name() === kind || (kind === subject && /^(slug|name)$/.test(first.name())));
}

export const shells = ["bash", "zsh", "fish"] as const;

/** What a command takes that is known beforehand. */
function choicesAt(path: string): readonly Word[] {
  if (path === "connect") return clients.map(({ id, name }) => ({ word: id, meaning: name }));
  if (path === "provider add") return providerPresets.map(({ slug, name }) => ({ word: slug, meaning: name }));
  return path === "completion" ? shells.map((word) => ({ word, meaning: `for ${word}` })) : [];
}

function wordOf({ long, short }: Option): string {
  return long ?? short ?? "";
}
