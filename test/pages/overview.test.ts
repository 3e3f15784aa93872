import { openAiError, runGateway, type RunningGateway } from "@keywheel/testkit";
import type { Browser, Page } from "playwright-core";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { poolOf } from "../pooled-provider.ts";
import { overwriteTable } from "../durability/broken-file.ts";
import { expectAccessible, launchBrowser, openSignedIn } from "./browser.ts";

let browser: Browser;
beforeAll(async () => {
  browser = await launchBrowser();
});
afterAll(() => browser.close());

const limited = openAiError(429, { message: "Rate limit reached", type: "requests", code: "rate_limit_exceeded" });
const refused = openAiError(401, {
  message: "Incorrect API key provided",
  type: "invalid_request_error",
  code: "invalid_api_key",
});

/** When a text comes to be seen. Looked for in the page itself: from outside, one asks at most twice a second. */
function momentOf(page: Page, text: RegExp): Promise<number> {
  return page.evaluate<number>(
    `new Promise((seen) => {
      const look = () => {
        if (${String(text)}.test(document.body.innerText)) seen(Date.now());
        else requestAnimationFrame(look);
      };
      look();
    })`,
  );
}

async function gatewayInTrouble(gateway: RunningGateway) {
  const pool = await poolOf(gateway, { weights: [1, 1], faultsAreExpected: true });
  await pool.turns(2);
  for (const letter of ["A", "B"]) pool.provider.on({ key: pool.valueOf(letter) }).always(limited);
  await (await pool.send()).arrayBuffer();
  return pool;
}

it("leads from nothing to the first provider, its first key and the first request", async () => {
  await using gateway = await runGateway();
  await using session = await openSignedIn(browser, gateway, "/sign-in");
  const { page } = session;
  const scripts: Promise<number>[] = [];
  page.on("response", (response) => {
    if (!response.url().endsWith(".js")) return;
    scripts.push(
      response
        .request()
        .sizes()
        .then(({ responseBodySize }) => responseBodySize),
    );
  });
  await page.goto("/ui/");
  await page.getByText("Nothing to see yet").waitFor();
  const total = (await Promise.all(scripts)).reduce((sum, size) => sum + size, 0);
  expect(total).toBeGreaterThan(10_000);
  expect(total).toBeLessThan(300_000);
  await expectAccessible(page);
  await page.getByRole("link", { name: "Choose a provider" }).waitFor();

  await using pool = await poolOf(gateway, { keys: [] });
  await page.getByRole("link", { name: `Add a key to ${pool.record.name}` }).waitFor();
  await gateway.addKeys(pool.record, [{ api_key: "sk-test-overview-0123456789", label: "First" }]);
  await page.getByText(`Send the first request to ${pool.record.name}`).waitFor();
  await page.getByText("Everything is in order").waitFor();
  await expectAccessible(page);
});

describe("a pool at a glance", () => {
  it("shows within a second that a key cools down, with the time left, and says so in the events", async () => {
    await using gateway = await runGateway();
    await using pool = await poolOf(gateway, { weights: [1, 1], faultsAreExpected: true });
    await pool.turns(2);
    pool.provider.on({ key: pool.valueOf("A") }).always(limited);
    await using session = await openSignedIn(browser, gateway, "/");
    const { page } = session;
    await page.getByText("2 of 2 keys available").waitFor();
    await page.getByText("2 requests · 0 failovers · 0 errors").first().waitFor();

    const seenAt = momentOf(page, /1 of 2 keys available/);
    await (await pool.send()).arrayBuffer();
    const sentAt = Date.now();

    expect((await seenAt) - sentAt).toBeLessThan(1_000);
    await page.getByText(/1 cooling down, first one back in 0:\d\d/).waitFor();
    await page.getByText("3 requests · 1 failover · 0 errors").first().waitFor();
    await page.getByText(`A (${pool.record.name}) cools down for 1 min: Rate limited`).waitFor();
  });

  it("shows when the cooldown is over, without anything happening", async () => {
    await using gateway = await runGateway();
    await using pool = await poolOf(gateway, {
      weights: [1, 1],
      faultsAreExpected: true,
      settings: { cooldown: { base_ms: 2_000, cap_ms: 2_000 } },
    });
    pool.provider.on({ key: pool.valueOf("A") }).always(limited);
    await using session = await openSignedIn(browser, gateway, "/");
    const { page } = session;
    await page.getByText("2 of 2 keys available").waitFor();

    await (await pool.send()).arrayBuffer();
    await page.getByText("1 of 2 keys available").waitFor();

    await page.getByText("2 of 2 keys available").waitFor();
    expect((await pool.key("A")).status).toBe("available");
  });
});

describe("notices", () => {
  it.each([
    { language: "en", title: "The database is damaged", hint: /put a backup in its place/ },
    { language: "ko", title: "데이터베이스가 손상되었습니다", hint: /백업으로 되돌리세요/ },
  ] as const)("tell of a damaged database and what to do, in $language", async ({ language, title, hint }) => {
    await using gateway = await runGateway();
    await using pool = await poolOf(gateway);
    await pool.turns(1);
    await gateway.stop();
    overwriteTable(gateway.databaseFile, "request_blocks");
    await gateway.restart();
    await using session = await openSignedIn(browser, gateway, "/", { language });

    const notice = session.page.getByRole("alert").filter({ hasText: title });
    await notice.waitFor();

    expect(await notice.innerText()).toMatch(hint);
    await expectAccessible(session.page);
  });

  it.each([
    {
      language: "en",
      words: {
        title: /^All keys of .+ are cooling down; requests fail$/,
        back: /back in 0:\d\d/,
        link: "Open the API Key Pool",
      },
    },
    {
      language: "ko",
      words: {
        title: /모든 키가 쿨다운 중이라 요청이 실패합니다$/,
        back: /0:\d\d 후 첫 번째 키 복귀/,
        link: "API 키 풀 열기",
      },
    },
  ] as const)("tell of an exhausted pool and where to go, in $language", async ({ language, words }) => {
    await using gateway = await runGateway();
    await using pool = await gatewayInTrouble(gateway);
    await using session = await openSignedIn(browser, gateway, "/", { language });
    const { page } = session;

    const alert = page.getByRole("alert", { name: words.title });
    await alert.getByText(words.back).waitFor();
    await alert.getByRole("link", { name: words.link }).click();

    await page.getByRole("heading", { level: 1, name: pool.record.name }).waitFor();
    expect(new URL(page.url()).pathname).toBe(`/ui/settings/providers/${pool.record.slug}`);
  });

  it("tell that all keys were refused, lead to the base URL, and enable all again with one button", async () => {
    await using gateway = await runGateway();
    await using pool = await poolOf(gateway, { weights: [1, 1], faultsAreExpected: true });
    for (const letter of ["A", "B"]) pool.provider.on({ key: pool.valueOf(letter) }).always(refused);
    await using session = await openSignedIn(browser, gateway, "/");
    const { page } = session;
    await page.getByText("Everything is in order").waitFor();

    await (await pool.send()).arrayBuffer();
    const alert = page.getByRole("alert", { name: /refuses every key of/ });
    await alert.getByText("so check the base URL").waitFor();
    const link = alert.getByRole("link", { name: "Check the base URL" });
    expect(await link.getAttribute("href")).toBe(`/ui/settings/providers/${pool.record.slug}?part=settings`);
    await alert.getByRole("button", { name: "Enable all 2 again" }).click();
    await alert.waitFor({ state: "detached" });

    expect((await gateway.keys(pool.record)).map(({ enabled }) => enabled)).toEqual([true, true]);
  });

  it("tell of a variable that is not set, and go when they are dismissed", async () => {
    await using gateway = await runGateway();
    await using pool = await poolOf(gateway, { weights: [1] });
    await gateway.addKeys(pool.record, [{ api_key: "$NOT_SET_ANYWHERE", label: "From the environment" }]);
    await using session = await openSignedIn(browser, gateway, "/");
    const { page } = session;
    const alert = page.getByRole("alert", { name: /^1 key of .+ has no value$/ });
    await alert.getByText("$NOT_SET_ANYWHERE is missing.").waitFor();
    await expectAccessible(page);

    await alert.getByRole("button", { name: /^Dismiss/ }).click();
    await alert.waitFor({ state: "detached" });

    await page.reload();
    await page.getByRole("heading", { name: "Pools" }).waitFor();
    expect(await alert.count()).toBe(0);
    // It is not: the key is still out.
    expect(await page.getByText("Everything is in order").count()).toBe(0);
  });
});

it("draws the traffic, and gives the same as a table", async () => {
  await using gateway = await runGateway();
  await using pool = await gatewayInTrouble(gateway);
  void pool;
  await using session = await openSignedIn(browser, gateway, "/");
  const { page } = session;
  const chart = page.getByRole("img", { name: "3 requests · 2 failovers · 1 error" });
  await chart.locator("svg path.recharts-rectangle").first().waitFor();

  await page.getByRole("button", { name: "Show as table" }).click();
  const line = page.getByRole("row").filter({ hasText: /:/ }).first();
  await line.waitFor();
  expect((await line.getByRole("cell").allInnerTexts()).join(" ")).toBe("2 1 2");
  await expectAccessible(page);
  await page.getByText("Last day", { exact: true }).click();
  await page.getByRole("img", { name: "3 requests · 2 failovers · 1 error" }).waitFor();
});

it.each([
  { language: "en", scheme: "dark", width: 1280 },
  { language: "en", scheme: "light", width: 390 },
  { language: "ko", scheme: "light", width: 1280 },
  { language: "ko", scheme: "dark", width: 390 },
] as const)("is accessible: $language, $scheme, $width px", async (look) => {
  await using gateway = await runGateway();
  await using pool = await gatewayInTrouble(gateway);
  void pool;
  await using session = await openSignedIn(browser, gateway, "/", look);
  await session.page.locator("svg path.recharts-rectangle").first().waitFor();

  await expectAccessible(session.page);
});

it("says once in Korean that a deleted key is a key", async () => {
  await using gateway = await runGateway();
  await using pool = await poolOf(gateway);
  await gateway.api("PATCH", `/keys/${(await pool.key("A")).id}`, { weight: 9 });
  await gateway.api("DELETE", `/keys/${(await pool.key("A")).id}`);
  await using session = await openSignedIn(browser, gateway, "/", { language: "ko" });
  const { page } = session;

  await page.getByText("삭제된 키가 변경되었습니다").first().waitFor();

  expect(await page.getByText(/키\S* 키[가를]/).count()).toBe(0);
});
