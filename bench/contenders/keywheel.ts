import { readFileSync } from "node:fs";
import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { type Contender, type Prepared, type Setup, type Surroundings, threeKeys } from "../contender.ts";
import { startPinned } from "../processes.ts";

const root = join(import.meta.dirname, "..", "..");
const program = join(root, "packages", "gateway", "dist", "cli", "main.js");
const adminToken = "kwa_bench_000000000000000000000000000000000000000";
const manyKeys = 10_000;
/** More than can be cooling at a time, so that there is always another key to fail over to. */
const failoverKeys = 2_000;

/** The built program as its users start it, with all on: a token is required and checked; metrics, activity and usage are written. */
export const keywheel: Contender = {
  name: "keywheel",
  title: "Keywheel",
  setups: ["plain", "failover", "tls", "many-keys", "many-sessions"],
  version: () =>
    (JSON.parse(readFileSync(join(root, "packages", "gateway", "package.json"), "utf8")) as { version: string })
      .version,
  async prepare(setup, surroundings): Promise<Prepared> {
    const port = await surroundings.freePort();
    const { folder, node, tls } = surroundings;
    const command = [
      node,
      program,
      "start",
      "--port",
      String(port),
      "--data-dir",
      join(folder, "data"),
      "--require-token",
    ];
    const env = {
      HOME: folder,
      KEYWHEEL_ADMIN_TOKEN: adminToken,
      ...(setup === "tls" && tls !== undefined ? { NODE_EXTRA_CA_CERTS: tls.certificate } : {}),
    };
    const log = join(folder, "keywheel.log");
    await using running = startPinned(command, { core: surroundings.cores.contender, env, cwd: folder, log });
    const api = new Api(`http://127.0.0.1:${port}`, () => readFileSync(log, "utf8"));
    await api.isUp(() => running.child.exitCode === null);
    const token = await configure(api, setup, surroundings);
    return { command, env, cwd: folder, port, path: "/openai/v1/chat/completions", token, headers: [] };
  },
};

async function configure(api: Api, setup: Setup, { upstreamUrl, tls }: Surroundings): Promise<string> {
  if (setup === "tls" && tls === undefined) throw new Error("The TLS upstream could not be set up.");
  const { id } = await api.call<{ id: string }>("/providers", {
    kind: "openai",
    slug: "openai",
    name: "openai",
    base_url: `${setup === "tls" && tls !== undefined ? tls.url : upstreamUrl}/v1`,
    // The shortest rest there is, so that a key comes back before all have been asked.
    ...(setup === "failover" ? { settings: { cooldown: { base_ms: 100, cap_ms: 100 } } } : {}),
  });
  await api.call(`/providers/${id}/keys/import`, { text: keysOf(setup) });
  const { token } = await api.call<{ token: string }>("/tokens", { name: "bench" });
  return token;
}

/** As a list to import: `key,label,weight` in each line. */
function keysOf(setup: Setup): string {
  const count = setup === "many-keys" ? manyKeys : setup === "failover" ? failoverKeys : 0;
  if (count === 0) return threeKeys.map(({ value, weight }, at) => `${value},key ${at + 1},${weight}`).join("\n");
  return Array.from(
    { length: count },
    (_, at) => `sk-bench-${String(at).padStart(6, "0")}-0123456789abcdef01234567,key ${at + 1},1`,
  ).join("\n");
}

class Api {
  readonly #url: string;
  readonly #log: () => string;
  constructor(url: string, log: () => string) {
    this.#url = url;
    this.#log = log;
  }

  async isUp(isRunning: () => boolean): Promise<void> {
    const deadline = performance.now() + 30_000;
    while (performance.now() < deadline && isRunning()) {
      const answer = await fetch(`${this.#url}/readyz`).catch(() => undefined);
      if (answer?.ok === true) return;
      await sleep(50);
    }
    throw new Error(`Keywheel did not start:\n${this.#log()}`);
  }

  async call<T>(path: string, body: object): Promise<T> {
    const answer = await fetch(`${this.#url}/api${path}`, {
      method: "POST",
      headers: { authorization: `Bearer ${adminToken}`, "content-type": "application/json" },
      body: JSON.stringify(body),
    });
    const text = await answer.text();
    if (!answer.ok) throw new Error(`POST /api${path} answered ${answer.status}: ${text}`);
    return JSON.parse(text) as T;
  }
}
