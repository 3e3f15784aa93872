import { Command, Option } from "commander";
import type { TokenFlags } from "./commands/token.ts";
import { addConfigCommands } from "./program-config.ts";
import { addConnect } from "./program-connect.ts";
import { addDataCommands } from "./program-data.ts";
import { addKeyCommands } from "./program-keys.ts";
import { type Actions, example, managing, repeatable } from "./program-parts.ts";
import { addProviderCommands } from "./program-providers.ts";
import { addWebhookCommands } from "./program-webhooks.ts";
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
    ["keywheel demo", "see it at work, without a key of your own"],
    ["keywheel start", "start the gateway on http://127.0.0.1:8787"],
    ["keywheel provider add openai", "choose a provider from the list"],
    ["keywheel key add openai", "add a key; it is asked for and not shown"],
    ["keywheel connect claude-code", "point a client at the gateway"],
    ["keywheel status", "see how the keys stand"],
  ]);

  addStart(program, actions);
  addProviderCommands(program, actions);
  addKeyCommands(program, actions);
  addConnect(program, actions);
  addSessionCommands(program, actions);
  addTokenCommands(program, actions);
  addWebhookCommands(program, actions);
  addStatus(program, actions);
  addDoctor(program, actions);
  addDataCommands(program, actions);
  addConfigCommands(program, actions);
  addDemo(program, actions);
  addCompletion(program, actions);
  addComplete(program, actions);
  program
    .command("version")
    .description("print the version")
    .option("--json", "as JSON")
    .action((flags: Flags) => actions.version(flags));
  return program;
}

function addStart(program: Command, actions: Actions): void {
  const start = program.command("start").description("start the gateway and serve until it is stopped");
  addSettings(start, Object.values<Setting<unknown>>(startSettings));
  start.option("--json", "print where it serves, and how to sign in, as JSON");
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

function addSettings(command: Command, settings: readonly Setting<unknown>[]): void {
  for (const setting of settings) {
    if (setting.variableOnly) continue;
    command.addOption(optionOf(setting));
    // So that a flag can win over a variable in both directions.
    if (setting.argument === undefined) command.addOption(new Option(`--no-${setting.name}`).hideHelp());
  }
}

function addDoctor(program: Command, actions: Actions): void {
  const doctor = program
    .command("doctor")
    .description("check everything that a gateway needs, whether it runs or not")
    .option("--json", "as JSON");
  const { host, port, dataDir, databaseUrl, envFile, secretsDir, config } = startSettings;
  const { requireToken, allowPrivateMetadata, upstreamClient } = startSettings;
  addSettings(doctor, [host, port, dataDir, databaseUrl, envFile, secretsDir, config]);
  addSettings(doctor, [requireToken, allowPrivateMetadata, upstreamClient]);
  doctor.action((flags: Flags) => actions.doctor(flags));
  example(doctor, [
    ["keywheel doctor", "exits with 1 if anything fails"],
    ["keywheel doctor --host 0.0.0.0", "would it start like this?"],
    ["keywheel doctor --config keywheel.yaml", "and with this file?"],
  ]);
}

function addCompletion(program: Command, actions: Actions): void {
  const completion = program
    .command("completion <shell>")
    .description("print what makes a shell complete these words: bash, zsh or fish")
    .option("--json", "as JSON")
    .action((shell: string, flags: Flags) =>
      actions.alone(flags, async (context) =>
        (await import("./commands/completion.ts")).printCompletion(context, program, shell),
      ),
    );
  example(completion, [
    ["source <(keywheel completion bash)", "in ~/.bashrc"],
    ["source <(keywheel completion zsh)", "in ~/.zshrc, behind compinit"],
    ["keywheel completion fish | source", "in ~/.config/fish/config.fish"],
  ]);
}

/** What the scripts of `completion` ask, each time that a name is to be completed. */
function addComplete(program: Command, actions: Actions): void {
  program
    .command("complete <kind>", { hidden: true })
    .action((kind: string, flags: Flags) =>
      actions.alone(flags, async ({ terminal }) =>
        (await import("./commands/completion.ts")).printNames(terminal, kind),
      ),
    );
}

function addDemo(program: Command, actions: Actions): void {
  const demo = program
    .command("demo")
    .description("see what it does, on a gateway of its own with invented keys; nothing is left behind")
    .option("--no-open", "do not open the pages in the browser; the link is printed all the same")
    .option("--json", "tell it as JSON, a line for each thing that happens")
    .option("--seconds <number>", "end by itself after so long, 5 or more (default: at Ctrl-C)")
    .action((flags: Flags) =>
      actions.alone(flags, async ({ terminal, json }) => (await import("./demo/demo.ts")).demo(flags, terminal, json)),
    );
  example(demo, [
    ["keywheel demo", "until Ctrl-C; the whole of it is told in a minute"],
    ["keywheel demo --no-open --seconds 30", "in half of that, in the terminal alone"],
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

  const show = managing(
    session.command("show <id>").description("show which requests of a session kept their key, and what was cached"),
  )
    .option("--provider <slug>", "of this provider, where others have sessions of the same id")
    .action((id: string, flags: Flags & { readonly provider?: string }) =>
      actions.manage(flags, async (context) =>
        (await import("./commands/affinity.ts")).showSession(context, id, flags),
      ),
    );
  example(show, [["keywheel session show my-conversation", "its keys, and what came from the prompt cache"]]);

  const end = managing(
    session.command("end <id...>").description("end sessions, by their id or the value that the client sent"),
  ).action((ids: readonly string[], flags: Flags) =>
    actions.manage(flags, async (context) => (await import("./commands/session.ts")).endSessions(context, ids)),
  );
  example(end, [["keywheel session end my-conversation", "its next request takes its turn on the wheel"]]);
}

function addTokenCommands(program: Command, actions: Actions): void {
  const token = program.command("token").description("make and revoke the tokens that clients show to the gateway");
  const create = withTerms(
    managing(token.command("create <name>").description("make a token; it is shown once")),
  ).action((name: string, flags: Flags & TokenFlags) =>
    actions.manage(flags, async (context) => (await import("./commands/token.ts")).createToken(context, name, flags), {
      creates: true,
    }),
  );
  example(create, [
    ["keywheel token create laptop", "for all providers"],
    ["keywheel token create ci --provider openai --expires 30d", "for one, and for a month"],
    ["keywheel token create batch --max-requests-per-minute 60 --max-concurrent 4", "with limits"],
  ]);
  const set = withTerms(
    managing(
      token.command("set <name>").description("change what a token is good for, by its name or id; the token stays"),
    ),
  )
    .option("--name <text>", "a new name")
    .action((name: string, flags: Flags & TokenFlags & { readonly name?: string }) =>
      actions.manage(flags, async (context) => (await import("./commands/token.ts")).setToken(context, name, flags)),
    );
  example(set, [["keywheel token set laptop --expires never --max-requests-per-minute none", "take its limits away"]]);
  managing(token.command("list").description("list the tokens")).action((flags: Flags) =>
    actions.manage(flags, async (context) => (await import("./commands/token.ts")).listTokens(context)),
  );
  managing(token.command("revoke <name>").description("revoke a token, by its name or id"))
    .option("-y, --yes", "do not ask")
    .action((name: string, flags: Flags & { readonly yes?: boolean }) =>
      actions.manage(flags, async (context) => (await import("./commands/token.ts")).revokeToken(context, name, flags)),
    );
  const rotate = managing(
    token
      .command("rotate-admin")
      .description("make the admin token anew; it is shown once, and browsers are signed out"),
  )
    .option("-y, --yes", "do not ask")
    .action((flags: Flags & { readonly yes?: boolean }) =>
      actions.manage(flags, async (context) => (await import("./commands/token.ts")).rotateAdminToken(context, flags)),
    );
  example(rotate, [["keywheel token rotate-admin", "after it may have been seen"]]);
}

function withTerms(command: Command): Command {
  return command
    .addOption(repeatable("--provider <slug>", "limit it to this provider; may be repeated; all for no such limit"))
    .option("--expires <when>", "refuse it from then on: 12h, 30d, 2w, 2027-01-31 or never (default: never)")
    .option("--max-requests-per-minute <number>", "requests in any 60 seconds, 1 to 100000 or none (default: none)")
    .option("--max-concurrent <number>", "requests at a time, streams included, 1 to 10000 or none (default: none)");
}

function addStatus(program: Command, actions: Actions): void {
  const status = managing(program.command("status").description("show how the gateway and its keys stand"))
    .option("--watch", "follow every key in a live table; where nobody looks on, a line for each change")
    .action((flags: Flags & { readonly watch?: boolean }) =>
      flags.watch
        ? actions.watch(flags, async (context, signal) =>
            (await import("./commands/watch.ts")).watchStatus(context, signal),
          )
        : actions.manage(flags, async (context) => (await import("./commands/status.ts")).showStatus(context)),
    );
  example(status, [["keywheel status --watch", "follow the keys; Ctrl-C ends it"]]);
}
