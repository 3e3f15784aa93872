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

/** A program that uses the library, as a page or a Worker loads it: nothing follows later. @param program may import from "@keywheel/pool" */
export async function bundle(program: string): Promise<Weighed> {
  const [chunk, ...others] = await chunksOf(program);
  if (chunk === undefined || others.length > 0) throw new Error("The program was not bundled into one file.");
  const { code } = chunk;
  return {
    code,
    gzipBytes: gzipSync(code, { level: 9 }).length,
    brotliBytes: brotliCompressSync(code).length,
  };
}

async function chunksOf(program: string): Promise<readonly Rolldown.OutputChunk[]> {
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
      rolldownOptions: { input: "program", preserveEntrySignatures: "strict" },
    },
  });
  const { output } = (Array.isArray(built) ? built[0] : built) as Rolldown.RolldownOutput;
  return output.filter((part) => part.type === "chunk");
}
