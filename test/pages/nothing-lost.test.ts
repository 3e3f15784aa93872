import { setTimeout as pause } from "node:timers/promises";
import { runGateway, type RunningGateway } from "@keywheel/testkit";
import type { Browser, Page, Route } from "playwright-core";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { eventually, poolOf } from "../pooled-provider.ts";
import { launchBrowser, openSignedIn } from "./browser.ts";
import { openChat, say, streamed } from "./chat-bench.ts";

let gateway: RunningGateway;
let browser: Browser;
beforeAll(async () => {
  [gateway, browser] = await Promise.all([runGateway(), launchBrowser()]);
});
afterAll(async () => {
  await browser.close();
  await gateway[Symbol.asyncDispose]();
});

let count = 0;
async function aProvider() {
  const slug = `typed-${++count}`;
  return gateway.addProvider({ slug, name: `Typed ${count}`, baseUrl: "https://typed.example/v1" });
}

const settingsOf = ({ slug }: { readonly slug: string }): string => `/settings/providers/${slug}?part=settings`;

/** Answers as the gateway does, so much later. */
const later =
  (ms: number, method: string) =>
  async (route: Route): Promise<void> => {
    if (route.request().method() === method) await pause(ms);
    await route.continue();
  };

const name = (page: Page) => page.getByRole("textbox", { name: /^(Name|이름)/ });
const save = (page: Page) => page.getByRole("button", { name: "Save" }).first();

describe("Settings", () => {
  it("keep what is typed while a save is under way", async () => {
    const provider = await aProvider();
    await using session = await openSignedIn(browser, gateway, settingsOf(provider));
    const { page } = session;
    await page.route(`**/api/providers/${provider.id}`, later(700, "PATCH"));
    await name(page).fill("First");
    await save(page).click();
    await name(page).fill("First and second");
    await page.getByLabel("Provider-level API key").fill("sk-test-typed-meanwhile");

    await page.getByText("Saved", { exact: true }).waitFor();

    expect(await name(page).inputValue()).toBe("First and second");
    expect(await page.getByLabel("Provider-level API key").inputValue()).toBe("sk-test-typed-meanwhile");
    await page.unroute(`**/api/providers/${provider.id}`);
    await save(page).click();
    await eventually(
      () => gateway.api<{ name: string; api_key: string | null }>("GET", `/providers/${provider.id}`),
      (stored) => stored.name === "First and second" && stored.api_key !== null,
      { what: "the second save" },
    );
    await eventually(
      () => page.getByLabel("Provider-level API key").inputValue(),
      (value) => value === "",
      {
        what: "the key to leave the page",
      },
    );
  });

  it("show what was changed elsewhere, but for what was typed here", async () => {
    const provider = await aProvider();
    await using session = await openSignedIn(browser, gateway, settingsOf(provider));
    const { page } = session;
    await page.getByLabel("Base URL").fill("https://typed-here.example/v1");

    await gateway.api("PATCH", `/providers/${provider.id}`, {
      name: "Renamed elsewhere",
      settings: { cooldown: { base_ms: 30_000 } },
    });

    await eventually(
      () => name(page).inputValue(),
      (value) => value === "Renamed elsewhere",
      { what: "the new name" },
    );
    expect(await page.getByLabel("Base URL").inputValue()).toBe("https://typed-here.example/v1");
    expect(await page.getByLabel("After the first failure").inputValue()).toBe("30");
    await name(page).fill("Renamed elsewhere too");
    await name(page).fill("Renamed elsewhere");
    await page.getByLabel("Base URL").fill("https://typed.example/v1");
    expect(await save(page).isDisabled()).toBe(true);
  });

  it.each(["en", "ko"] as const)("ask before they are left with something typed: %s", async (language) => {
    const provider = await aProvider();
    await using session = await openSignedIn(browser, gateway, settingsOf(provider), { language });
    const { page } = session;
    const is =
      language === "en"
        ? { pool: "API Key Pool", heading: "Leave without saving?", stay: "Stay", leave: "Leave", usage: "Usage" }
        : {
            pool: "API 키 풀",
            heading: "저장하지 않고 나가시겠습니까?",
            stay: "머무르기",
            leave: "나가기",
            usage: "사용량",
          };
    await name(page).fill("Typed");
    const question = page.getByRole("dialog", { name: is.heading });

    await page.getByRole("tab", { name: is.pool }).click();
    await question.getByRole("button", { name: is.stay, exact: true }).last().click();
    await question.waitFor({ state: "hidden" });
    expect(await name(page).inputValue()).toBe("Typed");
    await page.getByRole("link", { name: is.usage, exact: true }).click();
    await question.getByRole("button", { name: is.leave, exact: true }).click();
    await page.getByRole("heading", { level: 1, name: is.usage }).waitFor();
  });

  it("say their errors in the language that was changed to", async () => {
    const provider = await aProvider();
    await using session = await openSignedIn(browser, gateway, settingsOf(provider));
    const { page } = session;
    await name(page).fill("");
    await save(page).click();
    await page.locator("[aria-invalid=true]").first().waitFor();
    const inEnglish = await page.locator(".mantine-InputWrapper-error").first().innerText();

    await page.getByRole("button", { name: "Language, appearance, sign out" }).click();
    await page.getByRole("menuitemradio", { name: "한국어" }).click();

    const inKorean = await eventually(
      () => page.locator(".mantine-InputWrapper-error").first().innerText(),
      (text) => text !== inEnglish,
      { what: "the error to be said anew" },
    );
    expect(inKorean).toMatch(/\p{Script=Hangul}/u);
  });
});

describe("signing out", () => {
  it("says so when it did not come about, and goes on", async () => {
    await using session = await openSignedIn(browser, gateway, "/usage");
    const { page } = session;
    await page.route("**/api/sign-out", (route) => route.abort());
    await page.getByRole("button", { name: "Language, appearance, sign out" }).click();
    await page.getByRole("menuitem", { name: "Sign out" }).click();

    await page.getByText("You could not be signed out, and are still signed in").waitFor();

    expect(new URL(page.url()).pathname).toBe("/ui/usage");
    await page.unroute("**/api/sign-out");
    await page.getByRole("button", { name: "Language, appearance, sign out" }).click();
    await page.getByRole("menuitem", { name: "Sign out" }).click();
    await page.getByRole("heading", { name: "Sign in to Keywheel" }).waitFor();
    expect((await page.request.get("/api/status")).status()).toBe(401);
  });
});

describe("signing in again", () => {
  it.each(["Enter", "the button"])("by %s gives the focus back, also where dialogs move as they close", async (by) => {
    const provider = await aProvider();
    await using session = await openSignedIn(browser, gateway, settingsOf(provider), { motion: true });
    const { page } = session;
    await name(page).fill("Typed");
    await name(page).focus();
    await page.context().clearCookies();
    await page.keyboard.press("Enter");
    const dialog = page.getByRole("dialog", { name: "Sign in again" });
    await dialog.getByLabel("Admin token").fill(gateway.adminToken);

    if (by === "Enter") await page.keyboard.press("Enter");
    else await dialog.getByRole("button", { name: "Sign in", exact: true }).click();
    await dialog.waitFor({ state: "hidden" });

    const focused = await eventually(
      () =>
        page.evaluate<string | null>("document.activeElement?.closest('form') ? document.activeElement.value : null"),
      (value) => value === "Typed",
      { what: "the focus to be where it was" },
    );
    expect(focused).toBe("Typed");
  });

  it("is over when the browser was signed in by a link, as soon as one comes back to the page", async () => {
    const provider = await aProvider();
    await using session = await openSignedIn(browser, gateway, settingsOf(provider));
    const { page } = session;
    await name(page).fill("Typed");
    await page.context().clearCookies();
    await save(page).click();
    const dialog = page.getByRole("dialog", { name: "Sign in again" });
    await dialog.waitFor();
    const { path } = await gateway.api<{ path: string }>("POST", "/sign-in-links");
    const other = await page.context().newPage();
    await other.goto(path);
    await other.getByRole("heading", { level: 1, name: "Overview" }).waitFor();
    await other.close();

    await page.bringToFront();
    await page.evaluate("window.dispatchEvent(new Event('focus'))");

    await dialog.waitFor({ state: "hidden" });
    await page.getByText("Saved", { exact: true }).waitFor();
    expect(await gateway.api("GET", `/providers/${provider.id}`)).toMatchObject({ name: "Typed" });
  });
});

it("a chat follows its answer to the end, however fast that grows", async () => {
  await using pool = await poolOf(gateway);
  const paragraphs = Array.from(
    { length: 40 },
    (_, at) => `## Part ${at}\n\nSome words.\n\n\`\`\`js\nlet a = ${at};\n\`\`\`\n\n`,
  );
  pool.provider.on().always(streamed(...paragraphs));
  await using session = await openChat(browser, gateway, pool);
  const { page } = session;
  for (let round = 0; round < 4; round++) {
    await say(page, `Question ${round}`);
    await page.getByRole("heading", { name: "Part 39" }).nth(round).waitFor();
    const end = await eventually(
      () => page.getByRole("heading", { name: "Part 39" }).nth(round).boundingBox(),
      (box) => box !== null && box.y < 900,
      { what: "the end to be in sight" },
    );
    expect(end?.y).toBeGreaterThan(0);
  }
});
