import { openAiError, reply, runGateway, type RunningGateway } from "@keywheel/testkit";
import type { Browser, Page } from "playwright-core";
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

const limited = openAiError(429, { message: "Rate limit reached", type: "requests", code: "rate_limit_exceeded" });

/** 1,000 tokens of input, so many of which the provider had in its cache. */
function anAnswer(cached: number) {
  const usage = { prompt_tokens: 1_000, completion_tokens: 9, prompt_tokens_details: { cached_tokens: cached } };
  return reply.json(200, {}, { choices: [{ message: { role: "assistant", content: "Hi" } }], usage });
}

/** A session that begins on A, goes on there twice, and must go to B when A is limited; one request beside it. */
async function useSession(pool: PooledProvider, session: string): Promise<void> {
  pool.provider.on({ key: pool.valueOf("A") }).next(anAnswer(0), anAnswer(900), anAnswer(950), limited);
  pool.provider.on({ key: pool.valueOf("B") }).next(anAnswer(0), anAnswer(0));
  expect(await pool.turns(4, { session })).toBe("AAAAB");
}

async function cellsOf(page: Page, table: string, name: string): Promise<string[]> {
  const row = page
    .getByRole("group", { name: table })
    .getByRole("row")
    .filter({ has: page.getByRole("rowheader", { name }) });
  await row.waitFor();
  return row.getByRole("cell").allInnerTexts();
}

it.each([
  {
    language: "en",
    scheme: "light",
    words: {
      tab: "Prompt cache",
      empty: "No request in this time",
      kept: "Kept their key",
      left: "Had to change the key",
      cached: "92.5% from the cache",
      sources: "What ties requests to a key",
      session: "A named session",
      reasons: "Why requests changed their key",
      limited: "Rate limited",
    },
  },
  {
    language: "ko",
    scheme: "dark",
    words: {
      tab: "프롬프트 캐시",
      empty: "이 기간에는 요청이 없습니다",
      kept: "키를 유지한 요청",
      left: "키를 바꿔야 했던 요청",
      cached: "캐시에서 92.5%",
      sources: "요청을 키에 묶는 것",
      session: "이름이 있는 세션",
      reasons: "요청이 키를 바꾼 이유",
      limited: "속도 제한",
    },
  },
] as const)("shows what keeping the key is worth to a pool, as it comes, in $language", async (looks) => {
  const { language, scheme, words } = looks;
  await using pool = await poolOf(gateway, { weights: [1, 1], faultsAreExpected: true });
  const path = `/settings/providers/${pool.record.slug}`;
  await using session = await openSignedIn(browser, gateway, path, { language, scheme });
  const { page } = session;
  await page.getByRole("tab", { name: words.tab }).click();
  await page.getByText(words.empty).waitFor();
  await expectAccessible(page);

  await useSession(pool, "chat");

  await page.getByText(words.cached).waitFor();
  expect(await page.getByRole("progressbar", { name: words.kept }).getAttribute("aria-valuenow")).toBe("92.5");
  expect(await page.getByRole("progressbar", { name: words.left }).getAttribute("aria-valuenow")).toBe("0");
  expect(await cellsOf(page, words.sources, words.session)).toEqual(["4", "2", "1", "1", "46.3%"]);
  expect(await cellsOf(page, words.reasons, words.limited)).toEqual(["1", "0%"]);
  await page.locator("svg path.recharts-rectangle").first().waitFor();
  await expectAccessible(page);
});

it.each([
  {
    language: "en",
    words: {
      open: "What came from the cache in the session mine",
      title: "Prompt cache of mine",
      left: "Came from A: Rate limited",
      kept: "95% (tokens: 950 of 1,000)",
    },
  },
  {
    language: "ko",
    words: {
      open: "mine 세션이 캐시에서 읽은 입력",
      title: "mine 세션의 프롬프트 캐시",
      left: "A 키에서 변경: 속도 제한",
      kept: "95% (토큰 1,000개 중 950개)",
    },
  },
] as const)("tells a session request by request, in $language", async ({ language, words }) => {
  await using pool = await poolOf(gateway, { weights: [1, 1], faultsAreExpected: true });
  await useSession(pool, "mine");
  await using session = await openSignedIn(browser, gateway, `/sessions?provider=${pool.record.slug}`, { language });
  const { page } = session;

  await page.getByRole("button", { name: words.open }).click();

  const drawer = page.getByRole("dialog", { name: words.title });
  await drawer.getByText(words.left).waitFor();
  await drawer.getByText(words.kept).waitFor();
  await expectAccessible(page);
  await page.keyboard.press("Escape");
  await drawer.waitFor({ state: "hidden" });
});

it("tells in a request's own story which key it belonged to before", async () => {
  await using pool = await poolOf(gateway, {
    weights: [1, 1],
    faultsAreExpected: true,
    settings: { cooldown: { base_ms: 100, cap_ms: 100 } },
  });
  expect(await pool.turns(1, { session: "calm" })).toBe("A");
  expect(await pool.turns(1, { session: "other" })).toBe("B");
  pool.provider.on({ key: pool.valueOf("A") }).next(limited);
  expect(await pool.turns(1)).toBe("AB");
  await pool.becomes("A", "available");
  // The wheel is at A, and then at B: the session that has lost A goes to B.
  expect(await pool.turns(1)).toBe("A");
  expect(await pool.turns(1, { session: "calm" })).toBe("B");
  await using session = await openSignedIn(browser, gateway, `/activity?session=calm&provider=${pool.record.slug}`);
  const { page } = session;

  await page.getByRole("table", { name: "Requests" }).getByRole("row").nth(1).getByRole("button").click();

  await page.getByRole("dialog").getByText("It belonged to A before: Rate limited").waitFor();
});
