import { execFileSync } from "node:child_process";
import { existsSync, mkdirSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { chatPath, clientToken, type Contender, threeKeys } from "../contender.ts";
import { startPinned } from "../processes.ts";

const folder = join(import.meta.dirname, "..", ".peers");

interface Peer {
  readonly folder: string;
  readonly packageName: string;
  readonly version: string;
  /** Versions of what it depends on, where those that its own ranges bring do not work. */
  readonly overrides?: Readonly<Record<string, string>>;
}

/** Installs a peer's package in a folder of its own, unless it is there. @throws with npm's words */
function install({ folder: name, packageName, version, overrides = {} }: Peer): string {
  const home = join(folder, name);
  const installed = join(home, "node_modules", packageName);
  if (existsSync(installed) && versionIn(installed) === version) return installed;
  mkdirSync(home, { recursive: true });
  const wanted = { private: true, dependencies: { [packageName]: version }, overrides };
  writeFileSync(join(home, "package.json"), JSON.stringify(wanted));
  try {
    execFileSync("npm", ["install", "--no-audit", "--no-fund", "--loglevel=error"], {
      cwd: home,
      stdio: ["ignore", "pipe", "pipe"],
      timeout: 300_000,
      encoding: "utf8",
    });
  } catch (error) {
    const words = error instanceof Error && "stderr" in error ? String(error.stderr).trim() : String(error);
    throw new Error(`${packageName}@${version} could not be installed: ${words.slice(0, 400)}`, { cause: error });
  }
  return installed;
}

function versionIn(installed: string): string {
  return (JSON.parse(readFileSync(join(installed, "package.json"), "utf8")) as { version: string }).version;
}

const portkeyPackage: Peer = {
  folder: "portkey",
  packageName: "@portkey-ai/gateway",
  version: "1.15.2",
  // With those of its own ranges every stream is answered with 500.
  overrides: { hono: "4.9.7", "@hono/node-server": "1.13.7" },
};

/** Portkey's gateway, with three weighted targets; its configuration comes with each request. */
export const portkey: Contender = {
  name: "portkey",
  title: "Portkey",
  setups: ["plain", "failover"],
  version: () => portkeyPackage.version,
  async prepare(setup, { freePort, node, upstreamUrl }) {
    const port = await freePort();
    const installed = install(portkeyPackage);
    const target = { provider: "openai", custom_host: `${upstreamUrl}/v1` };
    const targets = threeKeys.map(({ value, weight }) => ({ ...target, api_key: value, weight }));
    const config =
      setup === "failover"
        ? { strategy: { mode: "fallback", on_status_codes: [429] }, targets: targets.slice(0, 2) }
        : { strategy: { mode: "loadbalance" }, targets };
    return {
      command: [node, join(installed, "build", "start-server.js"), "--headless", `--port=${port}`],
      env: { NODE_ENV: "production", TRUSTED_CUSTOM_HOSTS: "127.0.0.1,localhost" },
      port,
      path: chatPath,
      token: clientToken,
      headers: [`x-portkey-config: ${JSON.stringify(config)}`],
    };
  },
};

const ccflarePackage: Peer = { folder: "ccflare", packageName: "better-ccflare", version: "3.5.4" };

/** better-ccflare, with three accounts; it speaks Anthropic's API only. */
export const ccflare: Contender = {
  name: "ccflare",
  title: "better-ccflare",
  setups: ["plain"],
  version: () => ccflarePackage.version,
  async prepare(_setup, { cores, folder: scratch, freePort, upstreamUrl }) {
    const port = await freePort();
    const command = [join(install(ccflarePackage), "dist", "better-ccflare"), "--serve", "--port", String(port)];
    const env = {
      HOME: scratch,
      BETTER_CCFLARE_DB_PATH: join(scratch, "ccflare.db"),
      BETTER_CCFLARE_HOST: "127.0.0.1",
    };
    await using _running = startPinned(command, {
      core: cores.contender,
      env,
      cwd: scratch,
      log: join(scratch, "ccflare.log"),
    });
    for (const [at, { value }] of threeKeys.entries()) {
      await addAccount(port, { name: `key-${at + 1}`, apiKey: value, priority: 0, customEndpoint: upstreamUrl });
    }
    return {
      command,
      env,
      cwd: scratch,
      port,
      path: "/v1/messages",
      token: clientToken,
      headers: ["anthropic-version: 2023-06-01"],
    };
  },
};

async function addAccount(port: number, account: object): Promise<void> {
  const deadline = performance.now() + 30_000;
  for (;;) {
    const answer = await fetch(`http://127.0.0.1:${port}/api/accounts/anthropic-compatible`, {
      method: "POST",
      headers: { "content-type": "application/json" },
      body: JSON.stringify(account),
    }).catch(() => undefined);
    if (answer?.ok === true) return;
    if (answer !== undefined)
      throw new Error(`better-ccflare took no account: ${answer.status} ${await answer.text()}`);
    if (performance.now() > deadline) throw new Error("better-ccflare did not start.");
    await sleep(100);
  }
}
