import { join } from "node:path";
import { ensureProgram, foldersOnPath, isExecutable } from "./debian.mjs";
import { say } from "./say.mjs";

/**
 * Installs the program that makes namespaces of the network, where there is none. Never fails: where they are not to be had the
 * tests cut a gateway off in another way, and say so.
 */
export async function ensureNamespaces() {
  if (process.platform !== "linux" || process.getuid?.() !== 0) return;
  try {
    await ensureProgram({
      name: "iproute2",
      use: "the tests that cut a gateway off",
      debianPackage: "iproute2",
      find: () =>
        foldersOnPath()
          .map((folder) => join(folder, "ip"))
          .find(isExecutable),
      otherwise: "There is no `ip` of iproute2 here: the tests cut a gateway off by relays.",
    });
  } catch (error) {
    say(error instanceof Error ? error.message : String(error));
  }
}
