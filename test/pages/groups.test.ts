import { openAiError, reply, runGateway, type RunningGateway } from "@keywheel/testkit";
import type { Browser } from "playwright-core";
import { afterAll, beforeAll, expect, it } from "vitest";
import { poolOf, type PooledProvider } from "../pooled-provider.ts";
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

/** Has each key of the pool say whose it is. */
async function tellOwners(pool: PooledProvider, owner: string): Promise<void> {
  const body = { choices: [{ message: { role: "assistant", content: "Hi" } }] };
  pool.provider.on().next(...pool.keys.map(() => reply.json(200, { "openai-organization": owner }, body)));
  await pool.turns(pool.keys.length);
}

it.each([
  {
    language: "en",
    scheme: "light",
    words: {
      seems: "Seems to be of acme-inc",
      all: "All keys are of one owner: acme-inc",
      notice: /All keys of .* are of one owner: acme-inc/,
      edit: "Edit A",
      group: "Group",
      confirm: "Confirm",
      named: "Group project one",
    },
  },
  {
    language: "ko",
    scheme: "dark",
    words: {
      seems: "acme-inc의 키로 보임",
      all: "모든 키가 한 소유자의 것입니다: acme-inc",
      notice: /의 모든 키가 한 소유자의 것입니다: acme-inc/,
      edit: "A 편집",
      group: "그룹",
      confirm: "확인",
      named: "그룹 project one",
    },
  },
] as const)(
  "shows whose keys they seem to be, warns of one owner, and takes a group, in $language",
  async (looks) => {
    const { language, scheme, words } = looks;
    await using pool = await poolOf(gateway, { weights: [1, 1] });
    const path = `/settings/providers/${pool.record.slug}`;
    await using session = await openSignedIn(browser, gateway, path, { language, scheme });
    const { page } = session;
    await page.getByRole("row").filter({ hasText: "A" }).first().waitFor();
    expect(await page.getByText(words.all).count()).toBe(0);

    await tellOwners(pool, "acme-inc");

    await page.getByText(words.all).waitFor();
    expect(await page.getByText(words.seems).count()).toBe(2);
    await expectAccessible(page);
    await page.getByRole("button", { name: words.edit, exact: true }).click();
    const dialog = page.getByRole("dialog");
    await dialog.getByLabel(words.group, { exact: true }).fill("project one");
    await expectAccessible(page);
    await dialog.getByRole("button", { name: words.confirm }).click();
    await page.getByText(words.named).waitFor();
    // One of them is told apart now, by whoever should know.
    await page.getByText(words.all).waitFor({ state: "detached" });
  },
  60_000,
);

it.each([
  { language: "en", words: "It rests with A, which met a limit that their group shares." },
  { language: "ko", words: "같은 그룹의 A 키에 한도가 걸려 함께 쉽니다." },
] as const)(
  "says of a key that rests with another one whose limit it was, in $language",
  async ({ language, words }) => {
    await using pool = await poolOf(gateway, { weights: [1, 1, 1] });
    for (const key of pool.keys.slice(0, 2)) await gateway.api("PATCH", `/keys/${key.id}`, { group: "project" });
    const path = `/settings/providers/${pool.record.slug}`;
    await using session = await openSignedIn(browser, gateway, path, { language });
    const { page } = session;
    await page.getByRole("row").filter({ hasText: "project" }).first().waitFor();
    pool.provider
      .on({ key: pool.valueOf("A") })
      .next(openAiError(429, { message: "Rate limit reached", type: "requests", code: "rate_limit_exceeded" }));

    expect(await pool.turns(1)).toBe("AC");

    await page.getByText(words).waitFor();
    expect(await page.getByText(words).count()).toBe(1);
    await expectAccessible(page);
  },
);

it("tells it on the overview as well, until a key of another owner comes", async () => {
  await using pool = await poolOf(gateway, { weights: [1, 1] });
  await tellOwners(pool, "overview-inc");
  await using session = await openSignedIn(browser, gateway, "/");
  const { page } = session;

  const notice = page.getByText(`All keys of ${pool.record.name} are of one owner: overview-inc`);
  await notice.first().waitFor();
  await expectAccessible(page);
  await gateway.addKeys(pool.record, [{ api_key: "sk-test-of-somebody-else-01", group: "other" }]);

  await page.getByText(`Resolved: All keys of ${pool.record.name} are of one owner: overview-inc`).waitFor();
});
