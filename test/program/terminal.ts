import { spawn } from "node:child_process";
import { existsSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { fileURLToPath } from "node:url";

const root = fileURLToPath(new URL("../..", import.meta.url));
const ownNode = join(root, "node_modules", ".bin", "node");

export interface TerminalOptions {
  readonly home: string;
  readonly env?: Readonly<Record<string, string>>;
  readonly columns?: number;
  readonly rows?: number;
}

/** A program in a terminal of its own. */
export interface RunningTerminal extends AsyncDisposable {
  /** Everything that came on the screen so far, control sequences included. */
  output(): string;
  /** Waits until that, without its paint, has this in it. @throws Error after 20 s */
  shows(what: string | RegExp): Promise<string>;
  /** What a person types. */
  type(keys: string): void;
  resize(columns: number, rows: number): Promise<void>;
  /** The exit code of the program. */
  readonly ended: Promise<number | null>;
}

/** Runs `keywheel <words>` in a pseudo-terminal, by way of `script` of util-linux (of BSD on a Mac). */
export function runInTerminal(words: readonly string[], options: TerminalOptions): RunningTerminal {
  const { home, env = {}, columns = 100, rows = 30 } = options;
  const node = existsSync(ownNode) ? ownNode : process.execPath;
  const program = join(root, "packages", "gateway", "dist", "cli", "main.js");
  const device = join(home, "terminal");
  const quoted = words.map((word) => `'${word}'`).join(" ");
  const line = `tty > '${device}'; stty cols ${columns} rows ${rows}; exec '${node}' '${program}' ${quoted}`;
  const args = process.platform === "linux" ? ["-qefc", line, "/dev/null"] : ["-q", "/dev/null", "sh", "-c", line];
  const child = spawn("script", args, {
    cwd: home,
    env: { PATH: process.env["PATH"], HOME: home, SHELL: "/bin/sh", TERM: "xterm-256color", ...env },
    stdio: ["pipe", "pipe", "inherit"],
  });
  let output = "";
  const watchers = new Set<() => void>();
  child.stdout.setEncoding("utf8").on("data", (text: string) => {
    output += text;
    for (const look of watchers) look();
  });
  const ended = new Promise<number | null>((resolve) => child.on("close", (code) => resolve(code)));
  return {
    output: () => output,
    ended,
    type: (keys) => void child.stdin.write(keys),
    shows: (what) =>
      new Promise((resolve, reject) => {
        const timer = setTimeout(() => reject(new Error(`The terminal does not show ${what}:\n${output}`)), 20_000);
        const look = (): void => {
          const plain = withoutPaint(output);
          if (typeof what === "string" ? !plain.includes(what) : !what.test(plain)) return;
          watchers.delete(look);
          clearTimeout(timer);
          resolve(output);
        };
        watchers.add(look);
        look();
      }),
    async resize(newColumns, newRows) {
      const path = readFileSync(device, "utf8").trim();
      const flag = process.platform === "linux" ? "-F" : "-f";
      const stty = spawn("stty", [flag, path, "cols", String(newColumns), "rows", String(newRows)], {
        stdio: "ignore",
      });
      await new Promise((resolve) => stty.on("close", resolve));
    },
    async [Symbol.asyncDispose]() {
      child.kill("SIGKILL");
      await ended;
    },
  };
}

/** The text of the last whole screen that was drawn, without paint. */
export function lastScreen(output: string): readonly string[] {
  const frames = output.split("\u001b[H").slice(1);
  const whole = frames.findLast((frame) => frame.includes("\u001b[J")) ?? "";
  return withoutPaint(whole.split("\u001b[J")[0] ?? "").split("\r\n");
}

function withoutPaint(text: string): string {
  return text.replaceAll(/\p{Cc}\[[\d;?]*[A-Za-z]/gu, "");
}
