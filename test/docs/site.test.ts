import { existsSync, mkdtempSync, readdirSync, readFileSync, rmSync, statSync } from "node:fs";
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { dirname, extname, join, relative } from "node:path";
import type { Browser } from "playwright-core";
import { beforeAll, describe, expect, it } from "vitest";
import { groups, languages, pages, sourceIn } from "../../docs/site/pages.ts";
import { providerPresets } from "../../packages/gateway/src/catalog/presets.ts";
import { buildSite } from "../../scripts/lib/docs-site.mjs";
import { root } from "../../scripts/lib/root.mjs";
import { docsSite, ensureSideInstall } from "../../scripts/lib/side-install.mjs";
import { eventually } from "../pooled-provider.ts";
import { expectAccessible, launchBrowser } from "../pages/browser.ts";

/** The built site, by the paths of its files. */
let folder: string;
let url: string;
let browser: Browser;
beforeAll(async () => {
  await ensureSideInstall(docsSite);
  // Beside the site's own dependencies, where what the pages import is found.
  const place = mkdtempSync(join(docsSite, ".test-"));
  folder = join(place, "dist");
  const cleanUp = () => rmSync(place, { recursive: true, force: true });
  try {
    // Fails where a page leads to one that is not there, and where a page is none that Vue can take.
    await buildSite({ pages: join(place, "pages"), out: folder, cache: join(place, "cache"), reference: false });
  } catch (error) {
    cleanUp();
    throw error;
  }
  const server = createServer((request, response) => {
    const path = join(folder, decodeURIComponent(new URL(request.url ?? "", "http://site").pathname));
    const file = [path, `${path}.html`, join(path, "index.html")].find(
      (one) => existsSync(one) && statSync(one).isFile(),
    );
    if (file === undefined) return void response.writeHead(404).end();
    response.writeHead(200, { "content-type": types[extname(file)] ?? "application/octet-stream" });
    response.end(readFileSync(file));
  });
  await new Promise<void>((resolve) => void server.listen(0, "127.0.0.1", resolve));
  url = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
  browser = await launchBrowser();
  return async () => {
    await browser.close();
    server.closeAllConnections();
    server.close();
    cleanUp();
  };
}, 120_000);

const types: Readonly<Record<string, string>> = {
  ".html": "text/html; charset=utf-8",
  ".js": "text/javascript",
  ".css": "text/css",
  ".svg": "image/svg+xml",
  ".png": "image/png",
  ".json": "application/json",
};

function builtPages(): readonly string[] {
  return readdirSync(folder, { recursive: true, encoding: "utf8" }).filter(
    (path) => path.endsWith(".html") && path !== "404.html",
  );
}

/** Where a page's links, images and styles lead, and the places in it that others may lead to. */
function linksOf(html: string): { readonly targets: readonly string[]; readonly ids: ReadonlySet<string> } {
  const unescape = (text: string): string => text.replaceAll("&amp;", "&");
  return {
    targets: [...html.matchAll(/\s(?:href|src)="([^"]*)"/g)].map(([, target = ""]) => unescape(target)),
    ids: new Set([...html.matchAll(/\sid="([^"]*)"/g)].map(([, id = ""]) => unescape(id))),
  };
}

describe("the documentation site", () => {
  it("leads nowhere that is not there: pages, places in pages, images, files", () => {
    const known = new Map(builtPages().map((path) => [path, linksOf(readFileSync(join(folder, path), "utf8"))]));
    const dead: string[] = [];
    let count = 0;
    for (const [path, { targets }] of known) {
      for (const target of targets) {
        if (/^(?:[a-z]+:|\/\/)/.test(target)) continue;
        count++;
        const [file = "", fragment = ""] = target.split("#");
        // Made by TypeDoc, which has a test of its own.
        if (file.startsWith("/reference/library/")) continue;
        const place = file === "" ? path : relative("/", join("/", file.startsWith("/") ? "" : dirname(path), file));
        const found = [place, `${place}.html`, join(place, "index.html")].find(
          (one) => one !== "" && existsSync(join(folder, one)) && statSync(join(folder, one)).isFile(),
        );
        if (found === undefined) dead.push(`${path}: ${target}`);
        else if (fragment !== "" && known.get(found)?.ids.has(decodeURIComponent(fragment)) === false)
          dead.push(`${path}: ${target} (no such place in it)`);
      }
    }

    expect(known.size).toBeGreaterThan(100);
    expect(count).toBeGreaterThan(5_000);
    expect(dead).toEqual([]);
  });

  it("has every page in both languages, in Korean a word where the text is not there yet", () => {
    const built = new Set(builtPages());
    const wanted = [
      ...pages.map(({ target }) => target),
      ...providerPresets.map(({ slug }) => `providers/${slug}`),
      ...["keys", "providers", "tokens", "activity", "objects"].map((name) => `api-reference/${name}`),
    ];

    const missing = languages.flatMap((language) =>
      wanted.map((target) => `${language === "ko" ? "ko/" : ""}${target}.html`).filter((path) => !built.has(path)),
    );
    expect(missing).toEqual([]);
    const translated = pages.filter((page) => sourceIn("ko", page) !== undefined).map(({ target }) => target);
    expect(translated).toEqual(
      expect.arrayContaining([
        "index",
        "start",
        "concepts",
        "clients",
        "providers",
        "api-reference",
        "troubleshooting",
        "configuration",
        "operations",
        "observability",
        "affinity",
        "groups",
        "moving-in",
        "errors",
        "scaling",
        "library",
        "security",
        "threat-model",
        "dependencies",
        "ARCHITECTURE",
        "clients/README",
        "clients/codex",
      ]),
    );
  });

  it("shows every text of the repository that is for people who use or run it", () => {
    const shown = new Set([...groups.flatMap((group) => group.pages), ...pages].map(({ source }) => source));
    const texts = readdirSync(join(root, "docs")).filter((name) => name.endsWith(".md"));

    expect(texts.filter((name) => !shown.has(`docs/${name}`))).toEqual([]);
  });

  it("asks nobody else for anything", async () => {
    const page = await browser.newPage();
    const asked: string[] = [];
    page.on("request", (request) => asked.push(request.url()));

    await page.goto(`${url}/start.html`, { waitUntil: "load" });
    await page.goto(`${url}/ko/`, { waitUntil: "load" });

    expect(asked.length).toBeGreaterThan(5);
    expect(asked.filter((address) => !address.startsWith(url) && !address.startsWith("data:"))).toEqual([]);
    await page.close();
  });

  it.each([
    ["index", "en", "light", 1280],
    ["troubleshooting", "ko", "dark", 1280],
    ["providers/openai", "ko", "light", 360],
    ["api-reference/keys", "en", "light", 360],
  ] as const)(
    "%s in %s, %s, %i wide: no fault, nothing to scroll sideways",
    { timeout: 60_000 },
    async (target, language, scheme, width) => {
      const context = await browser.newContext({
        colorScheme: scheme,
        viewport: { width, height: 900 },
        reducedMotion: "reduce",
      });
      const page = await context.newPage();
      const faults: string[] = [];
      page.on("pageerror", (error) => faults.push(error.message));
      page.on("console", (message) => message.type() === "error" && faults.push(message.text()));

      await page.goto(`${url}/${language === "ko" ? "ko/" : ""}${target}.html`, { waitUntil: "load" });

      expect(await page.locator("html").getAttribute("lang")).toBe(language);
      expect(faults).toEqual([]);
      await expectAccessible(page);
      await context.close();
    },
  );

  it("finds words in both languages", { timeout: 60_000 }, async () => {
    for (const [path, words, heading] of [
      ["start", "cooldown ladder", "The cooldown ladder"],
      ["ko/start", "쿨다운 단계", "쿨다운 단계"],
    ] as const) {
      const page = await browser.newPage();
      await page.goto(`${url}/${path}.html`, { waitUntil: "load" });
      const field = page.locator("input.search-input");
      const open = async () => {
        await page.keyboard.press("Control+k");
        return field.isVisible();
      };
      await eventually(open, Boolean, { what: "the search", timeoutMs: 15_000 });
      await field.fill(words);

      await page.locator(".results .result", { hasText: heading }).first().waitFor();
      expect(await page.locator(".results .result").count()).toBeGreaterThan(0);
      await page.close();
    }
  });
});
