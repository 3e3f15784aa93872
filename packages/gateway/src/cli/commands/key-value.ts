import { wrongWords } from "../exit.ts";
import { askHidden, readInput } from "../prompt.ts";
import type { Terminal } from "../terminal.ts";

/**
 * The value of a key as it was given: an argument, `-` for the standard input, or, where there is none, what a person
 * types unseen. White space around it is left to the control plane.
 *
 * @throws CommandError (2) if there is none
 */
export async function readKeyValue(terminal: Terminal, argument: string | undefined): Promise<string> {
  if (argument === "-") return filled(await readInput(terminal), "Nothing came on the standard input.");
  if (argument !== undefined) return fromArgument(terminal, argument);
  if (!terminal.canAsk)
    throw wrongWords("Say which key: a value, '$NAME' in quotes, or - to read it from the standard input.");
  return filled(await askHidden(terminal, "API key (what you type is not shown): "), "No key was typed.");
}

function fromArgument(terminal: Terminal, argument: string): string {
  const value = filled(
    argument,
    "The key is empty. If you meant an environment variable, put its name in quotes: '$NAME'. Without them the shell puts the value in its place, here nothing.",
  );
  if (!value.startsWith("$")) {
    terminal.err(
      "Note: a key in a command stays in the history of the shell and is seen by other programs. Leave it out to be asked for it, or give - and pipe it.\n",
    );
  }
  return value;
}

function filled(text: string, otherwise: string): string {
  if (text.trim() === "") throw wrongWords(otherwise);
  return text;
}
