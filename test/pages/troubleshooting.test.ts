import { openAiError, runGateway, type RunningGateway } from "@keywheel/testkit";
import type { Browser, Page } from "playwright-core";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { fakeKey, type PooledProvider, poolOf, type PoolOptions } from "../pooled-provider.ts";
import { launchBrowser, openSignedIn } from "./browser.ts";

let gateway: RunningGateway;
let browser: Browser;
beforeAll(async () => {
  [gateway, browser] = await Promise.all([runGateway({ env: { Pool_Key_9: fakeKey(901, 0) } }), launchBrowser()]);
});
afterAll(async () => {
  await browser.close();
  await gateway[Symbol.asyncDispose]();
});

type Language = "en" | "ko";

interface Trouble {
  /** The row of the table, as the specification names it. */
  readonly issue: string;
  readonly pool?: PoolOptions;
  /** What leads to it. */
  readonly happens: (pool: PooledProvider) => Promise<void>;
  /** What a person does on the page to meet it, where looking is not enough. */
  readonly meets?: (page: Page, language: Language) => Promise<void>;
  /** What the page says of it. */
  readonly hints: Readonly<Record<Language, readonly (string | RegExp)[]>>;
}

async function limit(pool: PooledProvider, letters: string): Promise<void> {
  const error = { message: "Rate limit reached", type: "requests", code: "rate_limit_exceeded" };
  for (const letter of letters) pool.provider.on({ key: pool.valueOf(letter) }).always(openAiError(429, error));
  await (await pool.send()).arrayBuffer();
}

const troubles: readonly Trouble[] = [
  {
    issue: "All keys are in cooldown; requests fail",
    happens: (pool) => limit(pool, "AB"),
    hints: {
      en: [
        "All keys are cooling down; requests fail",
        /The first one is back in 0?[01]:\d\d\. Wait for it, or add more keys\./,
      ],
      ko: ["모든 키가 쿨다운 중이라 요청이 실패합니다", /후 첫 번째 키가 돌아옵니다\. 기다리거나 키를 더 추가하세요\./],
    },
  },
  {
    issue: "A key is never selected",
    pool: { weights: [100, 1] },
    happens: async (pool) => void (await pool.turns(10)),
    hints: {
      en: [/^Never selected so far\. Other keys have much higher weights/],
      ko: [/^아직 선택된 적이 없습니다\. 다른 키의 가중치가 훨씬 높거나/],
    },
  },
  {
    issue: "A key is automatically disabled",
    happens: async (pool) => {
      const error = { message: "Incorrect API key provided", type: "invalid_request_error", code: "invalid_api_key" };
      pool.provider.on({ key: pool.valueOf("A") }).always(openAiError(401, error));
      await (await pool.send()).arrayBuffer();
    },
    hints: {
      en: [
        "Authentication failed (401)",
        "Check whether the key is expired or revoked at the provider, then enable it again.",
        "The provider said: “Incorrect API key provided”",
      ],
      ko: [
        "인증 실패 (401)",
        "키가 만료되었거나 취소되었는지 제공업체 웹사이트에서 확인한 뒤 다시 활성화하세요.",
        /Incorrect API key provided/,
      ],
    },
  },
  {
    issue: "Pool is configured correctly but requests still use the old key",
    happens: async (pool) => void (await pool.turns(2, { session: "an old chat" })),
    meets: async (page, language) => {
      await page.getByText(language === "en" ? "1 session" : "세션 1개", { exact: true }).hover();
    },
    hints: {
      en: [/To see another key used, start a new chat session; when this key rests or is disabled, they move/],
      ko: [/다른 키를 사용하려면 새 채팅 세션을 시작하세요\. 이 키가 쿨다운에 들어가거나 비활성화되면/],
    },
  },
  {
    issue: "Added key not taking effect immediately",
    happens: async (pool) => void (await pool.turns(1)),
    meets: async (page, language) => {
      const words = language === "en" ? ["Add Key", "API Key", "Confirm"] : ["키 추가", "API 키", "확인"];
      const [add = "", key = "", confirm = ""] = words;
      await page.getByRole("button", { name: add }).click();
      await page.getByRole("dialog").getByLabel(key).fill(`sk-test-new-${language}-0123456789`);
      await page.getByRole("dialog").getByRole("button", { name: confirm }).click();
    },
    hints: {
      en: [/takes its turn from the next new session on$/, "Sessions that are under way stay with the key they have."],
      ko: [/다음 새 세션부터 순환에 참여합니다$/, "진행 중인 세션은 기존 키를 계속 사용합니다."],
    },
  },
  {
    issue: "Environment variable key cannot be resolved",
    // The variable is there, but for its case.
    pool: { keys: [{ api_key: "$POOL_KEY_9", label: "By name", weight: 1 }] },
    happens: async () => {},
    hints: {
      en: [
        "Unresolved",
        "POOL_KEY_9 is not set in the gateway's environment. Case counts.",
        /^Check that the name after \$ matches the one that is set, including case\./,
      ],
      ko: ["확인할 수 없음", /POOL_KEY_9/, /대소문자까지 정확히 일치하는지 확인하세요/],
    },
  },
  {
    issue: "Cooldown is too long",
    pool: { weights: [1, 1], settings: { cooldown: { base_ms: 500, cap_ms: 900_000 } } },
    happens: async (pool) => {
      await limit(pool, "A");
      for (let failures = 1; failures < 5;) {
        await pool.becomes("A", "available", 20_000);
        await (await pool.send()).arrayBuffer();
        failures = (await pool.key("A")).consecutive_failures;
      }
    },
    hints: {
      en: [
        /8 sec: step 5 of the ladder, after 5 failures in a row/,
        /Send fewer requests, or add keys to spread them; it is never longer than 15 min\./,
      ],
      ko: [
        /8초: 지수 백오프 5단계, 연속 5번째 실패/,
        /요청 빈도를 줄이거나 키를 더 추가해 부하를 분산하세요\. 상한은 15분입니다\./,
      ],
    },
  },
  {
    issue: "Key switched within the same session",
    happens: async (pool) => {
      await pool.turns(1, { session: "a chat" });
      await limit(pool, "A");
      await pool.turns(1, { session: "a chat" });
    },
    meets: async (page, language) => {
      await page.getByText(language === "en" ? "1 session" : "세션 1개", { exact: true }).hover();
    },
    hints: {
      en: [/when this key rests or is disabled, they move to another one by themselves\./],
      ko: [/이 키가 쿨다운에 들어가거나 비활성화되면 자동으로 다른 키로 옮겨집니다\./],
    },
  },
];

describe("the troubleshooting table of the specification has its hint where one meets the trouble:", () => {
  it.each(troubles.flatMap((trouble) => (["en", "ko"] as const).map((language) => ({ ...trouble, language }))))(
    "$issue ($language)",
    { timeout: 60_000 },
    async ({ pool: options, happens, meets, hints, language }) => {
      await using pool = await poolOf(gateway, { ...options, faultsAreExpected: true });
      await happens(pool);
      await using session = await openSignedIn(browser, gateway, `/settings/providers/${pool.record.slug}`, {
        language,
      });
      const { page } = session;

      await meets?.(page, language);

      expect(hints[language].length).toBeGreaterThan(0);
      for (const hint of hints[language]) await page.getByText(hint).first().waitFor({ state: "visible" });
    },
  );
});
