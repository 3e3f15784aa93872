import { mkdirSync } from "node:fs";
import { join, resolve } from "node:path";
import { type Browser, chromium } from "playwright-core";
import { findBrowser } from "../../scripts/lib/browser.mjs";
import { root } from "../../scripts/lib/root.mjs";
import { say } from "../../scripts/lib/say.mjs";
import { runDemo } from "./demo-data.ts";

interface Picture {
  readonly name: string;
  readonly path: string;
  readonly language: "en" | "ko";
  readonly scheme: "light" | "dark";
  readonly width: number;
  readonly height: number;
}

const pages = [
  ["overview", "/"],
  ["providers", "/settings/providers"],
  ["pool", "/settings/providers/openai"],
  ["connect", "/settings/providers/anthropic?part=connect"],
  ["settings", "/settings/providers/openai?part=settings"],
  ["activity", "/activity"],
  ["sessions", "/sessions"],
  ["usage", "/usage"],
  ["chat", "/chat"],
  ["tokens", "/settings/tokens"],
] as const;

/** Those that the README shows. */
const shown = new Set<string>(["overview", "pool", "activity"]);

function picturesForReadme(): Picture[] {
  return pages
    .filter(([name]) => shown.has(name))
    .flatMap(([name, path]) =>
      (["light", "dark"] as const).map((scheme) => ({
        name: `${name}-${scheme}`,
        path,
        language: "en",
        scheme,
        width: 1_280,
        height: 800,
      })),
    );
}

/** Every page in both languages and themes, wide and narrow: to be looked at. */
function allPictures(): Picture[] {
  const widths = [1_440, 390];
  return pages.flatMap(([name, path]) =>
    (["en", "ko"] as const).flatMap((language) =>
      (["light", "dark"] as const).flatMap((scheme) =>
        widths.map((width) => ({
          name: `${name}-${language}-${scheme}-${width}`,
          path,
          language,
          scheme,
          width,
          height: 1_100,
        })),
      ),
    ),
  );
}

async function take(
  browser: Browser,
  url: string,
  token: string,
  picture: Picture,
  folder: string,
  scale: number,
): Promise<void> {
  const { name, path, language, scheme, width, height } = picture;
  const context = await browser.newContext({
    baseURL: url,
    colorScheme: scheme,
    locale: language === "ko" ? "ko-KR" : "en-US",
    reducedMotion: "reduce",
    viewport: { width, height },
    deviceScaleFactor: scale,
  });
  const page = await context.newPage();
  await page.request.post("/api/sign-in", { data: { token } });
  await page.goto(`/ui${path}`);
  await page.getByRole("heading").first().waitFor();
  // What is loaded behind the page's own frame: charts, tables.
  await page.waitForTimeout(1_500);
  await page.screenshot({ path: join(folder, `${name}.png`) });
  await context.close();
}

// With a folder: everything, into that. Without: what the README shows, to where it shows it from.
const [given] = process.argv.slice(2);
const folder = given === undefined ? join(root, "docs", "images") : resolve(given);
mkdirSync(folder, { recursive: true });
const executablePath = findBrowser();
if (executablePath === undefined) throw new Error("There is no Chromium here.");
const browser = await chromium.launch({ executablePath, args: ["--no-sandbox", "--disable-gpu"] });
try {
  await using demo = await runDemo();
  const { url, adminToken } = demo.gateway;
  for (const picture of given === undefined ? picturesForReadme() : allPictures()) {
    await take(browser, url, adminToken, picture, folder, given === undefined ? 1.25 : 1);
    say(`${picture.name}.png`);
  }
} finally {
  await browser.close();
}
