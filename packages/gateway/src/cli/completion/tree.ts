import type { Command, Option } from "commander";
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
  /** Whether it takes a file itself. */
  readonly takesFile: boolean;
}

export interface Word {
  readonly word: string;
  readonly meaning: string;
}

/** Everything that can be said, as far as the program itself knows it: no provider, key or token is looked up. */
export function placesOf(program: Command): readonly Place[] {
  return [placeOf(program, ""), ...inside(program, "")];
}

function inside(command: Command, path: string): readonly Place[] {
  return command.commands.flatMap((one) => {
    const here = path === "" ? one.name() : `${path} ${one.name()}`;
    return [placeOf(one, here), ...inside(one, here)];
  });
}

function placeOf(command: Command, path: string): Place {
  const options = command.options.filter(({ hidden }) => !hidden);
  const help = { word: "--help", meaning: "show how it is used" };
  const valued = command.options.filter(({ required }) => required);
  const takesFile = command.registeredArguments.some((argument) => /file/.test(argument.name()));
  return {
    path,
    words: [...command.commands.map((one) => ({ word: one.name(), meaning: one.description() })), ...choicesAt(path)],
    options: [...options.map((option) => ({ word: wordOf(option), meaning: option.description })), help],
    valued: valued.map(wordOf),
    filed: valued.filter(({ flags }) => /<(file|folder|dir)>/i.test(flags)).map(wordOf),
    takesFile,
  };
}

export const shells = ["bash", "zsh", "fish"] as const;

/** What a command takes that is known beforehand. */
function choicesAt(path: string): readonly Word[] {
  if (path === "connect") return clients.map(({ id, name }) => ({ word: id, meaning: name }));
  return path === "completion" ? shells.map((word) => ({ word, meaning: `for ${word}` })) : [];
}

function wordOf({ long, short }: Option): string {
  return long ?? short ?? "";
}
