import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { runGateway, startScriptedProvider } from "@keywheel/testkit";
import { expect, it } from "vitest";
import { buildProgram } from "../../packages/gateway/src/cli/program.ts";
import type { Actions } from "../../packages/gateway/src/cli/program-parts.ts";
import { createTestDatabase } from "../../packages/testkit/src/postgres.ts";
import { aHome, runCommand, spawnCommand } from "./run-command.ts";

interface CommandLike {
  name(): string;
  readonly commands: readonly CommandLike[];
}

/** Every command that does something, as its words. */
function leavesOf({ commands }: CommandLike, before: readonly string[] = []): readonly string[] {
  return commands.flatMap((command) => {
    const words = [...before, command.name()];
    return command.commands.length === 0 ? [words.join(" ")] : leavesOf(command, words);
  });
}

/** What all commands print is read here; none of their actions runs in this process. */
const commands = leavesOf(buildProgram({} as Actions));

/**
 * How each command is called, in an order in which one finds what another has left. No gateway runs on the data directory.
 * `DATABASE` is an empty PostgreSQL database.
 */
const calls: Readonly<Record<string, string>> = {
  "provider presets": "",
  "provider add": "openai --base-url PROVIDER",
  "provider set": "openai --name Main",
  "provider list": "",
  "provider affinity": "openai",
  "key add": "openai $MAIN_KEY --label main",
  "key import": "openai keys.txt",
  "key list": "",
  "key set": "main --weight 2",
  "key disable": "second",
  "key enable": "second",
  "key test": "second",
  "key reset": "main",
  "key remove": "main --yes",
  "session list": "",
  "session end": "nobody",
  "token create": "laptop",
  "token list": "",
  "token set": "laptop --name desk",
  "token revoke": "desk --yes",
  "token rotate-admin": "--yes",
  "webhook add": "http://127.0.0.1:9/hook --name other",
  "webhook set": "other --disabled",
  "webhook list": "",
  "webhook rotate": "other",
  "webhook deliveries": "other",
  "webhook test": "other",
  "webhook remove": "other --yes",
  status: "",
  "config export": "keywheel.yaml",
  "config check": "keywheel.yaml",
  "config status": "",
  "config schema": "",
  doctor: "",
  backup: "copy.db",
  export: "gateway.json",
  import: "gateway.json",
  migrate: "--to DATABASE",
  "rotate-master-key": "",
  "provider remove": "openai --yes",
  completion: "bash",
  connect: "",
  version: "",
  demo: "--no-open --seconds 5",
};
/** One that goes on until it is ended, and those that need a gateway which follows a file, or has served a session. The last one
 * is for shells alone. */
const others = ["start", "config reload", "session show", "complete"];

it("knows how each command is called: say it in this test where you add one", () => {
  expect([...Object.keys(calls), ...others].sort()).toEqual([...commands].sort());
});

it("every command prints JSON, and nothing else, with --json", { timeout: 400_000 }, async () => {
  using place = aHome();
  const value = "sk-test-json-0123456789abcdef";
  await using provider = await startScriptedProvider({ keys: [value] });
  writeFileSync(join(place.home, "keys.txt"), `${value},second,1\n`);
  const database = await createTestDatabase();

  for (const [words, rest] of Object.entries(calls)) {
    const filled = rest.replace("DATABASE", database).replace("PROVIDER", provider.baseUrl);
    const call = `${words} ${filled} --json`.split(" ").filter((word) => word !== "");
    const { code, stdout, stderr } = await runCommand(call, place);

    expect([words, code, stderr]).toEqual([words, expect.any(Number), expect.any(String)]);
    expect([words, linesOf(stdout)]).toEqual([words, expect.not.arrayContaining([undefined])]);
    expect([words, stdout === "", code === 2, stderr.includes("inside keywheel")]).toEqual([
      words,
      false,
      false,
      false,
    ]);
  }
});

/** The documents in an output, each a line or all of it one; undefined for what is none. */
function linesOf(output: string): readonly unknown[] {
  const whole = parsed(output);
  return whole === undefined ? output.trimEnd().split("\n").map(parsed) : [whole];
}

function parsed(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    // What is not JSON is what is looked for.
    return undefined;
  }
}

it("start says as JSON where it serves", async () => {
  using place = aHome();
  const child = spawnCommand(["start", "--port", "0", "--json", "--log-level", "error"], place);
  const ended = new Promise((resolve) => child.on("close", resolve));

  const first = await new Promise((resolve) => child.stdout?.once("data", (text) => resolve(String(text))));
  const { url, sign_in: signIn } = JSON.parse(String(first)) as { readonly url: string; readonly sign_in: string };
  const health = await fetch(`${url}/healthz`);
  child.kill("SIGTERM");
  await ended;

  expect(health.status).toBe(200);
  expect(signIn.startsWith(url)).toBe(true);
});

it("connect prints JSON for a client as well", async () => {
  using place = aHome();
  await using gateway = await runGateway();
  await gateway.addProvider({ baseUrl: "https://api.openai.com/v1" });
  const env = { KEYWHEEL_DATA_DIR: gateway.dataDir };

  for (const words of ["connect codex", "connect codex --dry-run", "connect codex --write"]) {
    const { stdout } = await runCommand([...words.split(" "), "--json"], { ...place, env });

    expect(JSON.parse(stdout)).toMatchObject({ client: "codex", files: [{}] });
  }
});

it("config reload says as JSON what became of the file", async () => {
  using place = aHome();
  const env = { KEYWHEEL_DATA_DIR: join(place.home, "data") };
  const file = join(place.home, "keywheel.yaml");
  await runCommand(["provider", "add", "openai"], { ...place, env });
  await runCommand(["config", "export", file], { ...place, env });
  await using _gateway = await runGateway({ dataDir: env.KEYWHEEL_DATA_DIR, flags: ["--config", file] });

  const { code, stdout } = await runCommand(["config", "reload", "--json"], { ...place, env });

  expect([code, JSON.parse(stdout)]).toEqual([0, expect.objectContaining({ file })]);
});
