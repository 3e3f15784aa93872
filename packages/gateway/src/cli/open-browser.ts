import { spawn } from "node:child_process";
import type { Terminal } from "./terminal.ts";

const openers: Partial<Record<NodeJS.Platform, string>> = { darwin: "open", linux: "xdg-open" };

/** Opens an address in the person's browser. Where that cannot be done it is said, and no more than that happens. */
export function openBrowser(url: string, terminal: Terminal): void {
  const opener = openers[process.platform];
  const complain = (): void => terminal.err("No browser can be opened from here; follow the sign-in link above.\n");
  if (opener === undefined) return complain();
  const child = spawn(opener, [url], { stdio: "ignore", detached: true });
  child.on("error", complain);
  child.unref();
}
