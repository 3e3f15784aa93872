import { openAiError, runGateway, type RunningGateway } from "@keywheel/testkit";
import type { Browser, Locator, Page } from "playwright-core";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { eventually, fakeKey, poolOf } from "../pooled-provider.ts";
import { expectAccessible, launchBrowser, openSignedIn } from "./browser.ts";

let gateway: RunningGateway;
let browser: Browser;
beforeAll(async () => {
  [gateway, browser] = await Promise.all([runGateway({ env: { POOL_KEY_SET: fakeKey(900, 0) } }), launchBrowser()]);
});
afterAll(async () => {
  await browser.close();
  await gateway[Symbol.asyncDispose]();
});

/** The row of a key, by a part of what stands in it. */
function rowOf(page: Page, name: string): Locator {
  return page
    .getByRole("table", { name: /^API Key Pool$|^API 키 풀$/ })
    .getByRole("row")
    .filter({ hasText: name });
}

function pathOf(slug: string): string {
  return `/settings/providers/${slug}`;
}

async function labelsInOrder(page: Page): Promise<string[]> {
  const rows = await page.getByRole("row").all();
  const placed = await Promise.all(
    rows.slice(1).map(async (row) => ({
      index: Number(await row.getAttribute("aria-rowindex")),
      label: (await row.getByRole("checkbox").first().getAttribute("aria-label")) ?? "",
    })),
  );
  return placed.sort((one, other) => one.index - other.index).map(({ label }) => label.replace(/^Select | 선택$/, ""));
}

describe("the how-to of the specification", () => {
  it.each([
    {
      language: "en",
      words: {
        add: "Add Key",
        key: "API Key",
        label: "Label",
        weight: "Weight",
        confirm: "Confirm",
        remove: "Delete Test Key",
        removing: "Delete",
        enabled: "Enabled: Test Key",
        weightOf: "Weight of Test Key",
        disabled: "Disabled",
      },
    },
    {
      language: "ko",
      words: {
        add: "키 추가",
        key: "API 키",
        label: "레이블",
        weight: "가중치",
        confirm: "확인",
        remove: "Test Key 삭제",
        removing: "삭제",
        enabled: "활성화: Test Key",
        weightOf: "Test Key의 가중치",
        disabled: "비활성화됨",
      },
    },
  ] as const)("adds, weighs, switches and deletes a key in $language", async ({ language, words }) => {
    await using pool = await poolOf(gateway, { keys: [] });
    await using session = await openSignedIn(browser, gateway, pathOf(pool.record.slug), { language });
    const { page } = session;

    await page.getByRole("button", { name: words.add }).click();
    const dialog = page.getByRole("dialog");
    await dialog.getByLabel(words.key).fill("sk-test-how-to-0123456789");
    await dialog.getByLabel(words.label).fill("Test Key");
    await dialog.getByLabel(words.weight).fill("3");
    await dialog.getByRole("button", { name: words.confirm }).click();
    await rowOf(page, "Test Key").waitFor();
    expect(await gateway.keys(pool.record)).toMatchObject([{ label: "Test Key", weight: 3, enabled: true }]);

    await page.getByLabel(words.weightOf).fill("7");
    await page.getByLabel(words.weightOf).press("Enter");
    await eventually(
      () => gateway.keys(pool.record),
      ([key]) => key?.weight === 7,
      { what: "the weight" },
    );

    await page.getByRole("switch", { name: words.enabled }).click({ force: true });
    await rowOf(page, "Test Key").getByText(words.disabled, { exact: true }).waitFor();
    expect(await gateway.keys(pool.record)).toMatchObject([{ enabled: false, weight: 7 }]);

    await page.getByRole("button", { name: words.remove }).click();
    await page.getByRole("dialog").getByRole("button", { name: words.removing, exact: true }).click();
    await eventually(
      () => gateway.keys(pool.record),
      (keys) => keys.length === 0,
      { what: "the key to be gone" },
    );
  });
});

describe("adding a key", () => {
  it("says beside the fields what is wrong, and keeps what was typed", async () => {
    await using pool = await poolOf(gateway);
    await using session = await openSignedIn(browser, gateway, pathOf(pool.record.slug));
    const { page } = session;
    await page.getByRole("button", { name: "Add Key" }).click();
    const dialog = page.getByRole("dialog");

    await dialog.getByLabel("API Key").fill(pool.valueOf("A"));
    await dialog.getByLabel("Weight").fill("0");
    await dialog.getByRole("button", { name: "Confirm" }).click();
    await dialog.getByText("Enter 1 to 100.").waitFor();
    await dialog.getByLabel("Weight").fill("");
    await dialog.getByLabel("Weight").pressSequentially("1.5");
    await dialog.getByRole("button", { name: "Confirm" }).click();
    await dialog.getByText("Enter 1 to 100.").waitFor();
    expect(await dialog.getByLabel("Weight").inputValue()).toBe("1.5");
    await dialog.getByLabel("Weight").fill("2");
    await dialog.getByRole("button", { name: "Confirm" }).click();
    await dialog.getByText("This provider already holds this key.").waitFor();

    expect(await dialog.getByLabel("API Key").inputValue()).toBe(pool.valueOf("A"));
    await expectAccessible(page);
  });

  it("tells while $NAME is typed whether the variable is set", async () => {
    await using pool = await poolOf(gateway);
    await using session = await openSignedIn(browser, gateway, pathOf(pool.record.slug));
    const { page } = session;
    await page.getByRole("button", { name: "Add Key" }).click();
    const field = page.getByRole("dialog").getByLabel("API Key");

    await field.fill("$POOL_KEY_sET");
    await page.getByText("$POOL_KEY_sET is not set in the gateway's environment. Case counts.").waitFor();
    await field.fill("$POOL_KEY_SET");
    await page.getByText("$POOL_KEY_SET is set.").waitFor();

    expect(await page.content()).not.toContain(fakeKey(900, 0));
  });

  it("closes with Escape where nothing was typed, asks where something was, and adds nothing", async () => {
    await using pool = await poolOf(gateway);
    await using session = await openSignedIn(browser, gateway, pathOf(pool.record.slug));
    const { page } = session;
    await page.getByRole("button", { name: "Add Key" }).click();
    const dialog = page.getByRole("dialog", { name: "Add a key" });
    // It listens once it has the focus.
    await dialog.locator(":focus").waitFor();
    await page.keyboard.press("Escape");
    await dialog.waitFor({ state: "detached" });
    await page.getByRole("button", { name: "Add Key" }).click();
    await dialog.getByLabel("API Key").fill("sk-test-escaped-0123456789");

    await page.mouse.click(5, 400);
    await page.keyboard.press("Escape");
    const question = page.getByRole("dialog", { name: "Close this?" });
    await question.getByRole("button", { name: "Go back" }).first().waitFor();
    await expectAccessible(page);
    await page.keyboard.press("Escape");
    await question.waitFor({ state: "detached" });
    expect(await dialog.getByLabel("API Key").inputValue()).toBe("sk-test-escaped-0123456789");
    await page.keyboard.press("Escape");
    await question.getByRole("button", { name: "Close anyway" }).click();
    await dialog.waitFor({ state: "detached" });

    expect(await gateway.keys(pool.record)).toHaveLength(2);
  });
});

it("sends a weight once, though its field is left while the answer is under way", async () => {
  await using pool = await poolOf(gateway);
  await using session = await openSignedIn(browser, gateway, pathOf(pool.record.slug));
  const { page } = session;
  let sent = 0;
  let answer = (): void => undefined;
  const answered = new Promise<void>((resolve) => (answer = resolve));
  await page.route("**/api/keys/*", async (route) => {
    if (route.request().method() === "PATCH") {
      sent++;
      await answered;
    }
    await route.continue();
  });

  await page.getByLabel("Weight of A").fill("7");
  await page.getByLabel("Weight of A").press("Enter");
  await page.getByLabel("Weight of A").press("Tab");
  answer();
  await eventually(
    () => pool.key("A"),
    ({ weight }) => weight === 7,
    { what: "the weight" },
  );

  expect(sent).toBe(1);
});

it("edits a label, and leaves alone the weight that another changed meanwhile", async () => {
  await using pool = await poolOf(gateway);
  await using session = await openSignedIn(browser, gateway, pathOf(pool.record.slug));
  const { page } = session;
  await page.getByRole("button", { name: "Edit A" }).click();
  const dialog = page.getByRole("dialog");
  await dialog.getByLabel("Label").fill("Renamed");

  await gateway.api("PATCH", `/keys/${pool.keys[0]?.id}`, { weight: 7 });
  await dialog.getByRole("button", { name: "Confirm" }).click();
  await dialog.waitFor({ state: "detached" });

  expect(await pool.key("A")).toMatchObject({ label: "Renamed", weight: 7 });
});

it("imports a pasted list: shows what it understood, adds it, reports the rest", async () => {
  await using pool = await poolOf(gateway, { weights: [1] });
  await using session = await openSignedIn(browser, gateway, pathOf(pool.record.slug));
  const { page } = session;
  await page.getByRole("button", { name: "Import keys" }).click();
  const dialog = page.getByRole("dialog");

  await dialog.getByLabel("Keys").fill(`sk-test-import-01234567,Imported,4\n${pool.valueOf("A")}\nnot a key`);
  await page.mouse.click(5, 400);
  await dialog.getByRole("button", { name: "Check the list" }).click();
  await dialog.getByText("1 key will be added").waitFor();
  await dialog.getByText("1 duplicate · 1 refused").waitFor();
  expect(await gateway.keys(pool.record)).toHaveLength(1);
  await expectAccessible(page);
  await dialog.getByRole("button", { name: "Confirm" }).click();
  await rowOf(page, "Imported").waitFor();

  expect(await gateway.keys(pool.record)).toMatchObject([{}, { label: "Imported", weight: 4 }]);
});

it("says of every refused line in Korean why it is refused", async () => {
  await using pool = await poolOf(gateway, { weights: [1] });
  await using session = await openSignedIn(browser, gateway, pathOf(pool.record.slug), { language: "ko", width: 390 });
  const { page } = session;
  const lines = [
    "sk-test-good-0123456789",
    pool.valueOf("A"),
    "sk-test-good-0123456789",
    "sk-••••••9f2c",
    "x".repeat(4_097),
    "sk-test two-words",
    "sk-test-\u00e9-0123456789",
    "'sk-test-quoted-0123456789'",
    "${BRACES}",
    "$ONE$TWO",
    "$1ST",
    "$",
    "sk-test-weight-0123456789,A,101",
    `sk-test-label-0123456789,${"x".repeat(201)},1`,
  ];

  await page.getByRole("button", { name: "키 가져오기" }).click();
  const dialog = page.getByRole("dialog", { name: "키 가져오기" });
  await dialog.getByRole("textbox").fill(lines.join("\n"));
  await dialog.getByRole("button", { name: "목록 확인" }).click();
  await dialog.getByText("키 1개가 추가됩니다").waitFor();
  const told = await dialog.getByRole("listitem").allTextContents();
  await expectAccessible(page);

  expect(told).toHaveLength(13);
  expect(told.filter((text) => !/[가-힣]{2,}/.test(text.replace(/^.*?줄: ?/, "")))).toEqual([]);
  expect(told.filter((text) => /[a-z]{3,} [a-z]{2,} [a-z]/i.test(text))).toEqual([]);
});

describe("what happens to keys", () => {
  it("is seen within a second: a cooldown with its countdown and where its length comes from", async () => {
    await using pool = await poolOf(gateway, { faultsAreExpected: true });
    pool.provider
      .on({ key: pool.valueOf("A") })
      .always(openAiError(429, { message: "Rate limit reached", type: "requests", code: "rate_limit_exceeded" }));
    await using session = await openSignedIn(browser, gateway, pathOf(pool.record.slug));
    const { page } = session;
    await rowOf(page, "Available").first().waitFor();

    // Looked for in the page itself: from outside, one asks at most twice a second.
    const seenAt = page.evaluate<number>(
      `new Promise((seen) => {
        const look = () => {
          if (/back in [01]:/.test(document.body.innerText)) seen(Date.now());
          else requestAnimationFrame(look);
        };
        look();
      })`,
    );
    await (await pool.send()).arrayBuffer();
    const sentAt = Date.now();

    expect((await seenAt) - sentAt).toBeLessThan(1_000);
    await rowOf(page, "Cooling down").getByText("1 min: step 1 of the ladder, after the first failure").waitFor();
    await expectAccessible(page);
  });

  it("tells of keys that the provider refused, and brings all back with one button", async () => {
    await using pool = await poolOf(gateway, { weights: [1, 1, 1], faultsAreExpected: true });
    const error = { message: "Incorrect API key provided", type: "invalid_request_error", code: "invalid_api_key" };
    for (const letter of ["A", "B"]) pool.provider.on({ key: pool.valueOf(letter) }).always(openAiError(401, error));
    await using session = await openSignedIn(browser, gateway, pathOf(pool.record.slug));
    const { page } = session;

    await (await pool.send()).arrayBuffer();
    await page.getByText("2 keys were disabled: Authentication failed").waitFor();
    await rowOf(page, "Incorrect API key provided").first().waitFor();
    await page.getByRole("button", { name: "Enable all 2 again" }).click();
    await page.getByText("2 keys were disabled: Authentication failed").waitFor({ state: "detached" });

    expect((await gateway.keys(pool.record)).map(({ enabled }) => enabled)).toEqual([true, true, true]);
  });

  it("moves the wheel: the next turn is the next key's", async () => {
    await using pool = await poolOf(gateway, { weights: [2, 1] });
    await using session = await openSignedIn(browser, gateway, pathOf(pool.record.slug));
    const { page } = session;
    await page.getByRole("img", { name: "Wheel of 3 slots. Next: A." }).waitFor();

    const turns = await pool.turns(2);
    await page.getByRole("img", { name: "Wheel of 3 slots. Next: B." }).waitFor();

    expect(turns).toBe("AA");
  });
});

it.each([
  {
    language: "en",
    words: {
      move: "Move C.",
      lifted: "C is lifted. It is at place 3 of 3.",
      over: (place: number) => `C is over place ${place} of 3.`,
    },
  },
  {
    language: "ko",
    words: {
      move: "C 이동.",
      lifted: "C을(를) 들었습니다. 3개 중 3번째입니다.",
      over: (place: number) => `C이(가) 3개 중 ${place}번째 위에 있습니다.`,
    },
  },
] as const)("reorders by keyboard in $language: Space lifts, arrows move, Space drops", async ({ language, words }) => {
  await using pool = await poolOf(gateway, { weights: [1, 1, 1] });
  await using session = await openSignedIn(browser, gateway, pathOf(pool.record.slug), { language });
  const { page } = session;

  await page.getByRole("button", { name: words.move }).focus();
  await page.keyboard.press("Space");
  await page.getByText(words.lifted).waitFor({ state: "attached" });
  await page.keyboard.press("ArrowUp");
  await page.getByText(words.over(2)).waitFor({ state: "attached" });
  await page.keyboard.press("ArrowUp");
  await page.getByText(words.over(1)).waitFor({ state: "attached" });
  await page.keyboard.press("Space");
  await eventually(
    () => gateway.keys(pool.record),
    ([key]) => key?.label === "C",
    { what: "C to be the first" },
  );

  expect(await labelsInOrder(page)).toEqual(["C", "A", "B"]);
});

it.each([
  { language: "en", words: { cooling: "Cooling down", back: /back in 0:0[123]/, available: "Available" } },
  { language: "ko", words: { cooling: "쿨다운 중", back: /0:0[123] 후 복귀/, available: "사용 가능" } },
] as const)("counts a cooldown down to available, in $language", async ({ language, words }) => {
  const settings = { cooldown: { base_ms: 3_000, cap_ms: 3_000 } };
  await using pool = await poolOf(gateway, { weights: [1, 1], settings, faultsAreExpected: true });
  pool.provider
    .on({ key: pool.valueOf("A") })
    .next(openAiError(429, { message: "Slow down", type: "requests", code: null }));
  await using session = await openSignedIn(browser, gateway, pathOf(pool.record.slug), { language });
  const { page } = session;
  await page.getByText(words.available, { exact: true }).nth(1).waitFor();

  await (await pool.send()).arrayBuffer();
  const timer = page.getByRole("timer");
  await timer.getByText(words.back).waitFor();
  await page.getByText(words.cooling, { exact: true }).first().waitFor();
  const first = await timer.textContent();
  await eventually(
    () => timer.textContent(),
    (shown) => shown !== first,
    { what: "the next second" },
  );
  await timer.waitFor({ state: "detached" });
  await page.getByText(words.available, { exact: true }).nth(1).waitFor();

  expect(await pool.key("A")).toMatchObject({ status: "available", consecutive_failures: 1 });
});

it("tests a key, and says what came of it", async () => {
  await using pool = await poolOf(gateway, { weights: [1] });
  await using session = await openSignedIn(browser, gateway, pathOf(pool.record.slug));

  await session.page.getByRole("button", { name: "Test A" }).click();

  await session.page.getByText("Works: the provider took the key").waitFor();
  expect(await pool.key("A")).toMatchObject({ status: "available" });
});

it("works with 10,000 keys: draws a few, finds one, disables many", { timeout: 60_000 }, async () => {
  await using pool = await poolOf(gateway, { keys: [] });
  const text = Array.from({ length: 10_000 }, (_, at) => `sk-test-many-${String(at).padStart(8, "0")},Key ${at},1`);
  await gateway.api("POST", `/providers/${pool.record.id}/keys/import`, { text: text.join("\n") });
  await using session = await openSignedIn(browser, gateway, pathOf(pool.record.slug));
  const { page } = session;

  await page.getByRole("checkbox", { name: "Select Key 0", exact: true }).waitFor();
  expect(await page.getByRole("row").count()).toBeLessThan(60);
  await page.getByLabel("Search keys").fill("Key 123");
  await page.getByRole("checkbox", { name: "Select Key 1230", exact: true }).waitFor();
  await page.getByRole("checkbox", { name: "Select all 11 keys shown" }).click();
  await expectAccessible(page);
  await page.getByRole("button", { name: "Disable", exact: true }).click();
  await page.getByText("11 keys changed").waitFor();

  const keys = await gateway.keys(pool.record);
  expect(keys.filter(({ enabled }) => !enabled)).toHaveLength(11);
});

it.each([
  { language: "en", scheme: "dark", width: 1280 },
  { language: "en", scheme: "light", width: 390 },
  { language: "ko", scheme: "light", width: 1280 },
  { language: "ko", scheme: "dark", width: 390 },
] as const)("is accessible in all its parts: $language, $scheme, $width px", async (look) => {
  await using pool = await poolOf(gateway, { weights: [3, 2, 1] });
  for (const part of ["pool", "connect", "settings"]) {
    await using session = await openSignedIn(browser, gateway, `${pathOf(pool.record.slug)}?part=${part}`, look);
    await session.page.getByRole("heading", { level: 2 }).first().waitFor();
    await expectAccessible(session.page);
  }
});

it("takes a weight in full-width digits", async () => {
  await using pool = await poolOf(gateway);
  await using session = await openSignedIn(browser, gateway, pathOf(pool.record.slug));
  const { page } = session;

  await page.getByLabel("Weight of A").fill("３");
  await page.getByLabel("Weight of A").press("Enter");

  await eventually(
    () => page.getByLabel("Weight of A").inputValue(),
    (shown) => shown === "3",
    { what: "the weight to be shown as it is stored" },
  );
  expect((await pool.key("A")).weight).toBe(3);
});
