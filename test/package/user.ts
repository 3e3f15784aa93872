import { execFile, spawn, type ChildProcess } from "node:child_process";
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { delimiter, dirname, join } from "node:path";
import { promisify } from "node:util";
import { npm } from "../library/packed.ts";
import { root } from "../../scripts/lib/root.mjs";

const execute = promisify(execFile);

export interface Outcome {
  readonly code: number;
  readonly stdout: string;
  readonly stderr: string;
}

/** Somebody elsewhere on this machine, with a home and an empty folder of their own, who knows no other registry than ours. */
export interface User extends Disposable {
  readonly folder: string;
  readonly env: NodeJS.ProcessEnv;
  /** @throws with what npm printed where it fails or warns */
  readonly install: (...words: readonly string[]) => Promise<void>;
  readonly run: (program: string, args: readonly string[], env?: Readonly<Record<string, string>>) => Promise<Outcome>;
  readonly spawn: (program: string, args: readonly string[]) => ChildProcess;
}

export function aUser(registry: string): User {
  const home = mkdtempSync(join(tmpdir(), "keywheel-user-"));
  const folder = join(home, "project");
  const temporary = join(home, "tmp");
  for (const path of [folder, temporary]) mkdirSync(path);
  writeFileSync(
    join(home, ".npmrc"),
    `registry=${registry}\nprefix=${join(home, "global")}\naudit=false\nfund=false\nupdate-notifier=false\n`,
  );
  // The Node of this run, and whatever npm and the system bring; no binaries of the checkout.
  const others = (process.env["PATH"] ?? "").split(delimiter).filter((path) => !path.startsWith(root));
  const env = {
    PATH: [join(home, "global", "bin"), dirname(process.execPath), ...others].join(delimiter),
    HOME: home,
    TMPDIR: temporary,
  };

  const run: User["run"] = async (program, args, more = {}) => {
    const options = { cwd: folder, env: { ...env, ...more }, maxBuffer: 64 * 1024 * 1024 };
    try {
      return { code: 0, ...(await execute(program, [...args], options)) };
    } catch (error) {
      const { code, stdout = "", stderr = "" } = error as Partial<Outcome>;
      if (typeof code !== "number") throw error;
      return { code, stdout, stderr };
    }
  };
  return {
    folder,
    env,
    run,
    async install(...words) {
      const { code, stdout, stderr } = await run("npm", ["install", ...words]);
      if (code !== 0 || stderr !== "") throw new Error(`npm ended with ${code}:\n${stdout}\n${stderr}`);
    },
    spawn: (program, args) => spawn(program, args, { cwd: folder, env, stdio: ["ignore", "pipe", "pipe"] }),
    [Symbol.dispose]: () => rmSync(home, { recursive: true, force: true, maxRetries: 3 }),
  };
}

export interface Packed extends Disposable {
  readonly tarballs: readonly string[];
  /** Paths in the packages, by their names. */
  readonly files: Readonly<Record<string, readonly string[]>>;
}

/** Both packages, as npm would publish them. */
export async function packAll(): Promise<Packed> {
  const folder = mkdtempSync(join(tmpdir(), "keywheel-packed-"));
  const args = [
    "pack",
    "--json",
    "--ignore-scripts",
    "--pack-destination",
    folder,
    "-w",
    "keywheel",
    "-w",
    "@keywheel/pool",
  ];
  const packed = JSON.parse(await npm(args, root)) as readonly {
    readonly name: string;
    readonly filename: string;
    readonly files: readonly { readonly path: string }[];
  }[];
  return {
    tarballs: packed.map(({ filename }) => join(folder, filename)),
    files: Object.fromEntries(packed.map(({ name, files }) => [name, files.map(({ path }) => path)])),
    [Symbol.dispose]: () => rmSync(folder, { recursive: true, force: true }),
  };
}
