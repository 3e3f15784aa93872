import { execFile, spawn } from "node:child_process";
import { once } from "node:events";
import { mkdtempSync, readFileSync, rmSync, symlinkSync, writeFileSync } from "node:fs";
import { connect } from "node:net";
import { tmpdir } from "node:os";
import { delimiter, join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { promisify } from "node:util";
import { freePort } from "@keywheel/testkit";
import { describe, expect, it } from "vitest";
import { parse } from "yaml";
import { defaultSettings } from "../../packages/gateway/src/catalog/settings.ts";
import { startSettings } from "../../packages/gateway/src/cli/start-options.ts";
import { findRedis } from "../../scripts/lib/redis.mjs";
import { root } from "../../scripts/lib/root.mjs";
import { optionsFrom } from "./gateway-options.ts";

interface Service {
  readonly environment?: Readonly<Record<string, string>>;
  readonly healthcheck?: { readonly test: readonly string[] };
  readonly hostname?: string;
  readonly image: string;
  readonly entrypoint?: readonly string[];
  readonly cap_drop?: readonly string[];
  readonly read_only?: boolean;
  readonly security_opt?: readonly string[];
  readonly stop_grace_period?: string;
  readonly tmpfs?: readonly string[];
  readonly ulimits?: Readonly<Record<string, number>>;
  readonly user?: string;
  readonly ports?: readonly string[];
  readonly volumes?: readonly string[];
}

const folder = join(root, "deploy", "compose");
const read = (path: string): string => readFileSync(join(root, path), "utf8");
const composeText = read("deploy/compose/compose.yaml");
const { services } = parse(composeText, { merge: true }) as { readonly services: Readonly<Record<string, Service>> };
const gateways = Object.entries(services).filter(([name]) => name.startsWith("gateway-"));
const haproxy = read("deploy/compose/haproxy.cfg");
const image = read("deploy/Containerfile");

function service(name: string): Service {
  const found = services[name];
  if (found === undefined) throw new Error(`no service ${name}`);
  return found;
}

/** As compose puts values in the place of `${NAME}`, `${NAME:-default}` and `${NAME:?message}`. */
function filledIn(text: string, values: Readonly<Record<string, string>>): string {
  return text.replaceAll(/\$\{(\w+)(?::[-?][^}]*)?\}/g, (_, name: string) => values[name] ?? "");
}

/** What `.env.example` says to make. */
const secrets = {
  KEYWHEEL_MASTER_KEY: Buffer.alloc(32, 1).toString("base64"),
  KEYWHEEL_ADMIN_TOKEN: "0123456789abcdef0123456789abcdef0123456789abcdef",
  KEYWHEEL_POSTGRES_PASSWORD: "abcdef0123456789abcdef0123456789abcdef0123456789",
  KEYWHEEL_VALKEY_PASSWORD: "fedcba9876543210fedcba9876543210fedcba9876543210",
};

describe("deploy/compose/compose.yaml", () => {
  it("is what the specification of compose asks for, and the linter finds nothing", async () => {
    const linter = join(root, "node_modules", ".bin", "dclint");
    const config = join(import.meta.dirname, "dclint.json");
    const args = ["--formatter", "json", "--config", config, folder];
    // It ends with 1 where it finds something, and says what all the same.
    const { stdout } = await promisify(execFile)(linter, args).catch((error: unknown) => error as { stdout: string });
    const files = JSON.parse(stdout) as { filePath: string; messages: { message: string; line: number }[] }[];

    expect(files.map(({ filePath }) => filePath)).toEqual([expect.stringMatching(/compose\.yaml$/)]);
    expect(files.flatMap(({ messages }) => messages.map(({ message, line }) => `${line}: ${message}`))).toEqual([]);
  }, 60_000);

  it("starts three gateways with settings that the program takes", () => {
    const options = gateways.map(([, { environment = {} }]) => {
      const filled = Object.entries(environment).map(([name, text]) => [name, filledIn(text, secrets)]);
      return optionsFrom(Object.fromEntries(filled) as Record<string, string>, image);
    });

    expect(gateways.map(([name, { hostname }]) => [name, hostname])).toEqual(
      ["gateway-1", "gateway-2", "gateway-3"].map((name) => [name, name]),
    );
    for (const one of options) {
      expect(one.databaseUrl).toBe("postgres://keywheel@postgres:5432/keywheel");
      expect(one.redisUrl).toMatchObject({
        password: secrets.KEYWHEEL_VALKEY_PASSWORD,
        hosts: [{ host: "valkey", port: 6379 }],
      });
      expect(one.requireToken).toBe(true);
    }
  });

  it("has no secret in it, and does not start without one", () => {
    const named = new Set(
      [...composeText.matchAll(/\$\{(\w+)|environment: (KEYWHEEL_\w+)/g)].map(([, one, other]) => one ?? other),
    );
    const example = [...read("deploy/compose/.env.example").matchAll(/^(\w+)=(.*)$/gm)];
    const asked = [...composeText.matchAll(/\$\{(\w+):\?/g)].map(([, name]) => name);

    expect(new Set(example.map(([, name]) => name))).toEqual(named);
    expect(example.filter(([, , value]) => value !== "")).toEqual([]);
    expect(new Set(asked)).toEqual(new Set(Object.keys(secrets)));
  });

  it("gives a gateway the time to end, a directory of its own, and open files", () => {
    for (const [, one] of gateways) {
      const graceSeconds = Number(one.environment?.["KEYWHEEL_GRACE_SECONDS"]);
      expect(Number.parseInt(one.stop_grace_period ?? "", 10)).toBeGreaterThanOrEqual(graceSeconds + 15);
      expect(one.tmpfs).toEqual([expect.stringMatching(/^\/data:uid=1000,gid=1000,mode=0700/)]);
      expect(one.ulimits).toEqual({ nofile: 65536, core: 0 });
      expect(one.healthcheck?.test.at(-1)).toContain(`http://127.0.0.1:${startSettings.port.fallback}/healthz`);
    }
    expect(image).toMatch(/KEYWHEEL_DATA_DIR=\/data\b/);
  });

  it("lets nothing run with more rights than it needs", () => {
    for (const [name, one] of Object.entries(services)) {
      expect([name, one.security_opt]).toEqual([name, ["no-new-privileges:true"]]);
      // PostgreSQL's image gives its directory to its user, and becomes that.
      if (name === "postgres") continue;
      expect([name, one.cap_drop, one.read_only]).toEqual([name, ["ALL"], true]);
      expect([name, one.user]).not.toEqual([name, expect.stringMatching(/^(root|0)?(:|$)/)]);
    }
    expect(Object.entries(services).flatMap(([name, { ports = [] }]) => ports.map((port) => [name, port]))).toEqual([
      ["balancer", expect.stringMatching(/^127\.0\.0\.1:/)],
    ]);
  });
});

describe("deploy/compose/haproxy.cfg", () => {
  it("knows every gateway, twice, at the port that it listens on", () => {
    const servers = [...haproxy.matchAll(/^ {4}server (\S+) (\S+?)(?: cookie (\S+))?$/gm)].map(
      ([, name, address, cookie]) => [name, address, cookie],
    );
    const expected = gateways.map(([name]) => [name, `${name}:${startSettings.port.fallback}`] as const);

    expect(servers).toEqual([
      ...expected.map(([name, address]) => [name, address, undefined]),
      ...expected.map(([name, address]) => [name, address, name]),
    ]);
    expect(image).toContain(`EXPOSE ${startSettings.port.fallback}`);
    expect(service("balancer").ports).toEqual([expect.stringMatching(/:8080$/)]);
    expect(haproxy).toContain("bind *:8080");
  });

  it("waits longer than the gateways let a provider be silent, and gives up connecting sooner than anybody notices", () => {
    const minutes = (name: string): number => Number(new RegExp(`timeout ${name} (\\d+)m$`, "m").exec(haproxy)?.[1]);
    const { headersMs, idleMs } = defaultSettings.timeouts;

    for (const name of ["client", "server", "tunnel"])
      expect(minutes(name) * 60_000).toBeGreaterThan(Math.max(headersMs, idleMs));
    expect(haproxy).toMatch(/timeout connect 5s$/m);
  });
});

describe("deploy/compose/valkey.conf", () => {
  it("is taken by the server as compose hands it over, and asks for the password", async () => {
    const scratch = mkdtempSync(join(tmpdir(), "keywheel-valkey-"));
    const password = secrets.KEYWHEEL_VALKEY_PASSWORD;
    const port = await freePort();
    // The server of this machine, by the name that the image has for it; other places, the same words.
    symlinkSync(findRedis() ?? "", join(scratch, "valkey-server"));
    writeFileSync(join(scratch, "password"), password);
    const settings = read("deploy/compose/valkey.conf")
      .replace("port 6379", `port ${port}`)
      .replace("bind * -::*", "bind 127.0.0.1")
      .replace("dir /tmp", `dir ${scratch}`);
    writeFileSync(join(scratch, "valkey.conf"), settings);
    const [shell = "", flags = "", script = ""] = service("valkey").entrypoint ?? [];
    const words = script
      .replaceAll("$$", "$")
      .replace("/run/secrets/valkey_password", join(scratch, "password"))
      .replace("/usr/local/etc/valkey.conf", join(scratch, "valkey.conf"));
    const path = [scratch, process.env["PATH"]].join(delimiter);
    const server = spawn(shell, [flags, words], { env: { PATH: path }, stdio: "ignore" });
    try {
      const answers = await talk(port, ["PING", `AUTH ${password}`, "CONFIG GET maxmemory-policy", "CONFIG GET save"]);

      expect(answers).toMatch(/^-NOAUTH .*\r\n\+OK\r\n.*noeviction\r\n.*\$4\r\nsave\r\n\$0\r\n\r\n$/s);
      // It is the first process of the container, which hears the signal to stop.
      expect(server.spawnargs.join(" ")).not.toContain(password);
      server.kill("SIGTERM");
      expect(await once(server, "exit")).toEqual([0, null]);
    } finally {
      server.kill("SIGKILL");
      rmSync(scratch, { recursive: true, force: true });
    }
  });
});

/** Sends lines once the port is open. @returns all that came within a moment */
async function talk(port: number, lines: readonly string[]): Promise<string> {
  for (let tries = 0; ; tries++) {
    const socket = connect(port, "127.0.0.1");
    try {
      await once(socket, "connect");
      let heard = "";
      socket.on("data", (bytes: Buffer) => (heard += bytes.toString()));
      socket.write(`${lines.join("\r\n")}\r\nQUIT\r\n`);
      await once(socket, "close");
      return heard.replace(/\+OK\r\n$/, "");
    } catch (error) {
      if (tries > 200) throw error;
      await sleep(20);
    } finally {
      socket.destroy();
    }
  }
}
