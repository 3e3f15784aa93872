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
  readonly expires_at: string | null;
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

it.each([
  {
    language: "en",
    words: {
      create: "Create token",
      name: "Name",
      expiry: "Expires",
      days: "In 30 days",
      perMinute: "Requests a minute",
      concurrent: "At a time",
      done: "Done",
      edit: "Edit ci",
      never: "Never",
      save: "Save",
      shown: ["60 requests a minute", "4 at a time", "Good until"],
      range: "A whole number from 1 to 10,000, or nothing for no limit.",
    },
  },
  {
    language: "ko",
    words: {
      create: "토큰 만들기",
      name: "이름",
      expiry: "만료",
      days: "30일 후",
      perMinute: "분당 요청 수",
      concurrent: "동시 요청 수",
      done: "완료",
      edit: "ci 편집",
      never: "만료 없음",
      save: "저장",
      shown: ["분당 60회", "동시 4개", "까지 유효"],
      range: "1부터 10,000까지의 정수를 입력하세요. 비워 두면 제한이 없습니다.",
    },
  },
] as const)("limits a token and its life, shows that and changes it in $language", async ({ language, words }) => {
  await using session = await openSignedIn(browser, gateway, "/settings/tokens", { language });
  const { page } = session;
  const dialog = page.getByRole("dialog");
  await page.getByRole("main").getByRole("button", { name: words.create }).click();
  await dialog.getByLabel(words.name).fill("ci");
  await dialog.getByRole("combobox", { name: words.expiry }).click();
  await page.getByRole("option", { name: words.days }).click();
  await dialog.getByLabel(words.perMinute).fill("60");
  await dialog.getByLabel(words.concurrent).fill("0");
  await dialog.getByRole("button", { name: words.create }).click();
  await dialog.getByText(words.range).waitFor();
  await expectAccessible(page);
  expect(await tokens()).toEqual([]);

  await dialog.getByLabel(words.concurrent).fill("4");
  await dialog.getByRole("button", { name: words.create }).click();
  await dialog.getByRole("button", { name: words.done }).click();

  const row = page.getByRole("listitem").filter({ hasText: "ci" });
  for (const text of words.shown) await row.getByText(text).waitFor();
  await expectAccessible(page);
  const [made] = await tokens();
  expect(made).toMatchObject({ max_requests_per_minute: 60, max_concurrent: 4 });
  const days = (Date.parse(made?.expires_at ?? "") - Date.now()) / 86_400_000;
  expect(Math.round(days)).toBe(30);

  await row.getByRole("button", { name: words.edit }).click();
  await expectAccessible(page);
  await dialog.getByRole("combobox", { name: words.expiry }).click();
  await page.getByRole("option", { name: words.never }).click();
  await dialog.getByLabel(words.perMinute).fill("");
  await dialog.getByRole("button", { name: words.save }).click();
  await dialog.waitFor({ state: "detached" });
  await row.getByText(words.shown[0]).waitFor({ state: "detached" });

  expect(await tokens()).toMatchObject([
    { name: "ci", expires_at: null, max_requests_per_minute: null, max_concurrent: 4 },
  ]);
});

it("says that a token has expired, once it has", async () => {
  const soon = new Date(Date.now() + 1_500).toISOString();
  await gateway.api("POST", "/tokens", { name: "short", expires_at: soon });
  await eventually(async () => Date.now() > Date.parse(soon), Boolean, { what: "the end of the token" });
  await using session = await openSignedIn(browser, gateway, "/settings/tokens");

  await session.page.getByText("Expired", { exact: true }).waitFor();
  await expectAccessible(session.page);
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
  const old = session.page.getByRole("heading", { level: 1, name: "Access Tokens" });
  await old.waitFor({ state: "detached" });
  await session.page.getByRole("heading", { level: 1 }).waitFor();
  expect(await old.count()).toBe(0);
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
