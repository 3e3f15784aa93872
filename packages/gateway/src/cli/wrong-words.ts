import type { Command, CommanderError } from "commander";
import { nearest } from "./nearest.ts";

/**
 * What is wrong with the words of a call, as sentences. Values are not repeated: one that stands in the wrong place may be
 * a key.
 */
export function sentenceOf(error: CommanderError, program: Command, words: readonly string[]): string {
  const command = commandOf(program, words);
  const help = `See: ${[...pathOf(command), "--help"].join(" ")}`;
  return `${whatIsWrong(error, command)}\n${help}`;
}

function whatIsWrong({ code, message }: CommanderError, command: Command): string {
  const words = message.replace(/^error: /, "");
  if (code === "commander.unknownOption") {
    const flag = /unknown option '(--?[\w-]*)/.exec(words)?.[1] ?? "";
    const known = command.options.filter(({ hidden }) => !hidden).map(({ long }) => long ?? "");
    return `There is no flag \`${flag}\`.${question(nearest(flag, known))}`;
  }
  if (code === "commander.unknownCommand") {
    const word = /unknown command '([^']*)'/.exec(words)?.[1] ?? "";
    return `There is no command \`${word}\`.${question(
      nearest(
        word,
        command.commands.map((one) => one.name()),
      ),
    )}`;
  }
  if (code === "commander.excessArguments") return "There are more words than this command takes.";
  if (code === "commander.missingArgument") return `The word <${/'([^']*)'/.exec(words)?.[1] ?? ""}> is missing.`;
  if (code === "commander.optionMissingArgument") {
    return `The flag \`${/option '([^']*)'/.exec(words)?.[1] ?? ""}\` needs a value.`;
  }
  return `${words.charAt(0).toUpperCase()}${words.slice(1)}.`;
}

function question(choice: string | undefined): string {
  return choice === undefined ? "" : ` Did you mean ${choice}?`;
}

/** The command that the first words lead to. */
function commandOf(program: Command, words: readonly string[]): Command {
  let command = program;
  for (const word of words) {
    const next = command.commands.find((one) => one.name() === word);
    if (next === undefined) return command;
    command = next;
  }
  return command;
}

function pathOf(command: Command): string[] {
  return command.parent === null ? [command.name()] : [...pathOf(command.parent), command.name()];
}
