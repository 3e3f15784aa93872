import type { RunningGateway } from "@keywheel/testkit";
import axe from "axe-core";
import { type Browser, type BrowserContextOptions, chromium, type Page } from "playwright-core";
import { expect } from "vitest";
import { eventually } from "../pooled-provider.ts";
import { findBrowser } from "../../scripts/lib/browser.mjs";

const flags = [
  // As root there is no sandbox; the pages are our own.
  "--no-sandbox",
  "--disable-gpu",
  "--disable-quic",
  "--no-first-run",
  "--disable-background-networking",
  "--disable-component-update",
  "--disable-sync",
];

export async function launchBrowser(): Promise<Browser> {
  const executablePath = findBrowser();
  if (executablePath === undefined) throw new Error("There is no Chromium here: `npm test` installs one.");
  return chromium.launch({ executablePath, args: flags });
}

export interface Look {
  readonly language?: "en" | "ko";
  readonly scheme?: "light" | "dark";
  readonly width?: number;
  /** Whether things move, as for most people; default: they do not, and tests need not wait. */
  readonly motion?: boolean;
}

export interface PageSession extends AsyncDisposable {
  readonly page: Page;
  /** What went wrong in the page itself: errors, and what the content security policy refused. */
  readonly faults: readonly string[];
}

/** A page of its own, in a browser that has never been here. Closing it fails the test if the page met an error. */
export async function openPage(browser: Browser, gateway: RunningGateway, look: Look = {}): Promise<PageSession> {
  const { language = "en", scheme = "light", width = 1280, motion = false } = look;
  const options: BrowserContextOptions = {
    baseURL: gateway.url,
    colorScheme: scheme,
    locale: language === "ko" ? "ko-KR" : "en-US",
    reducedMotion: motion ? "no-preference" : "reduce",
    viewport: { width, height: 900 },
  };
  const context = await browser.newContext(options);
  context.setDefaultTimeout(8_000);
  const page = await context.newPage();
  const faults: string[] = [];
  page.on("pageerror", (error) => faults.push(error.message));
  page.on("console", (message) => {
    // The browser itself notes every answer that is not 2xx, which tests provoke.
    if (message.type() === "error" && !message.text().startsWith("Failed to load resource"))
      faults.push(message.text());
  });
  return {
    page,
    faults,
    async [Symbol.asyncDispose]() {
      await context.close();
      if (faults.length > 0) throw new Error(`The page met errors: ${faults.join("; ")}`);
    },
  };
}

/** Signed in, at a path below `/ui`. */
export async function openSignedIn(
  browser: Browser,
  gateway: RunningGateway,
  path: string,
  look: Look = {},
): Promise<PageSession> {
  const session = await openPage(browser, gateway, look);
  const answer = await session.page.request.post("/api/sign-in", { data: { token: gateway.adminToken } });
  expect(answer.status()).toBe(204);
  await session.page.goto(`/ui${path}`);
  return session;
}

export interface HeldCalls {
  /** How many were sent so far. */
  readonly count: () => number;
  readonly sent: () => Promise<void>;
  /** Lets them go on to the gateway, or answers in its place. */
  readonly answer: (status?: number) => void;
}

/** Calls of a page that wait for their answer until they are told to. */
export async function holdCalls(page: Page, method: string, path: RegExp): Promise<HeldCalls> {
  let count = 0;
  let answer: HeldCalls["answer"] = () => undefined;
  const held = new Promise<number | undefined>((resolve) => (answer = resolve));
  await page.route(path, async (route) => {
    if (route.request().method() !== method) return route.fallback();
    count++;
    const status = await held;
    return status === undefined ? route.continue() : route.fulfill({ status, body: "" });
  });
  return {
    count: () => count,
    sent: async () =>
      void (await eventually(
        () => Promise.resolve(count),
        (now) => now > 0,
        { what: "the call" },
      )),
    answer: (status) => answer(status),
  };
}

interface AxeResults {
  readonly violations: readonly { readonly id: string; readonly nodes: readonly { readonly html: string }[] }[];
}

/** Holds a page to WCAG 2.2 AA and good practice, as far as a program can tell, and to its width. */
export async function expectAccessible(page: Page): Promise<void> {
  // Dialogs and notices fade in, and a half-transparent text has too little contrast.
  // What turns for as long as something is under way is not waited for.
  const running =
    "document.getAnimations().filter(({ playState, effect }) => playState === 'running' && effect.getComputedTiming().iterations !== Infinity).length";
  await eventually(
    () => page.evaluate<number>(running),
    (count) => count === 0,
    { what: "the page to come to rest" },
  );
  await page.evaluate(axe.source);
  const tags = ["wcag2a", "wcag2aa", "wcag21a", "wcag21aa", "wcag22aa", "best-practice"];
  const { violations } = await page.evaluate<AxeResults>(`axe.run({ runOnly: ${JSON.stringify(tags)} })`);
  const found = violations.map(({ id, nodes }) => `${id}: ${nodes.map(({ html }) => html).join(" ")}`);
  expect(found).toEqual([]);
  const excess = await page.evaluate<number>(
    "document.documentElement.scrollWidth - document.documentElement.clientWidth",
  );
  expect(excess).toBe(0);
}
