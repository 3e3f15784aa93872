import { readdirSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { brotliCompressSync, constants, gzipSync } from "node:zlib";
import react from "@vitejs/plugin-react";
import { defineConfig, type Plugin } from "vite";

// Into the gateway's own output, which is what its package ships.
const outDir = fileURLToPath(new URL("../gateway/dist/ui", import.meta.url));

export default defineConfig({
  base: "/ui/",
  plugins: [react(), precompressed()],
  // The gateway puts a fresh one in the place of this word with every page that it serves.
  html: { cspNonce: "KEYWHEEL_CSP_NONCE" },
  build: {
    outDir,
    emptyOutDir: true,
    target: "es2023",
    // The first that know `light-dark()`: what older ones would be given in its place does not follow our colour scheme.
    cssTarget: ["chrome123", "firefox120", "safari17.5"],
    // Its polyfill would be an inline script in disguise, for browsers that cannot run the pages anyway.
    modulePreload: { polyfill: false },
    reportCompressedSize: false,
    // The package carries their work, so it carries their licences.
    license: { fileName: "third-party-licenses.md" },
  },
});

/** Lays `.br` and `.gz` beside what is worth compressing, so that the gateway compresses nothing while it serves. */
function precompressed(): Plugin {
  let folder = outDir;
  return {
    name: "precompressed",
    apply: "build",
    configResolved({ build }) {
      folder = build.outDir;
    },
    closeBundle() {
      for (const file of readdirSync(folder, { recursive: true, encoding: "utf8" })) {
        if (!/\.(?:js|css|svg)$/.test(file)) continue;
        const path = join(folder, file);
        const bytes = readFileSync(path);
        if (bytes.length < 1_024) continue;
        const params = { [constants.BROTLI_PARAM_QUALITY]: 10 };
        writeFileSync(`${path}.br`, brotliCompressSync(bytes, { params }));
        writeFileSync(`${path}.gz`, gzipSync(bytes, { level: 9 }));
      }
    },
  };
}
