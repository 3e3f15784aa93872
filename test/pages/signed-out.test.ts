import { runGateway, type RunningGateway } from "@keywheel/testkit";
import type { Browser, Page } from "playwright-core";
import { afterAll, beforeAll, expect, it } from "vitest";
import { eventually, poolOf } from "../pooled-provider.ts";
import { expectAccessible, launchBrowser, openSignedIn } from "./browser.ts";
import { answered, openChat, say } from "./chat-bench.ts";

let gateway: RunningGateway;
let browser: Browser;
beforeAll(async () => {
  [gateway, browser] = await Promise.all([runGateway(), launchBrowser()]);
});
afterAll(async () => {
  await browser.close();
  await gateway[Symbol.asyncDispose]();
});

const words = {
  en: {
    add: "Add Key",
    form: "Add a key",
    key: "API Key",
    label: "Label",
    confirm: "Confirm",
    again: "Sign in again",
    token: "Admin token",
  },
  ko: {
    add: "키 추가",
    form: "키 추가",
    key: "API 키",
    label: "레이블",
    confirm: "확인",
    again: "다시 로그인",
    token: "관리자 토큰",
  },
} as const;
const more = {
  en: { signIn: "Sign in", wrong: "The admin token is wrong." },
  ko: { signIn: "로그인", wrong: "관리자 토큰이 올바르지 않습니다." },
} as const;

async function signInAgain(page: Page, token: string, language: "en" | "ko" = "en"): Promise<void> {
  const dialog = page.getByRole("dialog", { name: words[language].again });
  await dialog.getByLabel(words[language].token).fill(token);
  await dialog.getByRole("button", { name: more[language].signIn, exact: true }).click();
  await dialog.waitFor({ state: "hidden" });
}

it.each([
  { language: "en", scheme: "light", width: 1280 },
  { language: "ko", scheme: "dark", width: 390 },
] as const)("loses nothing of a dialog when the session has ended: $language, $width px", async (look) => {
  const { language } = look;
  const is = words[language];
  const slug = `ended-${language}`;
  const record = await gateway.addProvider({ slug, baseUrl: "https://ended.example/v1" });
  await using session = await openSignedIn(browser, gateway, `/settings/providers/${slug}`, look);
  const { page } = session;
  await page.getByRole("button", { name: is.add, exact: true }).first().click();
  const form = page.getByRole("dialog", { name: is.form });
  await form.getByLabel(is.key).fill("sk-test-ended-0123456789");
  await form.getByLabel(is.label).fill("Typed before");

  await page.context().clearCookies();
  await form.getByRole("button", { name: is.confirm }).click();
  const dialog = page.getByRole("dialog", { name: is.again });
  await dialog.waitFor();
  await dialog.locator("input[type=password]:focus").waitFor();
  await expectAccessible(page);
  await dialog.getByLabel(is.token).fill("kwa_wrong_0000000000000000");
  await page.keyboard.press("Enter");
  await page.getByText(more[language].wrong).waitFor();
  await page.keyboard.press("Escape");
  expect(await form.getByLabel(is.label).inputValue()).toBe("Typed before");
  await signInAgain(page, gateway.adminToken, language);

  await form.waitFor({ state: "hidden" });
  expect(await gateway.keys(record)).toMatchObject([{ label: "Typed before" }]);
  await page.getByRole("button", { name: is.add, exact: true }).first().click();
  await form.waitFor();
});

it("leads to the sign-in page, and back, whoever does not sign in in place", async () => {
  await using session = await openSignedIn(browser, gateway, "/settings/providers");
  const { page } = session;
  await page.getByRole("button", { name: "Add Provider" }).click();
  await page.getByRole("button", { name: /^OpenAI/ }).click();

  await page.context().clearCookies();
  await page.getByRole("dialog").getByRole("button", { name: "Confirm" }).click();
  await page.getByRole("dialog", { name: "Sign in again" }).getByRole("button", { name: "Leave this page" }).click();
  await page.getByRole("heading", { name: "Sign in to Keywheel" }).waitFor();
  expect(new URL(page.url()).searchParams.get("back")).toBe("/settings/providers");
  await page.getByLabel("Admin token").fill(gateway.adminToken);
  await page.keyboard.press("Enter");
  await page.getByRole("heading", { name: "Provider Management", level: 1 }).waitFor();
  await page.getByRole("status").filter({ hasText: "Live" }).waitFor();

  await page.context().clearCookies();
  await page.getByRole("link", { name: "Access Tokens" }).click();
  await page.getByRole("dialog", { name: "Sign in again" }).waitFor();
});

it("asks in every tab when one signs out, goes on in every tab when one signs in, and follows what happens again", async () => {
  const record = await gateway.addProvider({ slug: "two-tabs", name: "Two tabs", baseUrl: "https://tabs.example/v1" });
  await using session = await openSignedIn(browser, gateway, "/settings/providers/two-tabs?part=settings");
  const { page } = session;
  await page.getByRole("textbox", { name: "Name", exact: true }).fill("Typed in one tab");
  await page.getByRole("textbox", { name: "Name", exact: true }).focus();
  const other = await page.context().newPage();
  await other.goto("/ui/");

  await other.getByRole("button", { name: "Language, appearance, sign out" }).click();
  await other.getByRole("menuitem", { name: "Sign out" }).click();
  await other.getByRole("heading", { name: "Sign in to Keywheel" }).waitFor();
  const dialog = page.getByRole("dialog", { name: "Sign in again" });
  await dialog.waitFor();
  await other.getByLabel("Admin token").fill(gateway.adminToken);
  await other.keyboard.press("Enter");
  await other.getByRole("heading", { name: "Overview", level: 1 }).waitFor();
  await dialog.waitFor({ state: "hidden" });

  const name = page.getByRole("textbox", { name: "Name", exact: true });
  expect(await name.inputValue()).toBe("Typed in one tab");
  await page.locator("main input:focus").waitFor();
  await page.getByRole("status").filter({ hasText: "Live" }).waitFor();
  await page.getByRole("link", { name: "Overview" }).click();
  await gateway.api("PATCH", `/providers/${record.id}`, { name: "Renamed while away" });
  await page.getByText("Renamed while away").first().waitFor();
});

it("asks a page that only looks on when the admin token was changed, and takes the new one", async () => {
  await using own = await runGateway({ env: { KEYWHEEL_ADMIN_TOKEN: "" } });
  const link = await eventually(
    () => /http\S+\/ui\/sign-in\?code=\S+/.exec(own.logs())?.[0] ?? "",
    (text) => text !== "",
    { what: "the printed link" },
  );
  const context = await browser.newContext({ baseURL: own.url, locale: "en-US", reducedMotion: "reduce" });
  const page = await context.newPage();
  await page.goto(link);
  await page.getByRole("heading", { name: "Overview", level: 1 }).waitFor();
  await page.getByRole("status").filter({ hasText: "Live" }).waitFor();

  const answer = await page.request.post("/api/admin-token/rotate");
  const { token } = (await answer.json()) as { readonly token: string };
  // By itself: its stream of events has ended.
  await signInAgain(page, token);
  await page.getByRole("link", { name: "Access Tokens" }).click();

  await page.getByRole("heading", { name: "Access Tokens", level: 1 }).waitFor();
  expect(new URL(page.url()).pathname).toBe("/ui/settings/tokens");
  await page.getByRole("status").filter({ hasText: "Live" }).waitFor();
  await context.close();
});

it("keeps what was typed while the gateway starts again, with the session and with another admin token", async () => {
  await using own = await runGateway();
  const { port } = new URL(own.url);
  const record = await own.addProvider({ slug: "kept", baseUrl: "https://kept.example/v1" });
  await using session = await openSignedIn(browser, own, "/settings/providers/kept");
  const { page } = session;
  await page.getByRole("button", { name: "Add Key", exact: true }).first().click();
  const form = page.getByRole("dialog", { name: "Add a key" });
  await form.getByLabel("API Key").fill("sk-test-kept-0123456789");
  await form.getByLabel("Label").fill("Kept");

  await own.stop();
  await form.getByRole("button", { name: "Confirm" }).click();
  await form.getByText("The gateway does not answer.").waitFor();
  const otherToken = "kwa_other_000000000000000000000000000000000000";
  await own.restart({ flags: ["--port", port], env: { KEYWHEEL_ADMIN_TOKEN: otherToken } });
  // The page finds out by itself: the events are asked for again.
  await signInAgain(page, otherToken);
  expect(await form.getByLabel("Label").inputValue()).toBe("Kept");
  await own.restart();
  await form.getByRole("button", { name: "Confirm" }).click();

  await form.waitFor({ state: "hidden" });
  await own.restart({ flags: ["--port", port], env: {} });
  expect(await own.keys(record)).toMatchObject([{ label: "Kept" }]);
});

it("asks once more what was asked in a chat, after a sign-in in place", async () => {
  await using pool = await poolOf(gateway, { weights: [1] });
  await using session = await openChat(browser, gateway, pool);
  const { page } = session;

  await page.context().clearCookies();
  await say(page, "Are you there?");
  await signInAgain(page, gateway.adminToken);

  await answered(page, 1);
  expect(pool.provider.requests.filter(({ method }) => method === "POST")).toHaveLength(1);
});
