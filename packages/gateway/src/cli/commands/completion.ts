import type { Command } from "commander";
import { bashScript, fishScript, zshScript } from "../completion/scripts.ts";
import { placesOf, shells } from "../completion/tree.ts";
import { wrongWords } from "../exit.ts";
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
