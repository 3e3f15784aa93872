import type { Flags } from "./settings.ts";
import type { Terminal } from "./terminal.ts";
export async function start(flags: Flags, terminal: Terminal): Promise<void> {
  throw new Error(String(flags) + String(terminal));
}
