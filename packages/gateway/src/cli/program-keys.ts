import type { Command } from "commander";
import type { KeyFlags } from "./commands/key.ts";
import { type Actions, example, managing } from "./program-parts.ts";
import type { Flags } from "./settings.ts";

type Given = Flags & KeyFlags;

const which = "a key is named by its id, or by its label";

export function addKeyCommands(program: Command, actions: Actions): void {
  const key = program.command("key").description("manage the keys of providers");
  addEntry(key, actions);
  addLists(key, actions);
  addChanges(key, actions);
}

function addEntry(key: Command, actions: Actions): void {
  const add = managing(key.command("add <provider> [value]").description("add a key to the pool of a provider"));
  withFields(add).action((provider: string, value: string | undefined, flags: Given) =>
    actions.manage(flags, async (context) =>
      (await import("./commands/key.ts")).addKey(context, { provider, value, flags }),
    ),
  );
  example(add, [
    ["keywheel key add openai", "asks for the key and does not show it"],
    ["keywheel key add openai '$OPENAI_KEY_1' --weight 3", "from the environment of the gateway; mind the quotes"],
    ["pass show openai | keywheel key add openai -", "from a password store"],
  ]);

  const take = managing(
    key.command("import <provider> <file>").description("add keys from a list; - is the standard input"),
  )
    .option("--dry-run", "say what would be added, and add nothing")
    .option("--group <name>", "the group of all of them, if they share their limits")
    .action((provider: string, file: string, flags: Flags & { readonly dryRun?: boolean; readonly group?: string }) =>
      actions.manage(flags, async (context) =>
        (await import("./commands/key.ts")).importKeys(context, {
          provider,
          file,
          dryRun: flags.dryRun === true,
          group: flags.group,
        }),
      ),
    );
  example(take, [["keywheel key import openai keys.txt", "one key a line, or key,label,weight"]]);
}

function addLists(key: Command, actions: Actions): void {
  managing(key.command("list [provider]").description("list the keys in the order of the wheel, values masked")).action(
    (provider: string | undefined, flags: Flags) =>
      actions.manage(flags, async (context) => (await import("./commands/key.ts")).listKeys(context, provider)),
  );
  const test = named(key, "test <key...>", `try keys with the provider, changing nothing; ${which}`).action(
    (names: readonly string[], flags: Given) =>
      actions.manage(flags, async (context) =>
        (await import("./commands/key.ts")).testKeys(context, { names, provider: flags.provider }),
      ),
  );
  example(test, [['keywheel key test "Production key 1" --provider openai', "by its label"]]);
}

function addChanges(key: Command, actions: Actions): void {
  const set = named(key, "set <key>", `change a key; ${which}`).option(
    "--api-key <key>",
    "a new value: '$NAME', or - for the standard input",
  );
  withFields(set).action((name: string, flags: Given) =>
    actions.manage(flags, async (context) => (await import("./commands/key.ts")).setKey(context, name, flags)),
  );
  example(set, [["keywheel key set 'Production key 1' --weight 5", "by its label"]]);

  for (const enabled of [true, false]) {
    const word = enabled ? "enable" : "disable";
    const meaning = enabled
      ? "let keys serve again, those that the provider refused included"
      : "take keys out of service";
    named(key, `${word} <key...>`, `${meaning}; ${which}`).action((names: readonly string[], flags: Given) =>
      actions.manage(flags, async (context) =>
        (await import("./commands/key.ts")).switchKeys(context, { names, provider: flags.provider, enabled }),
      ),
    );
  }
  named(key, "reset <key...>", `clear the cooldown and the failure count of keys; ${which}`).action(
    (names: readonly string[], flags: Given) =>
      actions.manage(flags, async (context) =>
        (await import("./commands/key.ts")).resetKeys(context, { names, provider: flags.provider }),
      ),
  );
  named(key, "remove <key...>", `remove keys; ${which}`)
    .option("-y, --yes", "do not ask")
    .action((names: readonly string[], flags: Given & { readonly yes?: boolean }) =>
      actions.manage(flags, async (context) =>
        (await import("./commands/key.ts")).removeKeys(context, {
          names,
          provider: flags.provider,
          yes: flags.yes === true,
        }),
      ),
    );
}

function named(key: Command, words: string, description: string): Command {
  return managing(key.command(words).description(description)).option(
    "--provider <slug>",
    "the provider, where a label is not enough",
  );
}

function withFields(command: Command): Command {
  return command
    .option("--label <text>", "what people call it")
    .option("--weight <number>", "its share of the turns, 1 to 100 (default: 1)")
    .option("--group <name>", "keys that share their limits, such as those of one project; none for none")
    .option("--order <number>", "its place on the wheel (default: 0, by creation)")
    .option("--enabled", "let it serve")
    .option("--disabled", "keep it out of service");
}
