import { homedir } from "node:os";
import { join } from "node:path";
import type { Environment } from "./settings.ts";

/**
 * Where the data lies when nobody says otherwise: one place for a user, whatever folder a command is given in, so that
 * the command line finds the gateway.
 */
export function defaultDataDir(environment: Environment, platform: NodeJS.Platform = process.platform): string {
  const home = environment["HOME"] ?? homedir();
  if (platform === "darwin") return join(home, "Library", "Application Support", "keywheel");
  const dataHome = environment["XDG_DATA_HOME"];
  // The XDG specification: a relative path is to be ignored.
  return join(dataHome?.startsWith("/") ? dataHome : join(home, ".local", "share"), "keywheel");
}
