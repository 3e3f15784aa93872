import type { Command } from "commander";
import { bashScript, fishScript, zshScript } from "../completion/scripts.ts";
import { type NameKind, nameKinds, placesOf, shells } from "../completion/tree.ts";
import { wrongWords } from "../exit.ts";
import { printable, type Terminal } from "../terminal.ts";
import { type Context, printJson } from "./context.ts";

const scripts = { bash: bashScript, zsh: zshScript, fish: fishScript } as const;

/** @throws CommandError (2) for a shell that is not known */
export function printCompletion(
  context: Pick<Context, "terminal" | "json">,
  program: Command,
  shellName: string,
): void {
  const shell = shells.find((known) => known === shellName);
  if (shell === undefined)
    throw wrongWords(`There is no completion for "${shellName}". There is for ${shells.join(", ")}.`);
  const script = scripts[shell](placesOf(program));
  if (context.json) printJson(context, JSON.stringify({ shell, script }));
  else context.terminal.out(script);
}

/**
 * Prints what is stored under names of a kind, one a line, for the shell that completes them: the name, a tab, and what to show
 * beside it. Where nothing can be read it prints nothing, and says nothing: somebody is in the middle of a line.
 */
export async function printNames(terminal: Terminal, kindName: string): Promise<void> {
  const kind: NameKind | undefined = nameKinds.find((known) => known === kindName);
  if (kind === undefined) return;
  try {
    const { storedNames } = await import("../completion/stored-names.ts");
    const { readConnection } = await import("../connection.ts");
    const offers = await storedNames(kind, readConnection({}, terminal.environment));
    for (const { word, note } of offers) terminal.out(`${printable(word)}\t${printable(note)}\n`);
  } catch {
    // Every other command tells what is wrong; here it would be written over what is being typed.
  }
}
