// What the library weighs in a program, and which of its modules weighs what: `node scripts/pool-size.mjs`, after a build.
import { brotliCompressSync, gzipSync } from "node:zlib";
import { join, relative } from "node:path";
import { rolldown } from "rolldown";
import { minify } from "rolldown/utils";
import { root } from "./lib/root.mjs";

const program = 'export { createPool, providers } from "@keywheel/pool";';
const dist = join(root, "packages", "pool", "dist");

const bundle = await rolldown({
  input: "\0program",
  cwd: root,
  platform: "browser",
  resolve: { alias: { "@keywheel/pool": join(dist, "index.js") } },
  plugins: [
    {
      name: "program",
      resolveId: (id) => (id === "\0program" ? id : undefined),
      load: (id) => (id === "\0program" ? program : undefined),
    },
  ],
});
const whole = (await bundle.generate({ minify: true })).output[0].code;
const { modules } = (await bundle.generate({})).output[0];
await bundle.close();

/** Names of the top level stay: what a module shares with others is not its own weight. */
const options = /** @type {const} */ ({ module: false, compress: { unused: false }, mangle: { toplevel: false } });
const parts = await Promise.all(
  Object.entries(modules).map(async ([path, { code }]) => ({
    name: relative(dist, path),
    code: (await minify("part.js", code ?? "", options)).code,
  })),
);
const together = brotliOf(parts);
const rows = parts
  .filter(({ code }) => code !== "")
  .map((part) => ({
    module: part.name,
    minified: part.code.length,
    gzip: gzipSync(part.code, { level: 9 }).length,
    brotli: brotliCompressSync(part.code).length,
    // What would be gone without it; alone it weighs more, as it shares words with the others.
    share: together - brotliOf(parts.filter((other) => other !== part)),
  }))
  .sort((one, other) => other.share - one.share);

console.table(rows);
console.log(
  `Whole: ${whole.length} B minified, ${gzipSync(whole, { level: 9 }).length} B gzip, ${brotliCompressSync(whole).length} B brotli`,
);

/** @param {readonly { readonly code: string }[]} of */
function brotliOf(of) {
  return brotliCompressSync(of.map(({ code }) => code).join("\n")).length;
}
