import { join } from "node:path";
import { ensureProgram, foldersOnPath, isExecutable } from "./debian.mjs";
import { say } from "./say.mjs";

/** Installs the shells that completion is tried in, where Debian brings them. Never fails: bash is everywhere. */
export async function ensureShells() {
  for (const name of ["zsh", "fish"]) {
    const wanted = {
      name,
      use: "the tests of completion",
      debianPackage: name,
      find: () =>
        foldersOnPath()
          .map((folder) => join(folder, name))
          .find(isExecutable),
      otherwise: `There is no ${name} here: completion is not tried in it.`,
    };
    await ensureProgram(wanted).catch((/** @type {unknown} */ error) =>
      say(error instanceof Error ? error.message : String(error)),
    );
  }
}
