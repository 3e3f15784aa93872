import { readFile } from "node:fs/promises";
import { join } from "node:path";
import { beforeAll, describe, expect, it } from "vitest";
import { ensureBuilt } from "../../scripts/lib/build.mjs";
import { root } from "../../scripts/lib/root.mjs";
import { bundle } from "./bundle.ts";

beforeAll(ensureBuilt);

const everything = 'export { createPool, providers } from "@keywheel/pool";';
const one = `
  import { createPool, providers } from "@keywheel/pool";
  export const pool = createPool({ provider: providers.anthropic, keys: [] });`;

/** Of a thousand bytes. */
const kilobytes = (count: number): number => count * 1_000;

describe("the library in a bundle", () => {
  it("is under 32 KB compressed with all providers, in one piece, and README and manual say so", async () => {
    const { brotliBytes, gzipBytes } = await bundle(everything);

    expect(brotliBytes).toBeLessThan(kilobytes(32));
    expect(gzipBytes).toBeLessThan(kilobytes(36));
    const said = `${Math.round(brotliBytes / 1_000)} KB`;
    for (const page of ["packages/pool/README.md", "docs/ko/library.md"])
      expect(await readFile(join(root, page), "utf8")).toContain(said);
  });

  it("leaves out the providers that are not used", async () => {
    const [all, anthropic] = [await bundle(everything), await bundle(one)];

    expect(anthropic.brotliBytes).toBeLessThan(all.brotliBytes - 2_000);
    expect(all.code).toContain("dashscope.aliyuncs.com");
    expect(anthropic.code).toContain("api.anthropic.com");
    for (const other of ["dashscope.aliyuncs.com", "api.openai.com", "AllocationQuota"])
      expect(anthropic.code).not.toContain(other);
  });

  it("leaves nothing where nothing of it is used", async () => {
    const { code } = await bundle('import "@keywheel/pool"; export const nothing = 0;');

    expect(code.length).toBeLessThan(100);
  });
});
