import { brotliCompressSync, gzipSync } from "node:zlib";
import { join } from "node:path";
import { build, type Rolldown } from "vite";
import { root } from "../../scripts/lib/root.mjs";

/** The library as it is published. */
const entry = join(root, "packages", "pool", "dist", "index.js");

/** Code, and what it comes to. */
export interface Weighed {
  readonly code: string;
  readonly gzipBytes: number;
  readonly brotliBytes: number;
}

/** A program that uses the library, in one file, as a Worker is. @param program may import from "@keywheel/pool" */
export async function bundle(program: string): Promise<Weighed> {
  const [chunk, ...others] = await chunksOf(program, false);
  if (chunk === undefined || others.length > 0) throw new Error("The program was not bundled into one file.");
  return weigh([chunk.code]);
}

/** The same in several files, as a page is: what is loaded at the start, and what follows when it is asked for. */
export async function bundleForPage(program: string): Promise<{ readonly atStart: Weighed; readonly later: Weighed }> {
  const chunks = await chunksOf(program, true);
  const byName = new Map(chunks.map((chunk) => [chunk.fileName, chunk]));
  const atStart = new Set<Rolldown.OutputChunk>(chunks.filter(({ isEntry }) => isEntry));
  for (const { imports } of atStart)
    for (const chunk of imports.map((name) => byName.get(name))) if (chunk !== undefined) atStart.add(chunk);
  const isLater = (chunk: Rolldown.OutputChunk): boolean => !atStart.has(chunk);
  return {
    atStart: weigh([...atStart].map(({ code }) => code)),
    later: weigh(chunks.filter(isLater).map(({ code }) => code)),
  };
}

/** Files are compressed one by one. */
function weigh(files: readonly string[]): Weighed {
  const sum = (compress: (code: string) => Buffer): number =>
    files.reduce((bytes, code) => bytes + compress(code).length, 0);
  return {
    code: files.join("\n"),
    gzipBytes: sum((code) => gzipSync(code, { level: 9 })),
    brotliBytes: sum((code) => brotliCompressSync(code)),
  };
}

async function chunksOf(program: string, codeSplitting: boolean): Promise<readonly Rolldown.OutputChunk[]> {
  const source = "\0program";
  const built = await build({
    configFile: false,
    root,
    logLevel: "silent",
    resolve: { alias: { "@keywheel/pool": entry } },
    plugins: [
      {
        name: "program",
        resolveId: (id) => (id === "program" ? source : undefined),
        load: (id) => (id === source ? program : undefined),
      },
    ],
    build: {
      write: false,
      minify: true,
      target: "es2024",
      modulePreload: false,
      rolldownOptions: { input: "program", preserveEntrySignatures: "strict", output: { codeSplitting } },
    },
  });
  const { output } = (Array.isArray(built) ? built[0] : built) as Rolldown.RolldownOutput;
  return output.filter((part) => part.type === "chunk");
}
