import { existsSync, readdirSync } from "node:fs";
import { mkdtemp, rm, writeFile } from "node:fs/promises";
import { createRequire } from "node:module";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { openAiError, type ScriptedProvider, startScriptedProvider } from "@keywheel/testkit";
import { beforeAll, describe, expect, it } from "vitest";
import { ensureBuilt } from "../../scripts/lib/build.mjs";
import { root } from "../../scripts/lib/root.mjs";
import { ensureSideInstall, runtimes } from "../../scripts/lib/side-install.mjs";
import { launchBrowser } from "../pages/browser.ts";
import type * as miniflareTypes from "./miniflare.d.ts";
import { bundle } from "./bundle.ts";
import { run } from "./packed.ts";

const keys = ["sk-test-a-0123456789abcdea", "sk-test-b-0123456789abcdeb", "sk-test-c-0123456789abcdec"];
const exercise = JSON.stringify(join(root, "test", "library", "exercise.mjs"));

const expected = {
  said: "You said: Hello wheel",
  pieces: 7,
  isWhole: true,
  aborted: "AbortError",
  events: ["A rests", "B is out"],
  statuses: ["cooling_down 0", "disabled 0", "available 1"],
};

/** The whole exercise in one module, as a program for one of the runtimes. */
let module: string;
let folder: string;
beforeAll(async () => {
  await ensureBuilt();
  await ensureSideInstall(runtimes);
  ({ code: module } = await bundle(`export { exercise } from ${exercise};`));
  folder = await mkdtemp(join(tmpdir(), "keywheel-runtimes-"));
  await writeFile(join(folder, "exercise.mjs"), module);
  await writeFile(
    join(folder, "program.mjs"),
    `import { exercise } from "./exercise.mjs";
     const [baseURL, ...keys] = (globalThis.Deno?.args ?? process.argv.slice(2));
     console.log(JSON.stringify(await exercise(baseURL, keys)));`,
  );
  return () => rm(folder, { recursive: true, force: true });
});

async function aProvider(): Promise<ScriptedProvider> {
  const provider = await startScriptedProvider({ keys });
  const limited = openAiError(429, { message: "Slow down", type: "requests", code: "rate_limit_exceeded" });
  provider.forKey(keys[0]!).next(limited);
  provider.revoke(keys[1]!);
  return provider;
}

/** Bun's own command is made by an install script; the executable for this machine lies beside it. */
function bun(): string {
  const folder = join(runtimes, "node_modules", "@oven");
  const found = readdirSync(folder).map((name) => join(folder, name, "bin", "bun"));
  return found.find((path) => existsSync(path)) ?? "bun";
}

const deno = (): string => join(runtimes, "node_modules", ".bin", "deno");

describe("the library", () => {
  it.each([
    ["Node", () => process.execPath, []],
    ["Bun", bun, ["run"]],
    // It may reach the network and nothing else: no variable is read that no key names.
    ["Deno", deno, ["run", "--no-prompt", "--allow-net"]],
  ])("works in %s", async (_, program, args) => {
    await using provider = await aProvider();

    const printed = await run(program(), [...args, "program.mjs", provider.baseUrl, ...keys], folder);

    expect(JSON.parse(printed)).toEqual(expected);
    expect(provider.picks()).toBe("ABCC");
    expect(provider.faults).toEqual([]);
  });

  it("works in a Cloudflare Worker", async () => {
    await using provider = await aProvider();
    const { Miniflare } = createRequire(join(runtimes, "package.json"))("miniflare") as typeof miniflareTypes;
    const worker = `
      import { exercise } from "./exercise.mjs";
      export default {
        async fetch(request, env) {
          return Response.json(await exercise(env.BASE_URL, env.KEYS));
        },
      };`;
    const miniflare = new Miniflare({
      modules: [
        { type: "ESModule", path: "worker.mjs", contents: worker },
        { type: "ESModule", path: "exercise.mjs", contents: module },
      ],
      compatibilityDate: "2026-07-01",
      bindings: { BASE_URL: provider.baseUrl, KEYS: keys },
    });
    try {
      const response = await miniflare.dispatchFetch("http://worker.example/");

      expect(await response.json()).toEqual(expected);
      expect(provider.picks()).toBe("ABCC");
      expect(provider.faults).toEqual([]);
    } finally {
      await miniflare.dispose();
    }
  });

  it("works in Chromium", async () => {
    await using provider = await aProvider();
    const browser = await launchBrowser();
    try {
      const page = await browser.newPage();
      // A page of the provider's own origin: what browsers ask of other origins is between them and the provider.
      const pageUrl = `${provider.origin}/page`;
      await page.route(pageUrl, (route) => route.fulfill({ contentType: "text/html", body: "<!doctype html>" }));
      await page.route(`${provider.origin}/exercise.mjs`, (route) =>
        route.fulfill({ contentType: "text/javascript", body: module }),
      );
      await page.goto(pageUrl);

      const result: unknown = await page.evaluate(
        `import("/exercise.mjs").then(({ exercise }) => exercise(${JSON.stringify(provider.baseUrl)}, ${JSON.stringify(keys)}))`,
      );

      expect(result).toEqual(expected);
      expect(provider.picks()).toBe("ABCC");
      expect(provider.faults).toEqual([]);
    } finally {
      await browser.close();
    }
  });
});
