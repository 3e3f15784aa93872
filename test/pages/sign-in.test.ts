import { runGateway, type RunningGateway } from "@keywheel/testkit";
import type { Browser } from "playwright-core";
import { afterAll, beforeAll, expect, it } from "vitest";
import { expectAccessible, launchBrowser, openPage, openSignedIn } from "./browser.ts";

let gateway: RunningGateway;
let browser: Browser;
beforeAll(async () => {
  [gateway, browser] = await Promise.all([runGateway(), launchBrowser()]);
});
afterAll(async () => {
  await browser.close();
  await gateway[Symbol.asyncDispose]();
});

it("leads to the sign-in, says what is wrong with a token, and leads back to what was asked for", async () => {
  await using session = await openPage(browser, gateway);
  const { page } = session;
  await page.goto("/ui/settings/providers?from=bookmark");

  await page.getByLabel("Admin token").fill("kwa_wrong_0000000000000000");
  await page.getByRole("button", { name: "Sign in" }).click();
  await page.getByText("The admin token is wrong.").waitFor();
  await page.getByLabel("Admin token").fill(gateway.adminToken);
  await page.getByLabel("Admin token").press("Enter");
  await page.getByRole("heading", { name: "Provider Management", level: 1 }).waitFor();

  expect(new URL(page.url()).pathname + new URL(page.url()).search).toBe("/ui/settings/providers?from=bookmark");
});

it("keeps no secret in the page, its storage or its address", async () => {
  await using session = await openPage(browser, gateway);
  const { page } = session;
  await page.goto("/ui/");
  await page.getByLabel("Admin token").fill(gateway.adminToken);
  await page.getByRole("button", { name: "Sign in" }).click();
  await page.getByRole("heading", { level: 1, name: "Overview" }).waitFor();

  const held = await page.evaluate<string>(
    "JSON.stringify({ ...localStorage, ...sessionStorage }) + document.cookie + location.href + document.documentElement.outerHTML",
  );

  expect(held).not.toContain(gateway.adminToken);
  expect(held).not.toContain("keywheel_session");
});

it("signs a browser in by the printed link, once", async () => {
  const [link = ""] = /http\S+\/ui\/sign-in\?code=\S+/.exec(gateway.logs()) ?? [];
  await using first = await openPage(browser, gateway);
  await using second = await openPage(browser, gateway);

  await first.page.goto(link);
  await first.page.getByRole("heading", { name: "Overview", level: 1 }).waitFor();
  await second.page.goto(link);
  await second.page.getByText("This sign-in link was used already").waitFor();

  expect(first.page.url()).not.toContain("code");
});

it("signs out, and shows nothing to whoever comes back", async () => {
  await using session = await openSignedIn(browser, gateway, "/");
  const { page } = session;

  await page.getByRole("button", { name: "Language, appearance, sign out" }).click();
  await page.getByRole("menuitem", { name: "Sign out" }).click();
  await page.getByRole("heading", { name: "Sign in to Keywheel" }).waitFor();
  await page.goto("/ui/settings/providers");
  await page.getByRole("heading", { name: "Sign in to Keywheel" }).waitFor();

  expect(await page.getByRole("heading", { name: "Provider Management" }).count()).toBe(0);
});

it("speaks the browser's language, and the other one when told to, also after a reload", async () => {
  await using session = await openPage(browser, gateway, { language: "ko" });
  const { page } = session;
  await page.goto("/ui/sign-in");
  await page.getByRole("heading", { name: "Keywheel에 로그인" }).waitFor();

  await page.getByRole("button", { name: "언어, 화면 테마, 로그아웃" }).click();
  await page.getByRole("menuitemradio", { name: "English" }).click();
  await page.reload();

  await page.getByRole("heading", { name: "Sign in to Keywheel" }).waitFor();
  expect(await page.locator("html").getAttribute("lang")).toBe("en");
});

it.each([
  { language: "en", scheme: "light", width: 1280 },
  { language: "ko", scheme: "dark", width: 390 },
] as const)("is accessible: $language, $scheme, $width px", async (look) => {
  await using session = await openPage(browser, gateway, look);
  await session.page.goto("/ui/sign-in");
  await session.page.getByRole("heading", { level: 1 }).waitFor();

  await expectAccessible(session.page);
});

it("allows scripts from its own files alone, and loads less than 300 kB of them at first", async () => {
  await using session = await openPage(browser, gateway);
  const sizes: Promise<number>[] = [];
  session.page.on("response", (response) => {
    if (response.url().endsWith(".js"))
      sizes.push(
        response
          .request()
          .sizes()
          .then(({ responseBodySize }) => responseBodySize),
      );
  });

  const answer = await session.page.goto("/ui/");
  await session.page.getByRole("heading", { level: 1 }).waitFor();
  const total = (await Promise.all(sizes)).reduce((sum, size) => sum + size, 0);

  expect(answer?.headers()["content-security-policy"]).toMatch(/script-src 'self';/);
  expect(await answer?.text()).not.toMatch(/<script(?![^>]*\bsrc=)/);
  expect(total).toBeGreaterThan(10_000);
  expect(total).toBeLessThan(300_000);
});
