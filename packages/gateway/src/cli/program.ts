import { Command, Option } from "commander";
import { addDataCommands } from "./program-data.ts";
import { addKeyCommands } from "./program-keys.ts";
import { type Actions, example, managing, repeatable } from "./program-parts.ts";
import { addProviderCommands } from "./program-providers.ts";
import type { Flags, Setting } from "./settings.ts";
import { startSettings } from "./start-options.ts";
import { describeVersion } from "./version.ts";

/** The words of the command line, and what each of them does. */
export function buildProgram(actions: Actions): Command {
  const program = new Command("keywheel")
    .description("Pools API keys of LLM providers behind one address.")
    .version(describeVersion(), "-v, --version", "print the version")
    .helpCommand("help [command]", "show the help of a command");
  example(program, [
    ["keywheel start", "start the gateway on http://127.0.0.1:8787"],
    ["keywheel provider add openai", "choose a provider from the list"],
    ["keywheel key add openai", "add a key; it is asked for and not shown"],
    ["keywheel status", "see how the keys stand"],
  ]);

  addStart(program, actions);
  addProviderCommands(program, actions);
  addKeyCommands(program, actions);
  addSessionCommands(program, actions);
  addTokenCommands(program, actions);
  addStatus(program, actions);
  addDataCommands(program, actions);
  program
    .command("version")
    .description("print the version")
    .option("--json", "as JSON")
    .action((flags: Flags) => actions.version(flags));
  return program;
}

function addStart(program: Command, actions: Actions): void {
  const start = program.command("start").description("start the gateway and serve until it is stopped");
  for (const setting of Object.values<Setting<unknown>>(startSettings)) {
    if (setting.variableOnly) continue;
    start.addOption(optionOf(setting));
    // So that a flag can win over a variable in both directions.
    if (setting.argument === undefined) start.addOption(new Option(`--no-${setting.name}`).hideHelp());
  }
  start.action((flags: Flags) => actions.start(flags));
  start.addHelpText(
    "after",
    `
Each flag can be given as a variable: --port is KEYWHEEL_PORT. A flag wins.
Only as variables, because a command line is seen by others:
  KEYWHEEL_ADMIN_TOKEN  fixes the admin token
  KEYWHEEL_MASTER_KEY   encrypts stored keys: 32 bytes in base64`,
  );
  example(start, [
    ["keywheel start", "with the data in your home directory"],
    ["keywheel start --port 9000 --data-dir ./data", "elsewhere"],
    ["keywheel start --open", "and show the settings page"],
  ]);
}

function optionOf({ name, argument, description, fallback, repeatable: isRepeatable }: Setting<unknown>): Option {
  const isShown = typeof fallback === "string" || typeof fallback === "number";
  const byDefault = isShown ? ` (default: ${fallback})` : "";
  const flag = `--${name}${argument === undefined ? "" : ` ${argument}`}`;
  const words = `${description}${byDefault}`;
  return isRepeatable ? repeatable(flag, words) : new Option(flag, words);
}

function addSessionCommands(program: Command, actions: Actions): void {
  const session = program.command("session").description("see and end the sessions that are bound to keys");
  const list = managing(session.command("list").description("list the sessions, the last used first"))
    .option("--provider <slug>", "only those of one provider")
    .option("--key <id>", "only those of one key")
    .option("--search <text>", "only those with this in their id")
    .option("--limit <number>", "how many at the most, 1 to 1000 (default: 100)")
    .option("--cursor <text>", "go on where the last list ended")
    .action((flags: Flags) =>
      actions.manage(flags, async (context) => (await import("./commands/session.ts")).listSessions(context, flags)),
    );
  example(list, [["keywheel session list --provider openai", "whose requests go to which key"]]);

  const end = managing(
    session.command("end <id...>").description("end sessions, by their id or the value that the client sent"),
  ).action((ids: readonly string[], flags: Flags) =>
    actions.manage(flags, async (context) => (await import("./commands/session.ts")).endSessions(context, ids)),
  );
  example(end, [["keywheel session end my-conversation", "its next request takes its turn on the wheel"]]);
}

function addTokenCommands(program: Command, actions: Actions): void {
  const token = program.command("token").description("make and revoke the tokens that clients show to the gateway");
  const create = managing(token.command("create <name>").description("make a token; it is shown once"))
    .addOption(repeatable("--provider <slug>", "limit it to this provider; may be repeated"))
    .action((name: string, flags: Flags & { readonly provider?: readonly string[] }) =>
      actions.manage(
        flags,
        async (context) => (await import("./commands/token.ts")).createToken(context, name, flags),
        { creates: true },
      ),
    );
  example(create, [
    ["keywheel token create laptop", "for all providers"],
    ["keywheel token create ci --provider openai", "for one"],
  ]);
  managing(token.command("list").description("list the tokens")).action((flags: Flags) =>
    actions.manage(flags, async (context) => (await import("./commands/token.ts")).listTokens(context)),
  );
  managing(token.command("revoke <name>").description("revoke a token, by its name or id"))
    .option("-y, --yes", "do not ask")
    .action((name: string, flags: Flags & { readonly yes?: boolean }) =>
      actions.manage(flags, async (context) => (await import("./commands/token.ts")).revokeToken(context, name, flags)),
    );
}

function addStatus(program: Command, actions: Actions): void {
  const status = managing(program.command("status").description("show how the gateway and its keys stand"))
    .option("--watch", "show it again every second")
    .action((flags: Flags & { readonly watch?: boolean }) =>
      flags.watch
        ? actions.watch(flags, async (context, signal) =>
            (await import("./commands/status.ts")).watchStatus(context, signal),
          )
        : actions.manage(flags, async (context) => (await import("./commands/status.ts")).showStatus(context)),
    );
  example(status, [["keywheel status --watch", "follow the keys; Ctrl-C ends it"]]);
}
