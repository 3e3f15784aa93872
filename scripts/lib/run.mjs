import { spawn } from "node:child_process";
import { constants } from "node:os";
import { delimiter, join } from "node:path";
import { root } from "./root.mjs";

/** @type {readonly NodeJS.Signals[]} */
const forwarded = ["SIGTERM", "SIGINT", "SIGHUP"];

/**
 * @typedef {object} Outcome
 * @property {number} code   the exit code; 128 and the signal's number where a signal ended the process
 * @property {string} output both output streams in order of arrival; empty unless captured
 * @property {boolean} isInterrupted whether we were told to stop meanwhile
 */

/**
 * Runs one command to its end. The repo's own binaries, Node 24 among them, come first on
 * its PATH. Signals that arrive meanwhile go on to the command, so that it can finish in its own way.
 *
 * @param {string} command
 * @param {readonly string[]} args
 * @param {{ capture?: boolean, cwd?: string, env?: NodeJS.ProcessEnv | undefined }} [options]
 *   `capture` keeps the output and shows nothing, default false: the command writes to the terminal itself. `cwd` is the
 *   root of the checkout by default. `env` is added to the environment.
 * @returns {Promise<Outcome>}
 */
export function run(command, args, options = {}) {
  const { capture = false, cwd = root, env = {} } = options;
  const path = [join(root, "node_modules", ".bin"), env.PATH ?? process.env.PATH ?? ""].join(delimiter);

  return new Promise((resolve, reject) => {
    const child = spawn(command, args, {
      cwd,
      env: { ...process.env, ...env, PATH: path },
      stdio: capture ? ["ignore", "pipe", "pipe"] : "inherit",
    });

    let output = "";
    let isInterrupted = false;
    child.stdout?.on("data", (chunk) => (output += chunk));
    child.stderr?.on("data", (chunk) => (output += chunk));

    /** @param {NodeJS.Signals} signal */
    const forward = (signal) => {
      isInterrupted = true;
      // Ctrl-C in a terminal reaches the whole process group; handing it on would deliver it twice.
      if (signal === "SIGINT" && process.stdin.isTTY) return;
      child.kill(signal);
    };
    for (const signal of forwarded) process.on(signal, forward);
    const release = () => {
      for (const signal of forwarded) process.off(signal, forward);
    };

    child.on("error", (error) => {
      release();
      reject(error);
    });
    child.on("close", (code, signal) => {
      release();
      resolve({ code: code ?? 128 + (signal ? constants.signals[signal] : 0), output, isInterrupted });
    });
  });
}
