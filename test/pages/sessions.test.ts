import { DatabaseSync } from "node:sqlite";
import { openAiError, runGateway, type RunningGateway } from "@keywheel/testkit";
import type { Browser, Locator, Page } from "playwright-core";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { eventually, poolOf } from "../pooled-provider.ts";
import { expectAccessible, launchBrowser, openSignedIn } from "./browser.ts";

let gateway: RunningGateway;
let browser: Browser;
beforeAll(async () => {
  [gateway, browser] = await Promise.all([runGateway(), launchBrowser()]);
});
afterAll(async () => {
  await browser.close();
  await gateway[Symbol.asyncDispose]();
});

function rows(page: Page): Locator {
  return page.getByRole("table", { name: /^Sessions$|^세션 목록$/ }).getByRole("row");
}

it("leads on while there is none, and shows the first one by itself", async () => {
  await using fresh = await runGateway();
  await using pool = await poolOf(fresh, { weights: [1] });
  await using session = await openSignedIn(browser, fresh, "/sessions");
  const { page } = session;
  await page.getByText("No session yet").waitFor();
  await page.getByLabel("curl", { exact: true }).waitFor();
  await expectAccessible(page);

  await (await pool.send({ session: "the-first" })).arrayBuffer();

  await rows(page).filter({ hasText: "the-first" }).filter({ hasText: "A" }).waitFor();
});

it.each([
  {
    language: "en",
    words: {
      help: "The pool is set up right",
      end: "End session mine",
      question: "End the session mine?",
      confirm: "End session",
    },
  },
  {
    language: "ko",
    words: {
      help: "풀을 올바르게 구성했는데도",
      end: "mine 세션 종료",
      question: "mine 세션을 종료할까요?",
      confirm: "세션 종료",
    },
  },
] as const)("ends a session, after it said what that means, in $language", async ({ language, words }) => {
  await using pool = await poolOf(gateway, { weights: [1, 1] });
  await (await pool.send({ session: "mine" })).arrayBuffer();
  await (await pool.send({ session: "other" })).arrayBuffer();
  expect(await pool.turns(2, { session: "mine" })).toBe("AA");
  await using session = await openSignedIn(browser, gateway, `/sessions?provider=${pool.record.slug}`, { language });
  const { page } = session;
  await page.getByText(words.help).waitFor();

  await page.getByRole("button", { name: words.end, exact: true }).click();
  const dialog = page.getByRole("dialog", { name: words.question });
  await dialog.waitFor();
  await expectAccessible(page);
  await dialog.getByRole("button", { name: words.confirm }).click();
  await rows(page).filter({ hasText: "mine" }).waitFor({ state: "detached" });

  await rows(page).filter({ hasText: "other" }).waitFor();
  // The wheel stands at A again after B took the other session: what is bound anew takes that turn.
  await (await pool.send()).arrayBuffer();
  expect(await pool.turns(1, { session: "mine" })).toBe("B");
});

it("follows within a second: requests counted, and a session that moves to another key", async () => {
  await using pool = await poolOf(gateway, { weights: [1, 1], faultsAreExpected: true });
  await (await pool.send({ session: "moving" })).arrayBuffer();
  await using session = await openSignedIn(browser, gateway, `/sessions?provider=${pool.record.slug}`);
  const { page } = session;
  const row = rows(page).filter({ hasText: "moving" });
  await row.filter({ hasText: "A" }).waitFor();
  pool.provider
    .on({ key: pool.valueOf("A") })
    .always(openAiError(429, { message: "Rate limit reached", type: "requests", code: "rate_limit_exceeded" }));

  const seenAt = page.evaluate<number>(
    `new Promise((seen) => {
      const look = () => {
        const cells = [...document.querySelectorAll('[role=cell]')].map((cell) => cell.textContent);
        if (cells.includes('B')) seen(Date.now());
        else requestAnimationFrame(look);
      };
      look();
    })`,
  );
  await (await pool.send({ session: "moving" })).arrayBuffer();
  const sentAt = Date.now();

  expect((await seenAt) - sentAt).toBeLessThan(1_000);
});

it("finds sessions by name, provider and key, and leads to their requests", async () => {
  await using pool = await poolOf(gateway, { weights: [1, 1] });
  for (const name of ["alpha", "beta", "gamma"]) await (await pool.send({ session: name })).arrayBuffer();
  await using session = await openSignedIn(browser, gateway, `/sessions?provider=${pool.record.slug}`);
  const { page } = session;
  const names = async (): Promise<string> => (await rows(page).locator("p[title]").allInnerTexts()).sort().join(" ");
  const become = (wanted: string): Promise<string> => eventually(names, (now) => now === wanted, { what: wanted });
  await become("alpha beta gamma");

  await page.getByLabel("Search sessions").fill("MM");
  await become("gamma");
  await page.getByLabel("Search sessions").fill("");
  await page.getByRole("combobox", { name: "Key" }).click();
  await page.getByRole("option", { name: "B", exact: true }).click();
  await become("beta");
  await page.getByRole("link", { name: "Requests of the session beta" }).click();

  await page.getByText("Session beta").waitFor();
  await expectAccessible(page);
  await page.getByRole("table", { name: "Requests" }).getByRole("row").nth(1).waitFor();
  expect(await page.getByRole("table", { name: "Requests" }).getAttribute("aria-rowcount")).toBe("2");
});

describe("a hundred thousand sessions", () => {
  it("are shown a page at a time, found and ended", { timeout: 60_000 }, async () => {
    await using many = await runGateway();
    await using pool = await poolOf(many, { weights: [1] });
    await (await pool.send({ session: "chat-0" })).arrayBuffer();
    await many.stop();
    multiplySession(many.databaseFile, 100_000);
    await many.restart();
    await using session = await openSignedIn(browser, many, "/sessions");
    const { page } = session;
    const table = page.getByRole("table", { name: "Sessions" });
    await table.waitFor();
    expect(await table.getAttribute("aria-rowcount")).toBe("101");
    expect(await rows(page).count()).toBeLessThan(60);

    await page.getByRole("button", { name: "Load more sessions" }).click();
    await eventually(
      () => table.getAttribute("aria-rowcount"),
      (count) => count === "201",
      { what: "200 sessions" },
    );
    await page.getByLabel("Search sessions").fill("chat-77777");
    await page.getByRole("button", { name: "End session chat-77777" }).click();
    await page.getByRole("dialog").getByRole("button", { name: "End session" }).click();
    await page.getByText("No session matches").waitFor();

    expect((await many.api<{ data: unknown[] }>("GET", "/sessions?q=chat-77777")).data).toEqual([]);
  });
});

/** As if as many clients had each sent a request. The gateway must not run. */
function multiplySession(file: string, count: number): void {
  const database = new DatabaseSync(file);
  try {
    database
      .prepare(
        `with recursive numbers(n) as (select 1 union all select n + 1 from numbers where n < ?)
         insert into sessions (id, value_hash, carrier, provider_id, key_id, fingerprint_high, fingerprint_low, bound_at, last_used_at, requests)
         select 'chat-' || n, 'hash-' || n, carrier, provider_id, key_id, 1, n, bound_at, last_used_at - n, 1
         from sessions, numbers where id = 'chat-0'`,
      )
      .run(count);
  } finally {
    database.close();
  }
}

it.each([
  { language: "en", scheme: "dark", width: 1280 },
  { language: "en", scheme: "light", width: 390 },
  { language: "ko", scheme: "light", width: 1280 },
  { language: "ko", scheme: "dark", width: 390 },
] as const)("is accessible: $language, $scheme, $width px", async (look) => {
  await using pool = await poolOf(gateway, { weights: [1, 1] });
  for (const name of ["one", "a-session-with-a-name-that-is-long-enough-to-be-cut-".repeat(3)]) {
    await (await pool.send({ session: name })).arrayBuffer();
  }
  await using session = await openSignedIn(browser, gateway, `/sessions?provider=${pool.record.slug}`, look);
  await rows(session.page).nth(2).waitFor();

  await expectAccessible(session.page);
});
