import { join } from "node:path";
import { ensureProgram, foldersOnPath, isExecutable } from "./debian.mjs";
import { run } from "./run.mjs";
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

const upAndOn = 'ip link set lo up && exec "$@"';

/**
 * The words before a command that start it with no network but a loopback of its own; none where that is not to be had: it
 * takes Linux, `unshare`, `ip`, and the right to make namespaces.
 *
 * @returns {Promise<readonly string[]>}
 */
export async function withoutNetwork() {
  if (process.platform !== "linux") return [];
  const rights = process.getuid?.() === 0 ? ["--net"] : ["--net", "--user", "--map-current-user", "--keep-caps"];
  const words = [...rights, "sh", "-c", upAndOn, "sh"];
  const works = await run("unshare", [...words, "true"], { capture: true }).then(
    ({ code }) => code === 0,
    () => false,
  );
  return works ? ["unshare", ...words] : [];
}
