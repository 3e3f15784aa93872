import { execFile } from "node:child_process";
import { existsSync, mkdirSync, readdirSync, writeFileSync } from "node:fs";
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { delimiter, join } from "node:path";
import { promisify } from "node:util";
import { runGateway } from "@keywheel/testkit";
import { beforeAll, describe, expect, it } from "vitest";
import { root } from "../../scripts/lib/root.mjs";
import { foldersOnPath } from "../../scripts/lib/debian.mjs";
import { aHome, runCommand } from "./run-command.ts";

const run = promisify(execFile);
const builtProgram = join(root, "packages/gateway/dist/cli/main.js");

/** How each shell is asked what could come behind some words. Prints one a line. */
const askers: Readonly<Record<string, readonly [program: string, ...args: string[]]>> = {
  bash: [
    "bash",
    "--noprofile",
    "--norc",
    "-c",
    `source "$1"; read -ra COMP_WORDS <<< "keywheel $2"; [[ $2 == *' ' ]] && COMP_WORDS+=("")
     COMP_CWORD=$(( \${#COMP_WORDS[@]} - 1 )); _keywheel; printf '%s\\n' "\${COMPREPLY[@]}"`,
    "bash",
  ],
  fish: [
    "fish",
    "--no-config",
    "-c",
    `source $argv[1]; complete -C "keywheel $argv[2]" | string replace -r '\\t.*' ''; true`,
  ],
  // In a terminal of its own, with the Tab key: what one press makes of the line is what is run.
  zsh: [
    "zsh",
    "-f",
    "-c",
    `zmodload zsh/zpty
     zpty z "zsh -f -i"
     zpty -w z "PS1=''; autoload -Uz compinit; compinit -u -D; source $1; keywheel() { print -r -- \\"RAN:\\$*:\\" }; print -r REA'DY'"
     while zpty -r z line; do [[ $line == *READY* ]] && break; done
     zpty -w z "keywheel $2"$'\\t'
     while zpty -r z line; do [[ $line == *RAN:* ]] && { print -r -- \${\${line##*RAN:}%%:*}; break }; done
     zpty -d z`,
    "zsh",
  ],
};

const here = Object.keys(askers).filter((shell) => foldersOnPath().some((folder) => existsSync(join(folder, shell))));

it("is tried in bash at least", () => {
  expect(here).toContain("bash");
});

/** What a shell makes of words. @param dataDir where `keywheel` looks for what is stored */
async function completed(shell: string, words: string, dataDir = "nowhere"): Promise<readonly string[]> {
  using place = aHome();
  // The program as it is installed, by its name.
  const bin = join(place.home, "bin");
  mkdirSync(bin);
  writeFileSync(join(bin, "keywheel"), `#!/bin/sh\nexec '${process.execPath}' -- '${builtProgram}' "$@"\n`, {
    mode: 0o755,
  });
  const { stdout: script } = await runCommand(["completion", shell], place);
  const file = join(place.home, "completion");
  writeFileSync(file, script);
  writeFileSync(join(place.home, "keys.txt"), "");
  const [program = "", ...args] = askers[shell] ?? [];
  const env = {
    PATH: [bin, process.env["PATH"]].join(delimiter),
    HOME: place.home,
    TERM: "xterm",
    KEYWHEEL_DATA_DIR: dataDir,
  };
  const options = { cwd: place.home, env };
  // Fish takes what comes behind `-c` as its own.
  const { stdout } = await run(program, [...args, ...(shell === "fish" ? ["--"] : []), file, words], options);
  return stdout
    .split("\n")
    .map((line) => line.trim())
    .filter((line) => line !== "");
}

describe.each(here)("in %s", { timeout: 60_000 }, (shell) => {
  it.each([
    ["prov", "provider"],
    ["key im", "import"],
    ["connect claude", "claude-code"],
    ["connect codex --dry", "--dry-run"],
    ["completion z", "zsh"],
    ["key import openai ke", "keys.txt"],
    ["status --wa", "--watch"],
    ["provider add mistr", "mistral"],
  ])("completes `%s`", async (words, expected) => {
    const [only = "", ...others] = await completed(shell, words);

    expect([only.split(" ").at(-1), others]).toEqual([expected, []]);
  });
});

/** A data directory with one of everything that has a name. */
async function aStore(): Promise<{ readonly dataDir: string } & Disposable> {
  const place = aHome();
  const dataDir = join(place.home, "data");
  for (const words of [
    ["provider", "add", "openai", "--slug", "openai-eu"],
    ["provider", "add", "groq"],
    ["key", "add", "openai-eu", "$FIRST_KEY", "--label", "Ada's key"],
    ["key", "add", "openai-eu", "$SECOND_KEY", "--label", "twin"],
    ["key", "add", "groq", "$THIRD_KEY", "--label", "twin"],
    ["token", "create", "laptop"],
    ["webhook", "add", "https://hooks.example.com/", "--name", "pager"],
  ]) {
    const { code, stderr } = await runCommand(words, { ...place, env: { KEYWHEEL_DATA_DIR: dataDir } });
    if (code !== 0) throw new Error(stderr);
  }
  return { dataDir, [Symbol.dispose]: () => place[Symbol.dispose]() };
}

let store: Awaited<ReturnType<typeof aStore>>;
beforeAll(async () => {
  store = await aStore();
  return () => store[Symbol.dispose]();
});

/** Words, and what comes of one press of Tab. */
const namedWords = [
  ["provider set openai-", "openai-eu"],
  ["key add gr", "groq"],
  ["key list gro", "groq"],
  ["token create ci --provider openai-", "openai-eu"],
  ["token revoke lap", "laptop"],
  ["webhook test pa", "pager"],
] as const;

describe.each(here)("names of what is stored, in %s", { timeout: 120_000 }, (shell) => {
  it("are completed while no gateway runs, and while one does", async () => {
    const last = async ([words]: (typeof namedWords)[number]): Promise<string | undefined> =>
      (await completed(shell, words, store.dataDir)).map((line) => line.split(" ").at(-1)).join();

    const offline: unknown[] = [];
    for (const one of namedWords) offline.push(await last(one));
    const before = readdirSync(store.dataDir).sort();
    await using gateway = await runGateway({ dataDir: store.dataDir });
    // It loads what answers with the first call: that one may come too late here, where others work as well.
    await gateway.api("GET", "/providers");
    const online: unknown[] = [];
    for (const one of namedWords) online.push(await last(one));
    await gateway.stop();

    const expected = namedWords.map(([, name]) => name);
    expect({ offline, online }).toEqual({ offline: expected, online: expected });
    // Looking leaves nothing behind.
    expect(before).toEqual(["keywheel.db", "lock", "master.key"]);
  });

  it("are completed with a blank and a quote in them", async () => {
    const [only = "", ...others] = await completed(shell, "key disable twin Ad", store.dataDir);

    expect(only.replaceAll("\\", "")).toMatch(/Ada's key$/);
    expect(others).toEqual([]);
  });

  it("are none where nothing can be read", async () => {
    using place = aHome();
    const dataDir = join(place.home, "broken");
    mkdirSync(dataDir);
    writeFileSync(join(dataDir, "keywheel.db"), "not a database");

    // A file stands there that is called so: that is no name of a key.
    const found = await completed(shell, "webhook test pa", dataDir);

    expect(found.join(" ").replace("webhook test pa", "")).toBe("");
    expect(readdirSync(dataDir)).toEqual(["keywheel.db"]);
  });
});

describe("keywheel complete", () => {
  it("names ids where names are missing or not enough", async () => {
    using place = aHome();

    const { stdout } = await runCommand(["complete", "key"], { ...place, env: { KEYWHEEL_DATA_DIR: store.dataDir } });

    const lines = stdout.trimEnd().split("\n").sort();
    expect(lines).toEqual([
      "Ada's key\topenai-eu",
      expect.stringMatching(/^key_\w+\tgroq$/),
      expect.stringMatching(/^key_\w+\topenai-eu$/),
    ]);
  });

  it.each([
    ["no data directory", {}],
    ["a gateway that is not there", { KEYWHEEL_URL: "http://127.0.0.1:9" }],
    ["PostgreSQL", { KEYWHEEL_DATABASE_URL: "postgres://127.0.0.1:9/keywheel" }],
    ["a master key that is none", { KEYWHEEL_MASTER_KEY: "short", KEYWHEEL_URL: "http://127.0.0.1:9" }],
  ])("says nothing, and does not fail: %s", async (_, env: Readonly<Record<string, string>>) => {
    using place = aHome();

    const outcome = await runCommand(["complete", "provider"], { ...place, env });

    expect(outcome).toEqual({ code: 0, stdout: "", stderr: "" });
    expect(readdirSync(place.home)).toEqual([]);
  });

  it("is quick: little beside the start of the program", async () => {
    using place = aHome();
    const tookMs = async (words: readonly string[]): Promise<number> => {
      const begun = performance.now();
      await runCommand(words, { ...place, env: { KEYWHEEL_DATA_DIR: store.dataDir } });
      return performance.now() - begun;
    };

    // The best of some, of both in turn: the machine does other things as well.
    const rounds: (readonly [number, number])[] = [];
    for (let round = 0; round < 5; round++) rounds.push([await tookMs(["version"]), await tookMs(["complete", "key"])]);

    const best = (at: 0 | 1): number => Math.min(...rounds.map((round) => round[at]));
    expect(best(1) - best(0)).toBeLessThan(200);
  });

  it("waits for nobody: a gateway that takes the connection and answers nothing", async () => {
    using place = aHome();
    const silent = createServer(() => undefined);
    await new Promise<void>((resolve) => silent.listen(0, "127.0.0.1", resolve));
    const { port } = silent.address() as AddressInfo;
    const env = { KEYWHEEL_URL: `http://127.0.0.1:${port}`, KEYWHEEL_ADMIN_TOKEN: "kwa_invented_0000000000000000" };

    const begun = performance.now();
    const outcome = await runCommand(["complete", "provider"], { ...place, env });
    const tookMs = performance.now() - begun;

    silent.closeAllConnections();
    silent.close();
    expect(outcome).toEqual({ code: 0, stdout: "", stderr: "" });
    // The start of the program beside it, on a machine that has other things to do.
    expect(tookMs).toBeLessThan(3000);
  });
});

it("refuses shells that it does not know", async () => {
  using place = aHome();

  const { code, stderr } = await runCommand(["completion", "tcsh"], place);

  expect([code, stderr]).toEqual([2, 'There is no completion for "tcsh". There is for bash, zsh, fish.\n']);
});
