import { readFile } from "node:fs/promises";
import { failed, wrongWords } from "../exit.ts";
import { askHidden } from "../prompt.ts";
import type { Terminal } from "../terminal.ts";

const variable = "KEYWHEEL_PASSPHRASE";
const shortest = 8;

export interface PassphraseFlags {
  readonly passphraseFile?: string;
}

/**
 * The passphrase that a script gives: in a file, or in the environment. The line break at the end of a file is not part of
 * it. Never as an argument, which every process of the machine can read.
 *
 * @throws CommandError (1) for a file that cannot be read, (2) for an empty one
 */
export async function givenPassphrase(
  { environment }: Terminal,
  { passphraseFile }: PassphraseFlags,
): Promise<string | undefined> {
  if (passphraseFile === undefined) return environment[variable] === "" ? undefined : environment[variable];
  const text = await readFile(passphraseFile, "utf8").catch((error: unknown) => {
    const reason = error instanceof Error ? error.message : String(error);
    throw failed(`The file ${passphraseFile} cannot be read: ${reason}.`, error);
  });
  const passphrase = text.replace(/\r?\n$/, "");
  if (passphrase === "") throw wrongWords(`The file ${passphraseFile} is empty: it should hold the passphrase.`);
  return passphrase;
}

/** @throws CommandError (2) where nobody can be asked */
export async function askPassphrase(terminal: Terminal, whatFor: string): Promise<string> {
  if (!terminal.canAsk) {
    throw wrongWords(`${whatFor}\nNobody can be asked here; give --passphrase-file, or set ${variable}.`);
  }
  return await askHidden(terminal, "Passphrase (what you type is not shown): ");
}

/** Asks twice: nobody sees a slip, and it would be found when it is too late. */
export async function askNewPassphrase(terminal: Terminal): Promise<string> {
  const passphrase = await askPassphrase(terminal, "A passphrase is needed to encrypt the keys.");
  if (passphrase.length < shortest) throw wrongWords(`The passphrase needs ${shortest} characters or more.`);
  if ((await askHidden(terminal, "Once more: ")) !== passphrase) throw wrongWords("The two passphrases differ.");
  return passphrase;
}
