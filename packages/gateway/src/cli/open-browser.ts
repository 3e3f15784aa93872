import { spawn } from "node:child_process";
import type { Environment } from "./settings.ts";
import type { Terminal } from "./terminal.ts";

const openers: Partial<Record<NodeJS.Platform, string>> = { darwin: "open", linux: "xdg-open" };

const maySecret = /^KEYWHEEL_|KEY|TOKEN|SECRET|PASS|CREDENTIAL/i;

/** The environment for a program that outlives us and has no use for keys: all but what is, or by its name may be, secret. */
export function withoutSecrets(environment: Environment): Record<string, string | undefined> {
  return Object.fromEntries(Object.entries(environment).filter(([name]) => !maySecret.test(name)));
}

/** Opens an address in the person's browser. Where that cannot be done it is said, and no more than that happens. */
export function openBrowser(url: string, terminal: Terminal): void {
  const opener = openers[process.platform];
  const complain = (): void => terminal.err("No browser can be opened from here; follow the sign-in link above.\n");
  if (opener === undefined) return complain();
  const env = withoutSecrets(terminal.environment);
  const child = spawn(opener, [url], { stdio: "ignore", detached: true, env });
  child.on("error", complain);
  child.unref();
}
