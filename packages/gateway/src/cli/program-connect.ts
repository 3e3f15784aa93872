import type { Command } from "commander";
import type { ConnectFlags } from "./commands/connect.ts";
import { wrongWords } from "./exit.ts";
import { type Actions, example, managing, repeatable } from "./program-parts.ts";
import type { Flags } from "./settings.ts";

export function addConnect(program: Command, actions: Actions): void {
  const connect = managing(
    program
      .command("connect [client]")
      .description("show how a client is pointed at the gateway, or do it; alone, list the clients"),
  )
    .addOption(repeatable("--provider <slug>", "which provider, where several fit; may be repeated"))
    .option("--kind <kind>", "what kind that provider is, at a gateway that you are not the operator of")
    .option("--token <token>", "a gateway token that you have, or - for the standard input")
    .option("--new-token [name]", "make a gateway token for it, good for that provider alone")
    .option("--write", "change the client's own files; what was there before is kept beside them")
    .option("--dry-run", "say what --write would change, and change nothing")
    .action(async (name: string | undefined, flags: Flags & ConnectFlags) => {
      const { clientNamed, connectClient, connectFromOutside, listClients } = await import("./commands/connect.ts");
      if (
        name === undefined &&
        (flags.write || flags.dryRun || flags.newToken || flags.token || flags.provider || flags.kind)
      )
        throw wrongWords("Say which client: `keywheel connect` lists them, and its name stands before the flags.");
      if (name === undefined) return actions.alone(flags, async (context) => listClients(context));
      const client = clientNamed(name);
      const gatewayUrl = await actions.outsideUrl(flags);
      if (gatewayUrl !== undefined)
        return actions.alone(flags, (context) => connectFromOutside(context, client, { gatewayUrl, flags }));
      return actions.manage(flags, (context) => connectClient(context, client, flags));
    });
  connect.addHelpText(
    "after",
    `
Only the gateway's own entries are changed, the rest of a file stays as it is. A token is needed only where the gateway
requires tokens. At a gateway that somebody else runs, its address and your token are enough.`,
  );
  example(connect, [
    ["keywheel connect", "which clients are known"],
    ["keywheel connect claude-code", "what to set, to copy"],
    ["keywheel connect codex --dry-run", "what would change in ~/.codex/config.toml"],
    ["keywheel connect codex --new-token --write", "change it, with a token of its own"],
    ["keywheel connect codex --url https://gateway.example --token - --write", "at a gateway that somebody else runs"],
    ["keywheel connect openai --provider openai-eu", "variables for the SDK, where several providers fit"],
  ]);
}
