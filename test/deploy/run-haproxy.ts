import { type ChildProcess, spawn } from "node:child_process";
import { once } from "node:events";
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { freePort } from "@keywheel/testkit";
import { findHaproxy } from "../../scripts/lib/haproxy.mjs";

export const balancerConfiguration = join(import.meta.dirname, "../../deploy/compose/haproxy.cfg");

/** The real balancer with the configuration that is shipped; only addresses are others. */
export interface RunningBalancer extends AsyncDisposable {
  readonly url: string;
  readonly port: number;
  logs(): string;
}

/** @param ports of the gateways, in the order of their names */
export async function runBalancer(ports: readonly number[]): Promise<RunningBalancer> {
  const folder = mkdtempSync(join(tmpdir(), "keywheel-haproxy-"));
  const port = await freePort();
  let text = readFileSync(balancerConfiguration, "utf8").replace("bind *:8080", `bind 127.0.0.1:${port}`);
  for (const [index, of] of ports.entries())
    text = text.replaceAll(`gateway-${index + 1}:8787`, `127.0.0.1:${String(of)}`);
  const file = join(folder, "haproxy.cfg");
  writeFileSync(file, text);
  const child = spawn(program(), ["-db", "-f", file], { stdio: ["ignore", "pipe", "pipe"] });
  let output = "";
  child.stdout.on("data", (bytes) => (output += String(bytes)));
  child.stderr.on("data", (bytes) => (output += String(bytes)));
  const onExit = (): void => void child.kill("SIGKILL");
  process.on("exit", onExit);
  const end = async (): Promise<void> => {
    process.off("exit", onExit);
    await endOf(child);
    rmSync(folder, { recursive: true, force: true });
  };
  try {
    await untilItServes(`http://127.0.0.1:${port}/healthz`, child);
  } catch (error) {
    await end();
    throw new Error(`HAProxy does not serve:\n${output}`, { cause: error });
  }
  return { port, url: `http://127.0.0.1:${port}`, logs: () => output, [Symbol.asyncDispose]: end };
}

/** What HAProxy itself says of a configuration. */
export async function checkConfiguration(
  file: string,
): Promise<{ readonly code: number | null; readonly output: string }> {
  const child = spawn(program(), ["-c", "-f", file], { stdio: ["ignore", "pipe", "pipe"] });
  let output = "";
  child.stdout.on("data", (bytes) => (output += String(bytes)));
  child.stderr.on("data", (bytes) => (output += String(bytes)));
  const [code] = (await once(child, "close")) as [number | null];
  return { code, output };
}

function program(): string {
  const found = findHaproxy();
  if (found === undefined) throw new Error("There is no HAProxy here: `npm test` installs one, or says how.");
  return found;
}

async function untilItServes(url: string, child: ChildProcess): Promise<void> {
  for (let tries = 0; tries < 500; tries++) {
    if (child.exitCode !== null) throw new Error(`it ended with ${child.exitCode}`);
    try {
      if ((await fetch(url)).ok) return;
    } catch {
      // Not listening yet.
    }
    await sleep(20);
  }
  throw new Error("no answer in 10 s");
}

async function endOf(child: ChildProcess): Promise<void> {
  if (child.exitCode !== null || child.signalCode !== null) return;
  const ended = once(child, "exit");
  child.kill("SIGKILL");
  await ended;
}
