import { beforeAll, describe, expect, it } from "vitest";
import { ensureBuilt } from "../../scripts/lib/build.mjs";
import { bundle, bundleForPage } from "./bundle.ts";

beforeAll(ensureBuilt);

const everything = 'export { createPool, providers } from "@keywheel/pool";';
const one = `
  import { createPool, providers } from "@keywheel/pool";
  export const pool = createPool({ provider: providers.anthropic, keys: [] });`;

/** Of a thousand bytes. */
const kilobytes = (count: number): number => count * 1_000;

describe("the library in a bundle", () => {
  it("is under 20 KB compressed with all providers where a page loads it; what requests need follows with the first", async () => {
    const { atStart, later } = await bundleForPage(everything);

    expect(atStart.brotliBytes).toBeLessThan(kilobytes(17));
    expect(atStart.gzipBytes).toBeLessThan(kilobytes(19));
    expect(later.brotliBytes).toBeLessThan(kilobytes(24));
  });

  it("is under 40 KB compressed with all providers and everything in one file", async () => {
    const { brotliBytes } = await bundle(everything);

    expect(brotliBytes).toBeLessThan(kilobytes(40));
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
