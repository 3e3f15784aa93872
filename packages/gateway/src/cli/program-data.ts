import type { Command } from "commander";
import type { RotationFlags } from "./commands/rotate-master-key.ts";
import { type Actions, example, onDataDir } from "./program-parts.ts";
import type { Flags } from "./settings.ts";

/** Commands for the data as a whole. */
export function addDataCommands(program: Command, actions: Actions): void {
  addRotation(program, actions);
}

function addRotation(program: Command, actions: Actions): void {
  const rotate = onDataDir(
    program
      .command("rotate-master-key")
      .description("encrypt every stored key under a new master key, while no gateway runs"),
  )
    .option("--to-file", "make the new one in the data directory, although KEYWHEEL_MASTER_KEY holds the present one")
    .option("--keep-old <file>", "write the old one to this file: backups made before need it")
    .action((flags: Flags & RotationFlags) =>
      actions.onDataDir(flags, async (place) => (await import("./commands/rotate-master-key.ts")).rotate(place, flags)),
    );
  rotate.addHelpText(
    "after",
    `
Where the master key is a file (master.key), a new file takes its place. Where it is KEYWHEEL_MASTER_KEY, give the new one
as KEYWHEEL_NEW_MASTER_KEY, and start the gateway with it from then on.
It may be cut off at any instant: the data directory then belongs to the old key or to the new one, never to both.`,
  );
  example(rotate, [
    ["keywheel rotate-master-key", "a new master.key"],
    ["keywheel rotate-master-key --keep-old old.key", "and keep the old one for older backups"],
    ["KEYWHEEL_NEW_MASTER_KEY=$(openssl rand -base64 32) keywheel rotate-master-key", "one that you keep elsewhere"],
  ]);
}
