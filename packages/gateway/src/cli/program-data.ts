import type { Command } from "commander";
import type { MigrationFlags } from "./commands/migrate.ts";
import type { RotationFlags } from "./commands/rotate-master-key.ts";
import type { ExportFlags, ImportFlags } from "./commands/transfer.ts";
import { foreignTools } from "./import-from/tools.ts";
import { type Actions, example, managing, onDataDir } from "./program-parts.ts";
import type { Flags } from "./settings.ts";

/** Commands for the data as a whole. */
export function addDataCommands(program: Command, actions: Actions): void {
  addBackup(program, actions);
  addTransfer(program, actions);
  addRotation(program, actions);
  addMigration(program, actions);
}

function addMigration(program: Command, actions: Actions): void {
  const migration = onDataDir(
    program
      .command("migrate")
      .description("copy everything from the embedded database to PostgreSQL, while no gateway runs"),
  )
    .option("--to <url>", "an empty database, postgres://… (KEYWHEEL_DATABASE_URL)")
    .action((flags: Flags & MigrationFlags) =>
      actions.onDataDir(flags, async (place) => (await import("./commands/migrate.ts")).migrateStore(place, flags)),
    );
  migration.addHelpText(
    "after",
    `
All of it is copied, or nothing; every row is compared before it counts. It may be cut off and said again. The embedded
database stays as it is, and the master key the same.`,
  );
  example(migration, [
    ["keywheel migrate --to postgres://keywheel@db.internal/keywheel", "the password from PGPASSWORD"],
    ["KEYWHEEL_DATABASE_URL=postgres://… keywheel migrate", "an address that holds it is not seen by others"],
  ]);
}

function addBackup(program: Command, actions: Actions): void {
  const backup = onDataDir(
    program
      .command("backup <file>")
      .description("copy the database to a file, whether or not the gateway runs; the master key is not in it"),
  )
    .option("--force", "replace the file if it is there")
    .action((file: string, flags: Flags & { readonly force?: boolean }) =>
      actions.onDataDir(flags, async (place) => (await import("./commands/backup.ts")).makeBackup(place, file, flags)),
    );
  backup.addHelpText(
    "after",
    `
To go back to it: stop the gateway, remove keywheel.db-wal and keywheel.db-shm from the data directory, put the backup there
as keywheel.db and the master key of that time as master.key, and start the gateway.`,
  );
  example(backup, [
    ["keywheel backup /mnt/safe/keywheel-$(date +%F).db", "one a day"],
    ["keywheel backup keywheel.bak --force", "always the same file"],
  ]);
}

function addTransfer(program: Command, actions: Actions): void {
  const take = managing(
    program.command("export [file]").description("write providers, keys and settings to a JSON file, or print them"),
  )
    .option("--with-secrets", "with the values of the keys, encrypted with a passphrase that is asked for")
    .option("--passphrase-file <file>", "with them, the passphrase in this file (KEYWHEEL_PASSPHRASE)")
    .option("--force", "replace the file if it is there")
    .action((file: string | undefined, flags: Flags & ExportFlags) =>
      actions.manage(flags, async (context) =>
        (await import("./commands/transfer.ts")).exportAll(context, file, flags),
      ),
    );
  take.addHelpText(
    "after",
    `
Without a passphrase keys are masked; references such as $OPENAI_KEY_1 are taken as they stand. Usage, requests, sessions and
gateway tokens are not in it: a backup has them (keywheel backup).`,
  );
  example(take, [
    ["keywheel export gateway.json --with-secrets", "to move to another machine; asks for a passphrase"],
    ["keywheel export gateway.json", "to read, compare or keep the settings"],
    ["keywheel export --passphrase-file secret.txt > gateway.json", "in a script"],
  ]);

  const bring = managing(
    program
      .command("import <file>")
      .description("add what was exported, or what another tool has, all or nothing; - is the standard input"),
  )
    .option("--from <tool>", `of another tool, a file or a folder of it: ${foreignTools.join(", ")}`)
    .option("--dry-run", "say what would happen, and change nothing")
    .option("--keep", "leave what is here with other settings as it is, and import the rest")
    .option("--passphrase-file <file>", "the passphrase of the file (KEYWHEEL_PASSPHRASE); else it is asked for")
    .option("--without-secrets", "leave out the keys that are encrypted")
    .action((file: string, flags: Flags & ImportFlags) =>
      actions.manage(
        flags,
        async (context) => (await import("./commands/transfer.ts")).importAll(context, file, flags),
        { creates: true },
      ),
    );
  example(bring, [
    ["keywheel import gateway.json --dry-run", "what is new, what differs, what is missing"],
    ["keywheel import gateway.json", "add it"],
    ["keywheel import --from new-api one-api.db --dry-run", "what would be made of it, and what is left behind"],
  ]);
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
    ["KEYWHEEL_NEW_MASTER_KEY=$(cat new.key) keywheel rotate-master-key", "one of your own; keep it"],
  ]);
}
