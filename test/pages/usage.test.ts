import { readFileSync } from "node:fs";
import { openAiError, runGateway, type RunningGateway } from "@keywheel/testkit";
import type { Browser, Locator, Page } from "playwright-core";
import { afterAll, beforeAll, expect, it } from "vitest";
import { poolOf } from "../pooled-provider.ts";
import { expectAccessible, holdCalls, launchBrowser, openSignedIn } from "./browser.ts";

let gateway: RunningGateway;
let browser: Browser;
beforeAll(async () => {
  [gateway, browser] = await Promise.all([runGateway(), launchBrowser()]);
});
afterAll(async () => {
  await browser.close();
  await gateway[Symbol.asyncDispose]();
});

function row(page: Page, name: string | RegExp): Locator {
  return page
    .getByRole("group", { name: /^Usage$|^사용량 표$/ })
    .getByRole("row")
    .filter({ has: page.getByRole("rowheader", { name }) });
}

/** Requests, errors, failovers, input, cached, output. */
async function numbersOf(line: Locator): Promise<string> {
  return (await line.getByRole("cell").allInnerTexts()).slice(0, 6).join(" ");
}

async function choose(page: Page, field: string, option: string): Promise<void> {
  await page.getByRole("combobox", { name: field }).click();
  await page.getByRole("option", { name: option, exact: true }).click();
}

/** Chooses a provider, and waits until what is shown is of that one alone. */
async function chooseProvider(page: Page, name: string): Promise<void> {
  await choose(page, "Provider", name);
  const ofOthers = async (): Promise<string[]> => {
    const headers = await page.getByRole("rowheader").allInnerTexts();
    return headers.filter((text) => /openai-\d+/.test(text) && /openai-\d+/.exec(text)?.[0] !== name);
  };
  await expect.poll(ofOthers, { timeout: 5_000 }).toEqual([]);
}

it("leads on while nothing was used", async () => {
  await using fresh = await runGateway();
  await using session = await openSignedIn(browser, fresh, "/usage");

  await session.page.getByText("No usage yet").waitFor();
  await session.page.getByRole("link", { name: "Choose a provider" }).waitFor();

  await expectAccessible(session.page);
});

it("sums up by key, label, provider and model, over each range, and follows by itself", async () => {
  await using pool = await poolOf(gateway, { weights: [2, 1] });
  await pool.turns(3);
  await using session = await openSignedIn(browser, gateway, "/usage");
  const { page } = session;
  await chooseProvider(page, pool.record.name);
  await row(page, "Total").waitFor();
  const before = await numbersOf(row(page, /^A/));
  expect(before).toMatch(/^2 0 0 [1-9]\d* 0 [1-9]\d*$/);
  expect(await numbersOf(row(page, /^B/))).toMatch(/^1 0 0 /);

  for (const range of ["Last hour", "7 days", "30 days", "Custom", "Last day"]) {
    await page.getByRole("radiogroup", { name: "Time" }).getByText(range, { exact: true }).click();
    await expect.poll(() => numbersOf(row(page, /^A/)), { timeout: 5_000 }).toBe(before);
    await page.locator("svg path.recharts-rectangle").first().waitFor();
  }
  await choose(page, "Group by", "Model");
  await row(page, "gpt-test").waitFor();
  await choose(page, "Group by", "Label");
  await row(page, /^A$/).waitFor();
  await choose(page, "Group by", "Access token");
  await row(page, "Without a token").waitFor();
  await choose(page, "Group by", "Provider");
  await row(page, pool.record.name).waitFor();

  await pool.turns(2);
  await expect.poll(() => numbersOf(row(page, "Total")), { timeout: 2_000 }).toMatch(/^5 0 0 /);
});

it("says beside the field what is wrong with a range of one's own", async () => {
  await using pool = await poolOf(gateway, { weights: [1] });
  await pool.turns(1);
  await using session = await openSignedIn(browser, gateway, "/usage");
  const { page } = session;
  await page.getByText("Custom", { exact: true }).first().click();

  await page.getByLabel("From").fill("2026-03-02");
  await page.getByLabel("Until").fill("2026-03-01");
  await page.getByText("The end is before the beginning.").waitFor();
  await expectAccessible(page);
  await page.getByLabel("Until").fill("2026-03-03");

  await page.getByText("Nothing was used in this time").waitFor();
});

it("gives a file that spreadsheets take for text and numbers, and for no formula", async () => {
  await using pool = await poolOf(gateway, {
    keys: [{ api_key: "sk-test-csv-0123456789abcdef", label: '=HYPERLINK("http://a.example"), "운영"' }],
  });
  await pool.turns(2);
  await using session = await openSignedIn(browser, gateway, "/usage");
  const { page } = session;
  await chooseProvider(page, pool.record.name);
  await row(page, /HYPERLINK/).waitFor();

  const [download] = await Promise.all([
    page.waitForEvent("download"),
    page.getByRole("button", { name: "Download CSV" }).click(),
  ]);
  const [head, line, ...rest] = readFileSync(await download.path(), "utf8").split("\r\n");

  expect(download.suggestedFilename()).toMatch(/^keywheel-usage-\d{4}-\d\d-\d\d\.csv$/);
  expect(head).toBe(
    "\uFEFFat,provider,key,key_id,requests,errors,failovers,input_tokens,of_input_cache_read_tokens,of_input_cache_write_tokens,output_tokens,of_output_reasoning_tokens",
  );
  expect(line).toMatch(
    /^\d{4}-\d\d-\d\dT\d\d:00:00\.000Z,openai-\d+,"'=HYPERLINK\(""http:\/\/a\.example""\), ""운영""",key_\w+,2,0,0,/,
  );
  expect(rest).toEqual([""]);
});

it("is sorted by whatever is asked for", async () => {
  await using pool = await poolOf(gateway, { weights: [3, 1], faultsAreExpected: true });
  pool.provider
    .on({ key: pool.valueOf("B") })
    .always(openAiError(429, { message: "Rate limit reached", type: "requests", code: "rate_limit_exceeded" }));
  await pool.turns(4);
  await using session = await openSignedIn(browser, gateway, "/usage");
  const { page } = session;
  await chooseProvider(page, pool.record.name);
  await row(page, /^B/).waitFor();
  const names = async (): Promise<string> =>
    (await page.getByRole("rowheader").allInnerTexts()).map((name) => name.slice(0, 1)).join("");
  expect(await names()).toBe("ABT");

  await page.getByRole("button", { name: "Failovers" }).click();

  expect(await names()).toBe("BAT");
  expect(await page.getByRole("columnheader", { name: "Failovers" }).getAttribute("aria-sort")).toBe("descending");
});

it.each([
  { language: "en", scheme: "dark", width: 1280 },
  { language: "en", scheme: "light", width: 390 },
  { language: "ko", scheme: "light", width: 1280 },
  { language: "ko", scheme: "dark", width: 390 },
] as const)("is accessible: $language, $scheme, $width px", async (look) => {
  await using pool = await poolOf(gateway, { weights: [1, 1] });
  await pool.turns(2);
  await using session = await openSignedIn(browser, gateway, "/usage", look);
  await session.page.locator("svg path.recharts-rectangle").first().waitFor();

  await expectAccessible(session.page);
});

it("writes a file of what was asked for, though something else was chosen before it was there", async () => {
  await using pool = await poolOf(gateway);
  await pool.turns(1);
  await using session = await openSignedIn(browser, gateway, "/usage");
  const { page } = session;
  await page.getByRole("table").waitFor();
  const calls = await holdCalls(page, "GET", /\/api\/usage/);
  const coming = page.waitForEvent("download");
  await page.getByRole("button", { name: "Download CSV" }).click();
  await calls.sent();

  await page.getByRole("combobox", { name: "Group by" }).click();
  await page.getByRole("option", { name: "Provider", exact: true }).click();
  calls.answer();
  const [head = "", ...lines] = readFileSync(await (await coming).path(), "utf8").split("\r\n");
  // That of this pool: labels of others hold commas.
  const line = lines.find((text) => text.includes(pool.record.slug)) ?? "";

  expect(head).toContain("provider,key,key_id,requests");
  expect(line.split(",")).toHaveLength(head.split(",").length);
});
