// Prints what the changelog says of a version: `node scripts/release-notes.mjs v0.1.0`. Fails where tag, packages and changelog do not
// agree, so that nothing is published under a number that it does not carry.
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { releaseNotes } from "./lib/release-notes.mjs";
import { root } from "./lib/root.mjs";
import { say } from "./lib/say.mjs";

/** @param {string} path */
const read = (path) => readFileSync(join(root, path), "utf8");

try {
  const notes = releaseNotes(process.argv[2] ?? "", {
    changelog: read("CHANGELOG.md"),
    gateway: JSON.parse(read("packages/gateway/package.json")),
    pool: JSON.parse(read("packages/pool/package.json")),
  });
  console.log(notes);
} catch (error) {
  say(error instanceof Error ? error.message : String(error));
  process.exitCode = 1;
}
