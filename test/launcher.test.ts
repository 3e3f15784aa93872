import { spawn } from "node:child_process";
import { once } from "node:events";
import { cpSync, mkdirSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { fileURLToPath } from "node:url";
import { afterAll, expect, it } from "vitest";

const root = fileURLToPath(new URL("..", import.meta.url));
const launcher = "packages/gateway/bin/keywheel.mjs";
const scratch = mkdtempSync(join(tmpdir(), "keywheel-launcher-"));

afterAll(() => rmSync(scratch, { recursive: true, force: true }));

it("runs the built program from a checkout", async () => {
  const outcome = await execute(join(root, launcher), ["version"]);

  expect(outcome).toEqual({ code: 0, output: expect.stringMatching(/\S/) });
});

it("runs the built program where it was installed, whatever scripts lie around it", async () => {
  const installed = join(scratch, "node_modules", "keywheel");
  place(join(scratch, "scripts/lib/build.mjs"), `throw new Error("somebody else's script");`);
  place(join(installed, "package.json"), `{ "type": "module" }`);
  place(join(installed, "dist/cli/main.js"), "console.log(process.argv.slice(2)); process.exitCode = 4;");
  mkdirSync(join(installed, "bin"));
  cpSync(join(root, launcher), join(installed, "bin/keywheel.mjs"));

  const outcome = await execute(join(installed, "bin/keywheel.mjs"), ["status", "--json"]);

  expect(outcome).toEqual({ code: 4, output: "[ 'status', '--json' ]\n" });
});

function place(path: string, text: string): void {
  mkdirSync(dirname(path), { recursive: true });
  writeFileSync(path, text);
}

async function execute(script: string, args: readonly string[]): Promise<{ code: number | null; output: string }> {
  const child = spawn(process.execPath, [script, ...args], { stdio: ["ignore", "pipe", "inherit"] });
  let output = "";
  child.stdout.on("data", (chunk: Buffer) => (output += chunk.toString()));
  const [code] = (await once(child, "close")) as [number | null];
  return { code, output };
}
