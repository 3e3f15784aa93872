import { execFile } from "node:child_process";
import { existsSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { promisify } from "node:util";
import { describe, expect, it } from "vitest";
import { foldersOnPath } from "../../scripts/lib/debian.mjs";
import { aHome, runCommand } from "./run-command.ts";

const run = promisify(execFile);

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

async function completed(shell: string, words: string): Promise<readonly string[]> {
  using place = aHome();
  const { stdout: script } = await runCommand(["completion", shell], place);
  const file = join(place.home, "completion");
  writeFileSync(file, script);
  writeFileSync(join(place.home, "keys.txt"), "");
  const [program = "", ...args] = askers[shell] ?? [];
  const options = { cwd: place.home, env: { PATH: process.env["PATH"], HOME: place.home, TERM: "xterm" } };
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
  ])("completes `%s`", async (words, expected) => {
    const [only = "", ...others] = await completed(shell, words);

    expect([only.split(" ").at(-1), others]).toEqual([expected, []]);
  });
});

it("refuses shells that it does not know", async () => {
  using place = aHome();

  const { code, stderr } = await runCommand(["completion", "tcsh"], place);

  expect([code, stderr]).toEqual([2, 'There is no completion for "tcsh". There is for bash, zsh, fish.\n']);
});
