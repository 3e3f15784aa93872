import { join } from "node:path";
import { ensureProgram, foldersOnPath, isExecutable } from "./debian.mjs";

/** Installs curl, which pages of docs/clients call, where there is none. */
export function ensureCurl() {
  return ensureProgram({
    name: "curl",
    use: "the tests of what the documentation shows",
    debianPackage: "curl",
    find: () =>
      foldersOnPath()
        .map((folder) => join(folder, "curl"))
        .find(isExecutable),
    otherwise: "Install curl, which docs/clients/curl.md is tested with.",
  });
}
