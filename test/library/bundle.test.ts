import { beforeAll, describe, expect, it } from "vitest";
import { ensureBuilt } from "../../scripts/lib/build.mjs";
import { bundle } from "./bundle.ts";

beforeAll(ensureBuilt);

const everything = 'export { createPool, providers } from "@keywheel/pool";';
const one = `
  import { createPool, providers } from "@keywheel/pool";
  export const pool = createPool({ provider: providers.anthropic, keys: [] });`;

describe("the library in a bundle", () => {
  it("leaves out the providers that are not used", async () => {
    const [all, anthropic] = [await bundle(everything), await bundle(one)];

    expect(anthropic.brotliBytes).toBeLessThan(all.brotliBytes - 2_000);
    expect(all.code).toContain("dashscope.aliyuncs.com");
    expect(anthropic.code).toContain("api.anthropic.com");
    for (const other of ["dashscope.aliyuncs.com", "api.openai.com", "AllocationQuota"])
      expect(anthropic.code).not.toContain(other);
  });

  it("leaves nothing where nothing of it is used", async () => {
    const { bytes } = await bundle('import "@keywheel/pool"; export const nothing = 0;');

    expect(bytes).toBeLessThan(100);
  });
});
