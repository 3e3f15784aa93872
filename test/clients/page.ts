import { mkdirSync, readFileSync, writeFileSync } from "node:fs";
import { dirname, join } from "node:path";
import type { RunningGateway, ScriptedProvider } from "@keywheel/testkit";
import { root } from "../../scripts/lib/root.mjs";
import { runProgram } from "./run-program.ts";

/** What a page tells a person to do: lines for a shell, or a file to write. */
export type Step = { readonly script: string } | { readonly path: string; readonly text: string };

/** The steps of a page of docs/clients, in their order. A file is announced by "In `~/…`:" before its text. */
export function stepsOf(name: string): readonly Step[] {
  const text = readFileSync(join(root, "docs", "clients", `${name}.md`), "utf8");
  const fences = text.matchAll(/(?:^In `~\/([^`]+)`:\n\n)?^```(\w+)\n(.*?)^```$/gms);
  return [...fences].map(([whole, path, language, content = ""]): Step => {
    if (path !== undefined) return { path, text: content };
    if (language === "sh") return { script: content };
    throw new Error(`Nobody runs this of ${name}.md:\n${whole}`);
  });
}

/** Whether a step runs a program by name. */
export function startsProgram(step: Step | undefined, name: string): boolean {
  return step !== undefined && "script" in step && new RegExp(`^${name} `, "m").test(step.script);
}

export interface ReaderPlace {
  readonly home: string;
  readonly gateway: RunningGateway;
  /** Stands in for the one that a page has added. */
  readonly provider: ScriptedProvider;
  /** What is in `keys.txt`. */
  readonly keys: readonly string[];
}

/** Somebody who does what a page says, line by line, in a folder of theirs. */
export interface Reader {
  /** Packages that the page has installed: they are there already. */
  readonly installed: readonly string[];
  /** @returns what was printed @throws Error if a line fails */
  does(step: Step): Promise<string>;
}

export function aReader({ home, gateway, provider, keys }: ReaderPlace): Reader {
  const bin = join(home, "bin");
  const folder = join(home, "work");
  for (const path of [bin, folder]) mkdirSync(path);
  // An npx that runs what is installed here, and asks no registry.
  writeFileSync(join(bin, "npx"), '#!/bin/sh\nexec "$@"\n', { mode: 0o755 });
  writeFileSync(join(folder, "keys.txt"), keys.join("\n"));
  const installed: string[] = [];

  const run = async (script: string): Promise<string> => {
    const lines = script.replaceAll(/^npm install -g (\S+)\n/gm, (_, name: string) => {
      installed.push(name);
      return "";
    });
    const env = { KEYWHEEL_DATA_DIR: gateway.dataDir, BIN_OF_PAGE: bin };
    const line = `set -e; PATH="$BIN_OF_PAGE:$PATH"\n${lines}`;
    const printed = await runProgram(["sh", "-c", line], { home, folder, env });
    if (/^npx keywheel provider add/m.test(lines)) await takeOver(gateway, provider);
    return printed;
  };
  return {
    installed,
    async does(step) {
      if ("script" in step) return run(step.script);
      mkdirSync(dirname(join(home, step.path)), { recursive: true });
      writeFileSync(join(home, step.path), step.text);
      return "";
    },
  };
}

/** Sends what was to go to the vendor to its stand-in. */
async function takeOver(gateway: RunningGateway, { baseUrl }: ScriptedProvider): Promise<void> {
  const { data } = await gateway.api<{ data: { id: string }[] }>("GET", "/providers");
  for (const { id } of data)
    await gateway.api("PATCH", `/providers/${id}`, { base_url: baseUrl, confirm_host_change: true });
}
