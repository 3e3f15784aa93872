import { chmodSync, renameSync, rmSync, writeFileSync } from "node:fs";
import { failed } from "../exit.ts";

/** For its owner alone; all of it or nothing. @throws CommandError (1) */
export function writePrivately(file: string, text: string, replaces: boolean): void {
  const draft = `${file}.${process.pid}.new`;
  try {
    if (!replaces) return writeFileSync(file, text, { mode: 0o600, flag: "wx" });
    writeFileSync(draft, text, { mode: 0o600, flag: "wx" });
    chmodSync(draft, 0o600);
    renameSync(draft, file);
  } catch (error) {
    const code = error instanceof Error && "code" in error ? error.code : undefined;
    if (code === "EEXIST") throw taken(file);
    throw failed(`The file ${file} cannot be written: ${String(code ?? error)}.`, error);
  } finally {
    rmSync(draft, { force: true });
  }
}

export function taken(file: string): Error {
  return failed(`The file ${file} is there already. Name another one, or say --force to replace it.`);
}
