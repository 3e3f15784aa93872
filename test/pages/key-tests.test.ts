import { openAiError, reply, runGateway, type RunningGateway } from "@keywheel/testkit";
import type { Browser } from "playwright-core";
import { afterAll, beforeAll, expect, it } from "vitest";
import { eventually, poolOf, type PooledProvider } from "../pooled-provider.ts";
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

const refusal = { message: "Incorrect API key provided", type: "invalid_request_error", code: "invalid_api_key" };

interface BulkTest {
  readonly ids: readonly string[];
  readonly results: readonly { readonly id: string; readonly ok: boolean; readonly http_status: number | null }[];
}

/** A pool of so many keys, all of which the provider knows. */
async function poolOfMany(count: number): Promise<PooledProvider> {
  const values = Array.from({ length: count }, (_, at) => `sk-test-bulk-${String(at).padStart(8, "0")}`);
  const pool = await poolOf(gateway, { keys: [], provider: { keys: values } });
  const text = values.map((value, at) => `${value},Key ${at},1`).join("\n");
  await gateway.api("POST", `/providers/${pool.record.id}/keys/import`, { text });
  return pool;
}

it("tests many keys with one call, a few at a time, and changes nothing", async () => {
  await using pool = await poolOf(gateway, { weights: Array.from({ length: 20 }, () => 1), faultsAreExpected: true });
  pool.provider.on({ key: pool.values[3] ?? "", path: "/v1/models" }).always(openAiError(401, refusal));
  const before = await gateway.keys(pool.record);
  let [running, most] = [0, 0];
  pool.provider.on({ path: "/v1/models" }).always(
    reply.by(async () => {
      most = Math.max(most, ++running);
      await new Promise((resolve) => setTimeout(resolve, 20));
      running--;
      return reply.json(200, {}, { data: [] });
    }),
  );

  const { ids, results } = await gateway.api<BulkTest>("POST", `/providers/${pool.record.id}/keys/bulk`, {
    action: "test",
    ids: pool.keys.map(({ id }) => id),
  });

  expect(ids).toEqual(pool.keys.map(({ id }) => id));
  expect(results.filter(({ ok }) => !ok)).toMatchObject([{ id: pool.keys[3]?.id, http_status: 401 }]);
  expect(most).toBeGreaterThan(1);
  expect(most).toBeLessThanOrEqual(8);
  expect(await gateway.keys(pool.record)).toEqual(before);
});

it.each(["en", "ko"] as const)(
  "shows what came of each selected key, and selects those that failed, in %s",
  async (language) => {
    await using pool = await poolOf(gateway, { weights: [1, 1, 1], faultsAreExpected: true });
    pool.provider.on({ key: pool.valueOf("B") }).always(openAiError(401, refusal));
    await using session = await openSignedIn(browser, gateway, `/settings/providers/${pool.record.slug}`, { language });
    const { page } = session;
    const words =
      language === "en"
        ? {
            all: "Select all 3 keys shown",
            test: "Test",
            done: "3 keys tested",
            works: "2 work",
            select: "Select the one that failed",
            one: "1 selected",
            panel: "Test of the selected keys",
          }
        : {
            all: "표시된 키 3개 모두 선택",
            test: "테스트",
            done: "키 3개를 테스트했습니다",
            works: "정상 2개",
            select: "실패한 키 1개 선택",
            one: "1개 선택됨",
            panel: "선택한 키 테스트",
          };

    await page.getByRole("checkbox", { name: words.all }).click();
    await page.getByRole("button", { name: words.test, exact: true }).click();
    const panel = page.getByRole("region", { name: words.panel });
    await panel.getByText(words.done).last().waitFor();
    await panel.getByText(words.works).waitFor();
    await panel.getByRole("listitem").filter({ hasText: "Incorrect API key provided" }).waitFor();
    await expectAccessible(page);
    await panel.getByRole("button", { name: words.select }).click();
    await page.getByText(words.one).waitFor();

    expect(await panel.getByRole("listitem").textContent()).toMatch(/^B/);
    // A test changes nothing: the refused key is still in use.
    expect(await pool.key("B")).toMatchObject({ enabled: true, status: "available" });
  },
);

it("works with 1,000 keys: shows how far it is, and is cancelled", { timeout: 90_000 }, async () => {
  await using pool = await poolOfMany(1_000);
  await using session = await openSignedIn(browser, gateway, `/settings/providers/${pool.record.slug}`);
  const { page } = session;
  const panel = page.getByRole("region", { name: "Test of the selected keys" });

  await page.getByRole("checkbox", { name: "Select all 1,000 keys shown" }).click();
  await page.getByRole("button", { name: "Test", exact: true }).click();
  await panel.getByText("1,000 keys tested").last().waitFor({ timeout: 60_000 });
  expect(pool.provider.requests).toHaveLength(1_000);
  await panel.getByRole("button", { name: "Dismiss the result" }).click();

  // From here on, no answer comes before it is let go.
  const gate = Promise.withResolvers<void>();
  pool.provider.on({}).always(reply.after(gate.promise, reply.json(200, {}, { data: [] })));
  await page.getByRole("checkbox", { name: "Select all 1,000 keys shown" }).click();
  await page.getByRole("button", { name: "Test", exact: true }).click();
  await panel.getByText("Testing: 0 of 1,000 keys").waitFor();
  await eventually(
    () => pool.provider.requests.length,
    (count) => count === 1_008,
    { what: "the first of them to be asked" },
  );
  await panel.getByRole("button", { name: "Cancel" }).click();
  await panel.getByText("Cancelled after 0 of 1,000 keys").last().waitFor();
  await eventually(
    () => pool.provider.requests.slice(1_000).map(({ state }) => state),
    (states) => states.every((state) => state === "aborted"),
    { what: "the provider to be let go" },
  );
  gate.resolve();

  expect(pool.provider.requests).toHaveLength(1_008);
});
