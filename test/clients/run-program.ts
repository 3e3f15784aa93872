import { spawn } from "node:child_process";
import { delimiter, join } from "node:path";
import { root } from "../../scripts/lib/root.mjs";
import { programFolder } from "./programs.ts";

export interface ProgramOptions {
  readonly home: string;
  /** Where it is started. */
  readonly folder: string;
  /** Beyond PATH, HOME and the terminal; nothing else of the caller's environment is handed on. */
  readonly env?: Readonly<Record<string, string>>;
  readonly limitMs?: number;
}

/**
 * Runs a client to its end, with nobody in front of it.
 *
 * @returns what it printed on its standard output
 * @throws Error with all its words if it fails, or takes longer than `limitMs` (default two minutes); nothing of it runs on
 */
export async function runProgram(
  [program = "", ...words]: readonly string[],
  { home, folder, env = {}, limitMs = 120_000 }: ProgramOptions,
): Promise<string> {
  const path = [programFolder, join(root, "node_modules", ".bin"), process.env["PATH"] ?? ""].join(delimiter);
  const child = spawn(program, words, {
    cwd: folder,
    env: { PATH: path, HOME: home, TERM: "dumb", LANG: "C.UTF-8", ...env },
    stdio: ["ignore", "pipe", "pipe"],
    // A group of its own: these programs start others.
    detached: true,
  });
  let stdout = "";
  let all = "";
  child.stdout.setEncoding("utf8").on("data", (text: string) => {
    stdout += text;
    all += text;
  });
  child.stderr.setEncoding("utf8").on("data", (text: string) => (all += text));
  const endGroup = (): void => {
    try {
      if (child.pid !== undefined) process.kill(-child.pid, "SIGKILL");
    } catch {
      // All of it has ended by itself.
    }
  };
  let isLate = false;
  const timer = setTimeout(() => {
    isLate = true;
    endGroup();
  }, limitMs);
  try {
    const code = await new Promise<number | null>((resolve, reject) => {
      child.on("error", reject);
      child.on("exit", endGroup);
      child.on("close", resolve);
    });
    const call = [program, ...words].join(" ");
    if (isLate) throw new Error(`\`${call}\` took longer than ${limitMs / 1000} s. It printed:\n${all.slice(-4_000)}`);
    if (code !== 0) throw new Error(`\`${call}\` ended with exit code ${code}. It printed:\n${all.slice(-4_000)}`);
    return stdout;
  } finally {
    clearTimeout(timer);
  }
}
