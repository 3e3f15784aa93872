import type { Command } from "commander";
import type { PoolAffinityFlags } from "./commands/affinity.ts";
import type { ProviderFlags } from "./commands/provider.ts";
import { type Actions, example, managing, repeatable } from "./program-parts.ts";
import type { Flags } from "./settings.ts";

type Given = Flags & ProviderFlags;

export function addProviderCommands(program: Command, actions: Actions): void {
  const provider = program.command("provider").description("manage providers");

  const add = managing(provider.command("add <preset-or-name>").description("add a provider, known or of your own"));
  withFields(add).action((name: string, flags: Given) =>
    actions.manage(
      flags,
      async (context) => (await import("./commands/provider.ts")).addProvider(context, name, flags),
      { creates: true },
    ),
  );
  example(add, [
    ["keywheel provider add openai", "from the list of `keywheel provider presets`"],
    ["keywheel provider add openai --slug openai-eu --base-url https://eu.api.openai.com/v1", "a second one"],
    ["keywheel provider add mine --base-url http://10.0.0.5:8000/v1", "anything that speaks OpenAI's API"],
  ]);

  managing(provider.command("presets").description("list the providers that are known")).action((flags: Flags) =>
    actions.manage(flags, async (context) => (await import("./commands/provider.ts")).listPresets(context), {
      creates: true,
    }),
  );
  managing(provider.command("list").description("list the providers")).action((flags: Flags) =>
    actions.manage(flags, async (context) => (await import("./commands/provider.ts")).listProviders(context)),
  );

  const set = managing(provider.command("set <slug>").description("change a provider")).option(
    "--confirm-host-change",
    "with --base-url: yes, its keys go to another host from now on",
  );
  withFields(set).action((slug: string, flags: Given) =>
    actions.manage(flags, async (context) =>
      (await import("./commands/provider.ts")).setProvider(context, slug, flags),
    ),
  );
  example(set, [
    ["keywheel provider set openai --setting cooldown.base_ms=30000", "a shorter first cooldown"],
    ["keywheel provider set openai --setting cooldown.base_ms=default", "the default again"],
    ["keywheel provider set openai --disabled", "its path answers 404 until it is enabled"],
  ]);

  const affinity = managing(
    provider.command("affinity <slug>").description("show what keeping sessions on their keys is worth"),
  )
    .option("--days <number>", "of how many days, 1 to 400 (default: 1)")
    .action((slug: string, flags: Flags & PoolAffinityFlags) =>
      actions.manage(flags, async (context) =>
        (await import("./commands/affinity.ts")).showPoolAffinity(context, slug, flags),
      ),
    );
  example(affinity, [["keywheel provider affinity openai --days 7", "what came from the provider's prompt cache"]]);

  managing(provider.command("remove <slug>").description("remove a provider with its keys"))
    .option("-y, --yes", "do not ask")
    .action((slug: string, flags: Flags & { readonly yes?: boolean }) =>
      actions.manage(flags, async (context) =>
        (await import("./commands/provider.ts")).removeProvider(context, slug, flags),
      ),
    );
}

function withFields(command: Command): Command {
  return command
    .option("--name <text>", "what people call it")
    .option("--slug <text>", "the first segment of the paths that clients use")
    .option("--base-url <url>", "where the provider is")
    .option("--kind <kind>", "openai, anthropic, gemini, azure-openai or openai-compatible")
    .option("--preset <preset>", "whose errors and limits are understood, or none")
    .option("--api-key <key>", "key that serves while the pool is empty: '$NAME', - for the standard input, or none")
    .option("--enabled", "let it serve")
    .option("--disabled", "take it out of service")
    .addOption(repeatable("--setting <name=value>", "such as cooldown.base_ms=30000; may be repeated"));
}
