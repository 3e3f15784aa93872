import { join } from "node:path";
import { ensureProgram, foldersOnPath, isExecutable } from "./debian.mjs";
import { say } from "./say.mjs";

const programs = ["secret-tool", "gnome-keyring-daemon", "dbus-run-session", "dbus-send"];

/** Whether a desktop's keychain can be had here, with a session of its own: macOS has another one, which is its user's. */
export function hasKeyring() {
  const isThere = (/** @type {string} */ name) => foldersOnPath().some((folder) => isExecutable(join(folder, name)));
  return programs.every(isThere);
}

/** Installs what a desktop's keychain is made of, where it is missing. Never fails: its one test says that it is passed over. */
export async function ensureKeyring() {
  if (process.platform !== "linux") return;
  try {
    await ensureProgram({
      name: "GNOME Keyring",
      use: "the test of the keychain",
      debianPackage: ["libsecret-tools", "gnome-keyring", "dbus"],
      find: () => (hasKeyring() ? "here" : undefined),
      otherwise: "There is no secret-tool with GNOME Keyring here: the test of the real keychain is passed over.",
    });
  } catch (error) {
    say(error instanceof Error ? error.message : String(error));
  }
}
