import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { type ControlBench, openControlBench } from "./control-plane.test-bench.ts";
import { openPages } from "./pages.ts";

const folder = mkdtempSync(join(tmpdir(), "keywheel-pages-"));
const script = "console.log('a page');";
let bench: ControlBench;
beforeAll(async () => {
  mkdirSync(join(folder, "assets"));
  writeFileSync(
    join(folder, "index.html"),
    '<meta property="csp-nonce" nonce="KEYWHEEL_CSP_NONCE"><div id="root"></div>',
  );
  writeFileSync(join(folder, "favicon.svg"), "<svg/>");
  writeFileSync(join(folder, ".build-stamp"), "secret of the build");
  writeFileSync(join(folder, "assets", "index-abc123.js"), script);
  writeFileSync(join(folder, "assets", "index-abc123.js.br"), "packed by brotli");
  writeFileSync(join(folder, "assets", "index-abc123.js.gz"), "packed by gzip");
  bench = await openControlBench({ plane: { pages: openPages(folder) } });
});
afterAll(async () => {
  await bench.close();
  rmSync(folder, { recursive: true, force: true });
});

describe("the settings pages", () => {
  it.each(["/ui/", "/ui/settings/providers/openai", "/ui/sign-in", "/ui/index.html"])(
    "are one document at %s, with a nonce of its own",
    async (path) => {
      const [first, second] = [await bench.call("GET", path), await bench.call("GET", path)];

      const policies = [first, second].map(({ headers }) => headers.get("content-security-policy") ?? "");
      const nonces = [first, second].map(({ body }) => /nonce="([^"]+)"/.exec(body as string)?.[1] ?? "");
      expect(first.status).toBe(200);
      expect(first.headers.get("cache-control")).toBe("no-store");
      expect(policies[0]).toContain(`style-src 'self' 'nonce-${nonces[0]}'`);
      expect(policies[0]).toContain("script-src 'self';");
      expect(nonces[0]).not.toBe(nonces[1]);
    },
  );

  it("give files as the browser takes them, to be kept for ever where their name holds a hash", async () => {
    const path = "/ui/assets/index-abc123.js";
    const answers = await Promise.all(
      ["br, gzip", "gzip", "br;q=0, gzip;q=0", "identity"].map((encoding) =>
        bench.call("GET", path, undefined, { "accept-encoding": encoding }),
      ),
    );

    expect(answers.map(({ body }) => body as string)).toEqual(["packed by brotli", "packed by gzip", script, script]);
    expect(answers.map(({ headers }) => headers.get("content-encoding"))).toEqual(["br", "gzip", null, null]);
    expect(answers[0]?.headers.get("cache-control")).toContain("immutable");
    expect(answers[0]?.headers.get("content-type")).toContain("text/javascript");
    expect(answers[0]?.headers.get("vary")).toBe("accept-encoding");
  });

  it("spare the browser what it has already", async () => {
    const { headers } = await bench.call("GET", "/ui/favicon.svg");
    const again = await bench.call("GET", "/ui/favicon.svg", undefined, { "if-none-match": headers.get("etag") ?? "" });

    expect([again.status, again.body]).toEqual([304, ""]);
  });

  it("give nothing that is no page, whatever is asked for", async () => {
    const paths = [
      "/ui/.build-stamp",
      "/ui/../package.json",
      "/ui/%2e%2e/package.json",
      "/ui/assets/%2e%2e%2f.build-stamp",
    ];
    const answers = await Promise.all(paths.map((path) => bench.call("GET", path)));

    for (const { body } of answers) expect(JSON.stringify(body)).not.toContain("secret of the build");
  });

  it("answer 404 for a file of an older build, rather than a document in its place", async () => {
    expect((await bench.call("GET", "/ui/assets/index-older0.js")).status).toBe(404);
  });

  it("say themselves that a sign-in link was spent", async () => {
    const { status, headers } = await bench.call("GET", "/ui/sign-in?code=spent");

    expect([status, headers.get("location"), headers.get("set-cookie")]).toEqual([303, "/ui/sign-in?link=spent", null]);
  });
});

it("has no pages where none were built", () => {
  expect(openPages(join(folder, "nowhere"))).toBeUndefined();
});
