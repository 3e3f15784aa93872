import { runGateway, type RunningGateway } from "@keywheel/testkit";
import type { Browser, Page } from "playwright-core";
import { afterAll, afterEach, beforeAll, describe, expect, it } from "vitest";
import { eventually, poolOf } from "../pooled-provider.ts";
import { expectAccessible, launchBrowser, openSignedIn } from "./browser.ts";

let gateway: RunningGateway;
let browser: Browser;
beforeAll(async () => {
  [gateway, browser] = await Promise.all([runGateway({ flags: ["--require-token"] }), launchBrowser()]);
});
afterEach(async () => {
  for (const { id } of await tokens()) await gateway.api("DELETE", `/tokens/${id}`);
});
afterAll(async () => {
  await browser.close();
  await gateway[Symbol.asyncDispose]();
});

interface TokenView {
  readonly id: string;
  readonly name: string;
  readonly providers: readonly string[] | null;
}

async function tokens(): Promise<readonly TokenView[]> {
  const { data } = await gateway.api<{ data: readonly TokenView[] }>("GET", "/tokens");
  return data;
}

/** Everything that a page keeps, as far as a program can look at it. */
function keptBy(page: Page): Promise<string> {
  return page.evaluate<string>(
    `(async () => {
      const databases = (await indexedDB.databases()).map(({ name }) => name);
      const fields = [...document.querySelectorAll("input, textarea")].map(({ value }) => value);
      const stores = [localStorage, sessionStorage].map((store) => JSON.stringify({ ...store }));
      return [location.href, document.documentElement.outerHTML, JSON.stringify(history.state), ...fields, ...stores,
        ...databases].join("\\n");
    })()`,
  );
}

it.each([
  {
    language: "en",
    words: { create: "Create token", name: "Name", only: "Only for", token: "Token", done: "Done", revoke: "Revoke" },
  },
  {
    language: "ko",
    words: {
      create: "토큰 만들기",
      name: "이름",
      only: "허용할 제공업체",
      token: "토큰",
      done: "완료",
      revoke: "폐기",
    },
  },
] as const)("creates, shows once, uses and revokes a token in $language", async ({ language, words }) => {
  await using pool = await poolOf(gateway);
  await using other = await poolOf(gateway);
  await using session = await openSignedIn(browser, gateway, "/settings/tokens", { language });
  const { page } = session;

  await page.getByRole("main").getByRole("button", { name: words.create }).click();
  const dialog = page.getByRole("dialog");
  await dialog.getByLabel(words.name).fill(`laptop ${language}`);
  await dialog.getByRole("combobox", { name: words.only }).fill(pool.record.name);
  await page.getByRole("option", { name: pool.record.name, exact: true }).click();
  await page.keyboard.press("Tab");
  await dialog.getByRole("button", { name: words.create }).click();
  const token = await dialog.getByRole("textbox", { name: words.token, exact: true }).inputValue();
  await expectAccessible(page);
  await dialog.getByRole("button", { name: words.done }).click();
  await dialog.waitFor({ state: "detached" });

  expect(token).toMatch(/^kw_[a-z2-7]{32}$/);
  expect(await keptBy(page)).not.toContain(token);
  expect(await tokens()).toMatchObject([{ name: `laptop ${language}`, providers: [pool.record.id] }]);
  const asClient = { headers: { authorization: `Bearer ${token}` } };
  expect((await pool.send(asClient)).status).toBe(200);
  expect((await other.send(asClient)).status).toBe(401);

  const row = page.getByRole("listitem").filter({ hasText: `laptop ${language}` });
  await row.getByText(language === "en" ? /last used (?:now|this)/ : /(?:지금|전) 사용/).waitFor();
  await row.getByRole("button", { name: words.revoke }).click();
  await page.getByRole("dialog").getByRole("button", { name: words.revoke, exact: true }).click();
  await eventually(tokens, (left) => left.length === 0, { what: "the token to be revoked" });
  await row.waitFor({ state: "detached" });

  expect((await pool.send(asClient)).status).toBe(401);
});

describe("creating a token", () => {
  it("says beside the field what is wrong", async () => {
    await using session = await openSignedIn(browser, gateway, "/settings/tokens");
    const { page } = session;
    await page.getByRole("button", { name: "Create token" }).click();
    const dialog = page.getByRole("dialog");

    await dialog.getByRole("button", { name: "Create token" }).click();

    await dialog.getByText("Enter a name.").waitFor();
    await expectAccessible(page);
    expect(await tokens()).toEqual([]);
  });

  it("is not lost by a click beside the dialog, asks with Escape, and is then forgotten", async () => {
    await using session = await openSignedIn(browser, gateway, "/settings/tokens");
    const { page } = session;
    await page.getByRole("button", { name: "Create token" }).click();
    const dialog = page.getByRole("dialog").first();
    await dialog.getByLabel("Name").fill("CI");
    await page.keyboard.press("Enter");
    const field = dialog.getByRole("textbox", { name: "Token", exact: true });
    const token = await field.inputValue();

    await page.mouse.click(5, 400);
    expect(await field.inputValue()).toBe(token);
    await page.keyboard.press("Escape");
    const question = page.getByRole("dialog", { name: "Close this?" });
    await question.getByText("This is shown only once.").waitFor();
    await question.getByRole("button", { name: "Close anyway" }).click();
    await dialog.waitFor({ state: "detached" });
    await page.getByRole("button", { name: "Create token" }).click();
    await dialog.getByLabel("Name").waitFor();

    expect(await dialog.getByLabel("Name").inputValue()).toBe("");
    expect(await keptBy(page)).not.toContain(token);
  });
});

it("asks before it revokes, and Cancel leaves the token", async () => {
  await gateway.api("POST", "/tokens", { name: "keep me" });
  await using session = await openSignedIn(browser, gateway, "/settings/tokens");
  const { page } = session;

  await page.getByRole("button", { name: "Revoke keep me" }).click();
  await page.getByRole("dialog", { name: "Revoke keep me?" }).getByText("This cannot be undone.").waitFor();
  await expectAccessible(page);
  await page.getByRole("dialog").getByRole("button", { name: "Cancel" }).click();
  await page.getByRole("dialog").waitFor({ state: "detached" });

  expect(await tokens()).toMatchObject([{ name: "keep me" }]);
});

it("shows within a second what another program created", async () => {
  await using session = await openSignedIn(browser, gateway, "/settings/tokens");
  await session.page.getByText("No tokens yet").waitFor();
  await session.page.getByText("Live", { exact: true }).waitFor();

  await gateway.api("POST", "/tokens", { name: "from elsewhere" });

  await session.page.getByText("from elsewhere").waitFor({ timeout: 1_000 });
  expect(await session.page.getByText("No tokens yet").count()).toBe(0);
});

it("leads to how a client is connected", async () => {
  await using session = await openSignedIn(browser, gateway, "/settings/tokens");
  await session.page.getByRole("link", { name: "Connect a client" }).click();

  await session.page.waitForURL(/\/ui\/settings\/providers/);
  await session.page.getByRole("heading", { level: 1, name: "Access Tokens" }).waitFor({ state: "detached" });
  await session.page.getByRole("heading", { level: 1 }).waitFor();

  expect(await session.page.getByRole("heading", { level: 1 }).count()).toBe(1);
});

it.each([
  { language: "en", scheme: "dark", width: 1280 },
  { language: "en", scheme: "light", width: 390 },
  { language: "ko", scheme: "light", width: 1280 },
  { language: "ko", scheme: "dark", width: 390 },
] as const)("is accessible, empty and full: $language, $scheme, $width px", async (look) => {
  await using pool = await poolOf(gateway);
  await using session = await openSignedIn(browser, gateway, "/settings/tokens", look);
  await session.page.getByRole("heading", { level: 1 }).waitFor();
  await expectAccessible(session.page);

  for (const name of ["laptop", "a name that goes on and on, ".repeat(6).slice(0, 160)]) {
    await gateway.api("POST", "/tokens", { name, providers: [pool.record.id] });
  }
  for (let at = 0; at < 5; at++) await gateway.api("POST", "/tokens", { name: `token ${at}` });
  await session.page.getByText("token 4").waitFor();
  await expectAccessible(session.page);
});
