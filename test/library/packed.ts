import { execFile } from "node:child_process";
import { mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { promisify } from "node:util";
import { root } from "../../scripts/lib/root.mjs";

const execute = promisify(execFile);

/** The library as npm would publish it, built from what is in `dist`. */
export interface PackedLibrary extends AsyncDisposable {
  readonly tarball: string;
  /** Paths in it. */
  readonly files: readonly string[];
  /** A folder that has the library and nothing else installed. */
  readonly folder: string;
}

/** Runs a program in a folder. @returns what it printed. @throws with that if it fails */
export async function run(program: string, args: readonly string[], folder: string): Promise<string> {
  try {
    const { stdout } = await execute(program, args, { cwd: folder, maxBuffer: 64 * 1024 * 1024 });
    return stdout;
  } catch (error) {
    const { stdout = "", stderr = "" } = error as { readonly stdout?: string; readonly stderr?: string };
    throw new Error(`${program} ${args.join(" ")}\n${stdout}\n${stderr}`, { cause: error });
  }
}

/** The npm that is on the PATH: it runs these tests. */
export function npm(args: readonly string[], folder: string): Promise<string> {
  return run("npm", args, folder);
}

export async function packLibrary(): Promise<PackedLibrary> {
  const folder = await mkdtemp(join(tmpdir(), "keywheel-library-"));
  const printed = await npm(["pack", "--json", "--pack-destination", folder], join(root, "packages", "pool"));
  const [packed] = JSON.parse(printed) as [{ readonly filename: string; readonly files: readonly { path: string }[] }];
  const tarball = join(folder, packed.filename);
  await writeFile(join(folder, "package.json"), JSON.stringify({ name: "of-a-user", private: true, type: "module" }));
  await npm(["install", "--offline", "--no-audit", "--no-fund", "--no-package-lock", tarball], folder);
  return {
    tarball,
    files: packed.files.map(({ path }) => path),
    folder,
    [Symbol.asyncDispose]: () => rm(folder, { recursive: true, force: true }),
  };
}
