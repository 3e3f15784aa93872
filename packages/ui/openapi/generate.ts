import { spawnSync } from "node:child_process";
import { fileURLToPath } from "node:url";
import { openApiDocument } from "./document.ts";
import { toTypeScript } from "./typescript.ts";

/** Where the pages find the types. */
export const generatedFile = fileURLToPath(new URL("../src/api/openapi.ts", import.meta.url));

/** What the file must hold, formatted like every other. */
export function generateTypes(): string {
  const oxfmt = fileURLToPath(new URL("../../../node_modules/.bin/oxfmt", import.meta.url));
  const { status, stdout, stderr } = spawnSync(oxfmt, ["--stdin-filepath", generatedFile], {
    input: toTypeScript(openApiDocument()),
    encoding: "utf8",
  });
  if (status !== 0) throw new Error(`The formatter refuses what was made: ${stderr}`);
  return stdout;
}
