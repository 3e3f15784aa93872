import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { runGateway, type RunningGateway } from "@keywheel/testkit";
import type { Browser } from "playwright-core";
import { afterAll, beforeAll, expect, it } from "vitest";
import { expectAccessible, launchBrowser, openSignedIn } from "./browser.ts";

const text = `version: 1
providers:
  openai:
    keys:
      - { api_key: $ONE, label: First }
tokens:
  laptop: { token: $LAPTOP }
`;

let folder: string;
let file: string;
let gateway: RunningGateway;
let browser: Browser;
beforeAll(async () => {
  folder = mkdtempSync(join(tmpdir(), "keywheel-pages-"));
  file = join(folder, "keywheel.yaml");
  writeFileSync(file, text);
  const env = { KEYWHEEL_CONFIG: file, ONE: "sk-invented-0001", LAPTOP: "kw_invented_token_of_this_test_0001" };
  [gateway, browser] = await Promise.all([runGateway({ env }), launchBrowser()]);
});
afterAll(async () => {
  await browser.close();
  await gateway[Symbol.asyncDispose]();
  rmSync(folder, { recursive: true, force: true });
});

it.each([
  {
    language: "en",
    words: { badge: "In the configuration file", edit: "Edit First", remove: "Delete First" },
  },
  {
    language: "ko",
    words: { badge: "설정 파일에서 관리", edit: "First 편집", remove: "First 삭제" },
  },
] as const)(
  "shows what the file has made as such, and does not let it be changed ($language)",
  async ({ language, words }) => {
    await using session = await openSignedIn(browser, gateway, "/settings/providers/openai", { language });
    const { page } = session;

    // The provider and its key.
    await expect.poll(() => page.getByText(words.badge).count()).toBe(2);
    expect(await page.getByRole("button", { name: words.edit }).isDisabled()).toBe(true);
    expect(await page.getByRole("button", { name: words.remove }).isDisabled()).toBe(true);
    await expectAccessible(page);
    await page.goto("/ui/settings/tokens");
    await expect.poll(() => page.getByText(words.badge).count()).toBe(1);
  },
);

it("tells on the overview that the file has mistakes, and when they are gone", async () => {
  await using session = await openSignedIn(browser, gateway, "/");
  const { page } = session;
  writeFileSync(file, `${text}wrong: 1\n`);
  await gateway.api("POST", "/config/reload", {});

  const notice = page
    .getByRole("region", { name: "Needs attention" })
    .getByText("The configuration file is not in force. There is a mistake in line 8");
  await expect.poll(() => notice.count(), { timeout: 8_000 }).toBe(1);
  writeFileSync(file, text);
  await gateway.api("POST", "/config/reload", {});
  await expect.poll(() => notice.count(), { timeout: 8_000 }).toBe(0);
});
