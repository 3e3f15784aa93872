import { type ChildProcess, spawn } from "node:child_process";
import { existsSync, mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";

const root = fileURLToPath(new URL("../..", import.meta.url));
const ownNode = join(root, "node_modules", ".bin", "node");

export interface CommandOptions {
  readonly home: string;
  /** Beyond PATH and HOME; nothing else of the caller's environment is handed on. */
  readonly env?: Readonly<Record<string, string>>;
  readonly input?: string;
}

export interface CommandOutcome {
  readonly code: number | null;
  readonly stdout: string;
  readonly stderr: string;
}

/** Runs `keywheel <words>` to its end. */
export function runCommand(words: readonly string[], options: CommandOptions): Promise<CommandOutcome> {
  const child = spawnCommand(words, options);
  child.stdin?.end(options.input ?? "");
  let stdout = "";
  let stderr = "";
  child.stdout?.on("data", (chunk) => (stdout += String(chunk)));
  child.stderr?.on("data", (chunk) => (stderr += String(chunk)));
  return new Promise((resolve, reject) => {
    child.on("error", reject);
    child.on("close", (code) => resolve({ code, stdout, stderr }));
  });
}

/** Starts `keywheel <words>`: the built program, or the sources where `KEYWHEEL_TEST_SOURCES` is set. */
export function spawnCommand(words: readonly string[], { home, env = {} }: CommandOptions): ChildProcess {
  const node = existsSync(ownNode) ? ownNode : process.execPath;
  const folder = join(root, "packages", "gateway");
  const program =
    process.env["KEYWHEEL_TEST_SOURCES"] === undefined
      ? [join(folder, "dist", "cli", "main.js")]
      : ["--conditions=source", "--no-warnings", join(folder, "src", "cli", "main.ts")];
  // Without the dashes Node looks for its own flags behind the program as well, `--env-file` among them.
  return spawn(node, [...program.slice(0, -1), "--", ...program.slice(-1), ...words], {
    cwd: home,
    env: { PATH: process.env["PATH"], HOME: home, ...env },
    stdio: ["pipe", "pipe", "pipe"],
  });
}

/** A home directory of its own, gone at the end of the test. */
export function aHome(): { readonly home: string } & Disposable {
  const home = mkdtempSync(join(tmpdir(), "keywheel-home-"));
  return { home, [Symbol.dispose]: () => rmSync(home, { recursive: true, force: true }) };
}
