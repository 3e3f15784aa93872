import { type Command, Option } from "commander";
import type { CheckFlags, ConfigExportFlags } from "./commands/config.ts";
import { type Actions, example, managing } from "./program-parts.ts";
import type { Flags } from "./settings.ts";

/** The words for `keywheel.yaml`. */
export function addConfigCommands(program: Command, actions: Actions): void {
  const config = program.command("config").description("work with a configuration file (keywheel.yaml)");
  addCheck(config, actions);
  const status = managing(
    config.command("status").description("how the file that the gateway follows stands, mistakes and all"),
  ).action((flags: Flags) =>
    actions.manage(flags, async (context) => (await import("./commands/config.ts")).showConfig(context)),
  );
  example(status, [["keywheel config status", "exits with 1 while the file cannot be taken"]]);
  managing(config.command("reload").description("have the gateway read its file again now")).action((flags: Flags) =>
    actions.manage(flags, async (context) => (await import("./commands/config.ts")).reloadConfig(context)),
  );
  addExport(config, actions);
  const schema = config
    .command("schema")
    .description("print the JSON Schema of the file, for editors")
    // It is JSON in any case: nobody has to know that.
    .addOption(new Option("--json").hideHelp())
    .action(() => actions.alone({}, async (context) => (await import("./commands/config.ts")).printSchema(context)));
  example(schema, [["keywheel config schema > keywheel.schema.json", "and # yaml-language-server: $schema=… on top"]]);
}

function addCheck(config: Command, actions: Actions): void {
  const check = config
    .command("check <file>")
    .description("say every mistake of a file, with its line; - is the standard input")
    .addOption(new Option("--json", "as JSON"))
    .option("--strict", "fail for warnings too: keys that stand in the file itself, tokens that are not there")
    .option("--env-file <file>", "look up what `$NAME` comes to in this file as well (KEYWHEEL_ENV_FILE)")
    .action((file: string, flags: Flags & CheckFlags) =>
      actions.alone(flags, async (context) => (await import("./commands/config.ts")).checkConfig(context, file, flags)),
    );
  example(check, [
    ["keywheel config check keywheel.yaml", "before it is put in place; needs no gateway"],
    ["keywheel config check --strict keywheel.yaml", "in a pipeline: no key in the clear either"],
  ]);
}

function addExport(config: Command, actions: Actions): void {
  const take = managing(
    config.command("export [file]").description("write what the gateway has as a keywheel.yaml, without a secret"),
  )
    .option("--force", "replace the file if it is there")
    .action((file: string | undefined, flags: Flags & ConfigExportFlags) =>
      actions.manage(flags, async (context) =>
        (await import("./commands/config.ts")).exportConfig(context, file, flags),
      ),
    );
  take.addHelpText(
    "after",
    `
In the place of each key whose value is in the database stands a variable such as $OPENAI_KEY_1. Put the key into it before the
file is used: the gateway then finds that it holds that key already, and refers to the variable from then on.`,
  );
  example(take, [
    ["keywheel config export keywheel.yaml", "the beginning of a configuration in git"],
    ["keywheel start --config keywheel.yaml", "and then follow it"],
  ]);
}
