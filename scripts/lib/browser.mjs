import { accessSync, constants } from "node:fs";
import { delimiter, join } from "node:path";
import { run } from "./run.mjs";
import { say } from "./say.mjs";

const names = ["chromium", "chromium-browser", "google-chrome", "google-chrome-stable", "chrome"];
const outsideOfPath = [
  "/Applications/Google Chrome.app/Contents/MacOS/Google Chrome",
  "/Applications/Chromium.app/Contents/MacOS/Chromium",
];

/**
 * A Chromium or Chrome that is on this machine. `KEYWHEEL_TEST_BROWSER` names another one.
 *
 * @returns {string | undefined} the path of its executable
 */
export function findBrowser() {
  const named = process.env.KEYWHEEL_TEST_BROWSER;
  if (named) return named;
  const folders = (process.env.PATH ?? "").split(delimiter).filter((folder) => folder !== "");
  const candidates = folders.flatMap((folder) => names.map((name) => join(folder, name)));
  return [...candidates, "/usr/bin/chromium", ...outsideOfPath].find(isExecutable);
}

/**
 * Installs Chromium where there is none and that can be done without asking anybody: on Debian and its kin, as root.
 *
 * @throws with what a person has to do, anywhere else
 */
export async function ensureBrowser() {
  if (findBrowser() !== undefined) return;
  if (process.platform === "linux" && process.getuid?.() === 0 && isInstalled("apt-get")) {
    say("Installing Chromium for the tests of the settings pages …");
    const env = { DEBIAN_FRONTEND: "noninteractive" };
    await run("apt-get", ["update"], { capture: true, env });
    const install = await run("apt-get", ["install", "-y", "--no-install-recommends", "chromium"], {
      capture: true,
      env,
    });
    if (findBrowser() !== undefined) return;
    say(install.output.trimEnd());
  }
  throw new Error(
    "The tests of the settings pages need Chromium or Chrome, and there is none here: install one, or name its executable in KEYWHEEL_TEST_BROWSER.",
  );
}

/** @param {string} name */
function isInstalled(name) {
  return (process.env.PATH ?? "").split(delimiter).some((folder) => isExecutable(join(folder, name)));
}

/** @param {string} path */
function isExecutable(path) {
  try {
    accessSync(path, constants.X_OK);
    return true;
  } catch {
    // Not there, or not for us: either way it is none.
    return false;
  }
}
