import { join } from "node:path";
import { ensureProgram, foldersOnPath, isExecutable } from "./debian.mjs";

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
  const candidates = foldersOnPath().flatMap((folder) => names.map((name) => join(folder, name)));
  return [...candidates, "/usr/bin/chromium", ...outsideOfPath].find(isExecutable);
}

/** Installs Chromium where there is none. @throws with what a person has to do where that cannot be done */
export function ensureBrowser() {
  return ensureProgram({
    name: "Chromium",
    use: "the tests of the settings pages",
    debianPackage: "chromium",
    find: findBrowser,
    otherwise:
      "The tests of the settings pages need Chromium or Chrome, and there is none here: install one, or name its executable in KEYWHEEL_TEST_BROWSER.",
  });
}
