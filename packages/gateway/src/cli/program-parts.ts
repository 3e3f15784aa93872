import { type Command, Option } from "commander";
import type { Context, DataDirContext } from "./commands/context.ts";
import { type Flags, variableOf } from "./settings.ts";

/** What the words of a call lead to. */
export interface Actions {
  readonly start: (flags: Flags) => Promise<void>;
  /** Runs a command with a way to the gateway, or to the data directory if none runs. */
  readonly manage: (
    flags: Flags,
    command: (context: Context) => Promise<void>,
    /** `creates`: makes a data directory if there is none. */
    options?: { readonly creates?: boolean },
  ) => Promise<void>;
  /** The same until it is interrupted. */
  readonly watch: (flags: Flags, command: (context: Context, signal: AbortSignal) => Promise<void>) => Promise<void>;
  /** The address that is named with `--url`, if this caller is not the operator there; undefined otherwise. */
  readonly outsideUrl: (flags: Flags) => Promise<string | undefined>;
  /** Says how everything stands that a gateway needs. */
  readonly doctor: (flags: Flags) => Promise<void>;
  /** Runs a command on the data directory itself, whether or not a gateway has it. */
  readonly onDataDir: (flags: Flags, command: (place: DataDirContext) => Promise<void>) => Promise<void>;
  /** Runs a command that needs no gateway and no data directory. */
  readonly alone: (
    flags: Flags,
    command: (context: Pick<Context, "terminal" | "json">) => Promise<void>,
  ) => Promise<void>;
  readonly version: (flags: Flags) => void;
}

/** A command that speaks to the gateway. */
export function managing(command: Command): Command {
  return command
    .addOption(new Option("--json", "print the answer of the gateway as JSON"))
    .addOption(
      new Option("--url <address>", `address of the gateway (${variableOf({ name: "url" })})`).helpGroup("Connection:"),
    )
    .addOption(dataDirOption().helpGroup("Connection:"))
    .addOption(databaseOption().helpGroup("Connection:"));
}

/** A command that works on the files of a data directory. */
export function onDataDir(command: Command): Command {
  return command
    .addOption(new Option("--json", "print what was done as JSON"))
    .addOption(dataDirOption())
    .addOption(databaseOption());
}

function databaseOption(): Option {
  const variable = variableOf({ name: "database-url" });
  return new Option("--database-url <url>", `database of the gateway, if it is PostgreSQL (${variable})`);
}

function dataDirOption(): Option {
  return new Option("--data-dir <folder>", `data directory of the gateway (${variableOf({ name: "data-dir" })})`);
}

/** Shows calls below the help of a command, each with what it is for. */
export function example(command: Command, lines: readonly (readonly [string, string])[]): void {
  const width = Math.max(...lines.map(([words]) => words.length));
  const shown = lines.map(([words, meaning]) => `  ${words.padEnd(width)}  ${meaning}`);
  command.addHelpText("after", `\nExamples:\n${shown.join("\n")}`);
}

/** An option that may be given several times. */
export function repeatable(flags: string, description: string): Option {
  return new Option(flags, description).argParser((text: string, before: string[] | undefined) => [
    ...(before ?? []),
    text,
  ]);
}
