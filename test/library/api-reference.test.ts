import { mkdtemp, readFile, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { expect, it } from "vitest";
import { root } from "../../scripts/lib/root.mjs";
import { run } from "./packed.ts";

it("`npm run docs:api` writes a page for all that programs use, with its examples, and finds nothing amiss", async () => {
  const out = await mkdtemp(join(tmpdir(), "keywheel-api-"));
  try {
    // Any warning is an error there: a name that is shown and not explained, a link that leads nowhere.
    await run(process.execPath, [join(root, "scripts", "docs-api.mjs"), "--out", out], root);

    const pages = ["functions/createPool", "interfaces/KeyPool", "interfaces/PoolOptions", "interfaces/PoolStore"];
    for (const page of pages) expect(await readFile(join(out, `${page}.html`), "utf8")).not.toBe("");
    expect(await readFile(join(out, "functions/createPool.html"), "utf8")).toContain("OPENAI_KEY_1");
    expect(await readFile(join(out, "interfaces/CooldownOptions.html"), "utf8")).toContain("default 60,000");
  } finally {
    await rm(out, { recursive: true, force: true });
  }
});
