import { CommanderError } from "commander";
import { isKeywheelError } from "@keywheel/pool";
import { Redactor } from "../telemetry/redactor.ts";
import { Refusal } from "./client/api-client.ts";
import { explain, finish } from "./client/explain.ts";
import { CommandError, done } from "./exit.ts";
import { buildProgram } from "./program.ts";
import type { Actions } from "./program-parts.ts";
import type { Flags } from "./settings.ts";
import { printable, type Terminal } from "./terminal.ts";
import { describeVersion, programVersion } from "./version.ts";
import { sentenceOf } from "./wrong-words.ts";

/**
 * Does what the words of the call say.
 *
 * @param words argv without the program
 * @returns the exit code: 0 done, 1 failed, 2 the words are off
 */
export async function run(words: readonly string[], terminal: Terminal): Promise<number> {
  const program = buildProgram(actionsFor(terminal));
  for (const command of [program, ...program.commands, ...program.commands.flatMap(({ commands }) => commands)]) {
    command.exitOverride().configureOutput({
      writeOut: terminal.out,
      writeErr: terminal.err,
      // What was wrong is said below, once, and without repeating a key that stood in the wrong place.
      outputError: () => {},
    });
  }
  try {
    await program.parseAsync(words, { from: "user" });
    return done;
  } catch (error) {
    return report(error, words, terminal);
  }
}

function actionsFor(terminal: Terminal): Actions {
  return {
    start: async (flags) => (await import("./start.ts")).start(flags, terminal),
    manage: async (flags, command, { creates = false } = {}) => {
      const { connect } = await import("./client/connect.ts");
      const { readConnection } = await import("./connection.ts");
      const { environment } = terminal;
      const client = await connect({ connection: readConnection(flags, environment), environment, creates });
      try {
        await command({ client, terminal, json: flags["json"] === true });
      } finally {
        await client.close();
      }
    },
    watch: async (flags, command) => {
      const interruption = new AbortController();
      for (const signal of ["SIGINT", "SIGTERM", "SIGHUP"] as const) process.once(signal, () => interruption.abort());
      const end = AbortSignal.any([interruption.signal, terminal.closed]);
      await actionsFor(terminal).manage(flags, (context) => command(context, end));
    },
    outsideUrl: async (flags) => {
      const { readConnection } = await import("./connection.ts");
      const connection = readConnection(flags, terminal.environment);
      if (connection.url === undefined) return undefined;
      const { adminTokenFor } = await import("./client/connect.ts");
      return (await adminTokenFor(connection.url, connection)) === undefined ? connection.url : undefined;
    },
    doctor: async (flags) => (await import("./doctor/doctor.ts")).doctor(flags, terminal),
    onDataDir: async (flags, command) => {
      const { readConnection } = await import("./connection.ts");
      await command({
        connection: readConnection(flags, terminal.environment),
        terminal,
        json: flags["json"] === true,
      });
    },
    alone: (flags, command) => command({ terminal, json: flags["json"] === true }),
    version: (flags) => terminal.out(`${versionFor(flags)}\n`),
  };
}

function versionFor(flags: Flags): string {
  return flags["json"] === true
    ? JSON.stringify({ version: programVersion(), node: process.versions.node })
    : describeVersion();
}

function report(error: unknown, words: readonly string[], terminal: Terminal): number {
  if (error instanceof CommanderError) {
    // Help and version were shown; help instead of an answer to no words at all, too.
    if (/^commander\.(help|version)/.test(error.code)) return error.exitCode === 0 ? done : 2;
    say(terminal, sentenceOf(error, buildProgram(actionsFor(terminal)), words));
    return 2;
  }
  const { exitCode, message } = error instanceof Refusal ? explain(error) : commandErrorOf(error);
  say(terminal, message);
  return exitCode;
}

function commandErrorOf(error: unknown): { readonly exitCode: number; readonly message: string } {
  if (error instanceof CommandError) return error;
  if (isKeywheelError(error)) return { exitCode: 1, message: `${finish(error.message)}\n${error.hint}` };
  const shown = error instanceof Error ? (error.stack ?? error.message) : String(error);
  return { exitCode: 1, message: `Something went wrong inside keywheel.\n${shown}` };
}

function say(terminal: Terminal, message: string): void {
  const lines = new Redactor().redact(message).split("\n");
  terminal.err(`${lines.map(printable).join("\n")}\n`);
}
