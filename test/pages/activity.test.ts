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

const limited = openAiError(429, { message: "Rate limit reached", type: "requests", code: "rate_limit_exceeded" });

function rows(page: Page): Locator {
  return page.getByRole("table", { name: /^Requests$|^요청 목록$/ }).getByRole("row");
}

async function topsOf(page: Page): Promise<Record<string, number>> {
  return page.evaluate(
    `Object.fromEntries([...document.querySelectorAll('[role=row] button')].map((button) =>
      [button.getAttribute('aria-label'), Math.round(button.getBoundingClientRect().top)]))`,
  );
}

it("leads on while there is nothing: provider, key, request, and then shows that request by itself", async () => {
  await using fresh = await runGateway();
  await using session = await openSignedIn(browser, fresh, "/activity");
  const { page } = session;
  await page.getByText("No request yet").waitFor();
  await page.getByRole("link", { name: "Choose a provider" }).waitFor();
  await expectAccessible(page);

  await using pool = await poolOf(fresh, { keys: [] });
  await page.getByRole("link", { name: `Add a key to ${pool.record.name}` }).waitFor();
  await fresh.addKeys(pool.record, [{ api_key: "sk-test-activity-0123456789", label: "First" }]);
  await page.getByLabel("curl", { exact: true }).waitFor();
  await (await pool.send()).arrayBuffer();

  await rows(page).filter({ hasText: "/v1/chat/completions" }).waitFor();
});

describe("a request", () => {
  it("is seen within a second, with its status, key, speed and tokens", async () => {
    await using pool = await poolOf(gateway, { weights: [1] });
    await using session = await openSignedIn(browser, gateway, `/activity?provider=${pool.record.slug}`);
    const { page } = session;
    await page.getByText("No request matches").waitFor();

    const seenAt = page.evaluate<number>(
      `new Promise((seen) => {
        const look = () => {
          if (/\\n200\\n/.test(document.body.innerText)) seen(Date.now());
          else requestAnimationFrame(look);
        };
        look();
      })`,
    );
    await (await pool.send({ session: "seen" })).arrayBuffer();
    const sentAt = Date.now();

    expect((await seenAt) - sentAt).toBeLessThan(1_000);
    const row = rows(page).nth(1);
    await row.getByText("gpt-test").waitFor();
    await row.getByText("its turn").waitFor();
    await row.getByText(/^in \d+ · out \d+$/).waitFor();
    await row.getByText(/^first byte \d+ms$/).waitFor();
  });

  it.each([
    {
      language: "en",
      words: {
        short: "C answered, after A: Rate limited.",
        session: "Its session is bound to this key.",
        next: "Another key was asked.",
        again: "The next key on the wheel that could serve.",
        bytes: /^\d+ bytes \/ \d+ bytes$/,
        passed: "B – disabled by hand",
        client: "Status 200 after",
        said: "The provider said: “Rate limit reached",
      },
    },
    {
      language: "ko",
      words: {
        short: "A 키가 실패한 뒤(속도 제한) C 키가 응답했습니다.",
        session: "세션이 이 키에 바인딩되어 있습니다.",
        next: "다른 키로 다시 시도했습니다.",
        again: "휠에서 다음으로 사용할 수 있는 키였습니다.",
        bytes: /^\d+바이트 \/ \d+바이트$/,
        passed: "B – 직접 비활성화함",
        client: "상태 코드 200(으)로 응답했습니다.",
        said: "제공업체 응답: “Rate limit reached",
      },
    },
  ] as const)("says why it went where it went, in $language", async ({ language, words }) => {
    await using pool = await poolOf(gateway, { weights: [1, 1, 1], faultsAreExpected: true });
    await gateway.api("PATCH", `/keys/${pool.keys[1]?.id ?? ""}`, { enabled: false });
    await (await pool.send({ session: `told-${language}` })).arrayBuffer();
    pool.provider.on({ key: pool.valueOf("A") }).always(limited);
    await (await pool.send({ session: `told-${language}` })).arrayBuffer();
    await using session = await openSignedIn(browser, gateway, `/activity?provider=${pool.record.slug}`, { language });
    const { page } = session;

    await rows(page).nth(1).getByRole("button").click();
    const detail = page.getByRole("dialog");
    for (const text of [words.short, words.session, words.next, words.again, words.client]) {
      await detail.getByText(text).first().waitFor();
    }
    await detail.getByText(words.passed).waitFor();
    await detail.getByText(words.bytes).waitFor();
    await detail.getByText(words.said).waitFor();
    await expectAccessible(page);
    await page.keyboard.press("Escape");
    await detail.waitFor({ state: "detached" });
  });

  it("that no key could serve says how the pool stood", async () => {
    await using pool = await poolOf(gateway, { weights: [1, 1], faultsAreExpected: true });
    for (const letter of ["A", "B"]) pool.provider.on({ key: pool.valueOf(letter) }).always(limited);
    await (await pool.send()).arrayBuffer();
    await using session = await openSignedIn(browser, gateway, `/activity?provider=${pool.record.slug}`);
    const { page } = session;

    await rows(page).nth(1).getByRole("button").click();
    const detail = page.getByRole("dialog");
    await detail.getByText("No key could serve it.").waitFor();
    await detail.getByText(/^Of 2 keys, 2 cooling down\.$/).waitFor();
    await detail.getByRole("link", { name: "Open the API Key Pool" }).click();

    await page.getByRole("heading", { level: 1, name: pool.record.name }).waitFor();
    expect(new URL(page.url()).pathname).toBe(`/ui/settings/providers/${pool.record.slug}`);
  });
});

it("filters by provider, key and outcome, and keeps the filter in the address", async () => {
  await using pool = await poolOf(gateway, { weights: [1, 1], faultsAreExpected: true });
  await pool.turns(2);
  pool.provider.on({ key: pool.valueOf("A") }).always(limited);
  await pool.turns(1);
  pool.provider
    .on({ key: pool.valueOf("B") })
    .always(openAiError(500, { message: "broken", type: "server_error", code: null }));
  await (await pool.send()).arrayBuffer();
  await using session = await openSignedIn(browser, gateway, "/activity");
  const { page } = session;
  const count = (wanted: number): Promise<number> =>
    eventually(
      () => rows(page).count(),
      (rowsShown) => rowsShown === wanted + 1,
      { what: `${wanted} rows` },
    );

  await page.getByRole("combobox", { name: "Provider" }).click();
  await page.getByRole("option", { name: pool.record.name, exact: true }).click();
  await count(4);
  await page.getByRole("combobox", { name: "Outcome" }).click();
  await page.getByRole("option", { name: "Moved to another key" }).click();
  await count(1);
  await page.getByRole("combobox", { name: "Outcome" }).click();
  await page.getByRole("option", { name: "Failed" }).click();
  await count(1);
  await rows(page).nth(1).getByText("500").waitFor();
  await page.getByRole("combobox", { name: "Outcome" }).click();
  await page.getByRole("option", { name: "All", exact: true }).click();
  await page.getByRole("combobox", { name: "Key" }).click();
  await page.getByRole("option", { name: "A", exact: true }).click();
  await count(2);
  await page.reload();
  await count(2);

  expect(new URL(page.url()).searchParams.get("provider")).toBe(pool.record.slug);
});

describe("the list", () => {
  it("stays where it is while someone points at it, and tells what waits", async () => {
    await using pool = await poolOf(gateway, { weights: [1] });
    await pool.turns(3);
    await using session = await openSignedIn(browser, gateway, `/activity?provider=${pool.record.slug}`);
    const { page } = session;
    await rows(page).nth(3).hover();
    const before = await topsOf(page);

    await pool.turns(2);
    await page.getByRole("button", { name: "2 new requests" }).waitFor();
    const after = await topsOf(page);
    await page.getByRole("button", { name: "2 new requests" }).click();

    expect(after).toEqual(before);
    await eventually(
      () => rows(page).count(),
      (count) => count === 6,
      { what: "the new requests" },
    );
  });

  it("holds new requests back when it is told not to follow", async () => {
    await using pool = await poolOf(gateway, { weights: [1] });
    await pool.turns(1);
    await using session = await openSignedIn(browser, gateway, `/activity?provider=${pool.record.slug}`);
    const { page } = session;
    await rows(page).nth(1).waitFor();

    await page.getByRole("switch", { name: "Follow" }).click({ force: true });
    await pool.turns(1);
    await page.getByRole("button", { name: "1 new request" }).waitFor();
    expect(await rows(page).count()).toBe(2);
    await page.getByRole("switch", { name: "Follow" }).click({ force: true });

    await rows(page).nth(2).waitFor();
  });

  it("draws a few of many, and loads older ones on demand", { timeout: 60_000 }, async () => {
    await using pool = await poolOf(gateway, { weights: [1] });
    for (let batch = 0; batch < 25; batch++) {
      await Promise.all(Array.from({ length: 10 }, async () => (await pool.send()).arrayBuffer()));
    }
    await using session = await openSignedIn(browser, gateway, `/activity?provider=${pool.record.slug}`);
    const { page } = session;
    const table = page.getByRole("table", { name: "Requests" });
    const total = async (): Promise<number> => Number(await table.getAttribute("aria-rowcount")) - 1;
    await table.waitFor();
    expect(await total()).toBe(100);
    expect(await rows(page).count()).toBeLessThan(60);

    for (const expected of [200, 250]) {
      await page.getByRole("button", { name: "Load older requests" }).click();
      await eventually(total, (count) => count === expected, { what: `${expected} requests` });
    }

    await page.getByRole("button", { name: "Load older requests" }).waitFor({ state: "detached" });
  });
});

it.each([
  { language: "en", scheme: "dark", width: 1280 },
  { language: "en", scheme: "light", width: 390 },
  { language: "ko", scheme: "light", width: 1280 },
  { language: "ko", scheme: "dark", width: 390 },
] as const)("is accessible: $language, $scheme, $width px", async (look) => {
  await using pool = await poolOf(gateway, { weights: [1, 1], faultsAreExpected: true });
  await pool.turns(2);
  pool.provider.on({ key: pool.valueOf("A") }).always(limited);
  await pool.turns(2);
  await using session = await openSignedIn(browser, gateway, `/activity?provider=${pool.record.slug}`, look);
  await rows(session.page).nth(4).waitFor();

  await expectAccessible(session.page);
});

it("tells on a narrow page, too, whose key served", async () => {
  await using pool = await poolOf(gateway, { weights: [1] });
  await pool.turns(1);
  const look = { width: 390 } as const;
  await using session = await openSignedIn(browser, gateway, `/activity?provider=${pool.record.slug}`, look);
  const served = session.page.getByRole("row").filter({ hasText: "200" }).locator("[aria-hidden]", { hasText: /^A$/ });

  await served.waitFor();

  expect(await served.isVisible()).toBe(true);
});
