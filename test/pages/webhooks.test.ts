import { createServer, type Server } from "node:http";
import { runGateway, type RunningGateway } from "@keywheel/testkit";
import type { Browser } from "playwright-core";
import { afterAll, afterEach, beforeAll, expect, it } from "vitest";
import { eventually } from "../pooled-provider.ts";
import { expectAccessible, launchBrowser, openSignedIn } from "./browser.ts";

let gateway: RunningGateway;
let browser: Browser;
let receiver: Server;
let url = "";
let received = 0;
let answer = 204;
beforeAll(async () => {
  [gateway, browser] = await Promise.all([runGateway(), launchBrowser()]);
  receiver = createServer((request, response) => {
    request.resume();
    received++;
    response.writeHead(answer).end();
  });
  await new Promise<void>((resolve) => receiver.listen(0, "127.0.0.1", resolve));
  const address = receiver.address();
  url = `http://127.0.0.1:${typeof address === "object" ? address?.port : ""}/hook`;
});
afterEach(async () => {
  for (const { id } of await webhooks()) await gateway.api("DELETE", `/webhooks/${id}`);
});
afterAll(async () => {
  await browser.close();
  receiver.closeAllConnections();
  await new Promise((resolve) => receiver.close(resolve));
  await gateway[Symbol.asyncDispose]();
});

interface WebhookView {
  readonly id: string;
  readonly name: string;
  readonly url: string;
  readonly events: readonly string[] | null;
  readonly enabled: boolean;
}

async function webhooks(): Promise<readonly WebhookView[]> {
  return (await gateway.api<{ data: readonly WebhookView[] }>("GET", "/webhooks")).data;
}

it.each([
  {
    language: "en",
    words: {
      add: "Add webhook",
      url: "URL",
      name: "Name",
      events: "What to tell",
      disabled: "Key disabled",
      secret: "Secret",
      done: "Done",
      test: "Send a test to pager",
      delivered: "The test was delivered",
      failed: "The test was not delivered",
      refused: "The receiver answered 500.",
      deliveries: "Deliveries to pager",
      state: "Delivered",
      enabled: "Enabled: pager",
      remove: "Remove pager",
      confirm: "Remove",
    },
  },
  {
    language: "ko",
    words: {
      add: "웹훅 추가",
      url: "주소",
      name: "이름",
      events: "알릴 이벤트",
      disabled: "키 비활성화",
      secret: "비밀 값",
      done: "완료",
      test: "pager 웹훅에 테스트 보내기",
      delivered: "테스트를 전송했습니다",
      failed: "테스트를 전송하지 못했습니다",
      refused: "수신 측이 500 상태로 답했습니다.",
      deliveries: "pager 전송 내역",
      state: "전송됨",
      enabled: "활성화: pager",
      remove: "pager 제거",
      confirm: "제거",
    },
  },
] as const)(
  "adds a webhook, shows its secret once, tries it and removes it in $language",
  async ({ language, words }) => {
    await using session = await openSignedIn(browser, gateway, "/settings/webhooks", { language });
    const { page } = session;
    const before = received;
    answer = 204;

    await page.getByRole("main").getByRole("button", { name: words.add }).click();
    const dialog = page.getByRole("dialog").first();
    await dialog.getByLabel(words.url).fill(url);
    await dialog.getByLabel(words.name).fill("pager");
    await dialog.getByRole("combobox", { name: words.events }).click();
    await page.getByRole("option", { name: words.disabled }).click();
    await page.keyboard.press("Tab");
    await expectAccessible(page);
    await dialog.getByRole("button", { name: words.add }).click();
    const secret = await dialog.getByRole("textbox", { name: words.secret, exact: true }).inputValue();
    await expectAccessible(page);
    await dialog.getByRole("button", { name: words.done }).click();
    await dialog.waitFor({ state: "detached" });
    expect(secret).toMatch(/^whsec_/);
    expect(await page.content()).not.toContain(secret);
    expect(await webhooks()).toMatchObject([{ name: "pager", url, events: ["key.disabled"], enabled: true }]);

    await page.getByRole("button", { name: words.test }).click();
    await page.getByText(words.delivered).waitFor();
    expect(received).toBe(before + 1);
    answer = 500;
    await page.getByRole("button", { name: words.test }).click();
    await page.getByText(words.failed).waitFor();
    await page.getByText(words.refused).waitFor();

    await page.getByRole("button", { name: words.deliveries }).click();
    const list = page.getByRole("list", { name: words.deliveries });
    await list.getByText(words.state, { exact: true }).waitFor();
    expect(await list.getByRole("listitem").count()).toBe(2);
    await expectAccessible(page);

    await page.getByRole("switch", { name: words.enabled }).click({ force: true });
    await eventually(webhooks, ([hook]) => hook?.enabled === false, { what: "the webhook to be off" });

    await page.getByRole("button", { name: words.remove }).click();
    await page.getByRole("dialog").getByRole("button", { name: words.confirm, exact: true }).click();
    await eventually(webhooks, (left) => left.length === 0, { what: "the webhook to be removed" });
  },
);

it.each([
  {
    language: "en",
    words: {
      rotate: "New secret for pager",
      make: "New secret",
      secret: "Secret",
      done: "Done",
      former: /^The former secret signs as well until/,
    },
  },
  {
    language: "ko",
    words: {
      rotate: "pager 새 비밀 값",
      make: "새 비밀 값",
      secret: "비밀 값",
      done: "완료",
      former: /까지 이전 비밀 값으로도 서명합니다/,
    },
  },
] as const)(
  "makes a secret anew, shows it once and says how long the former one goes on in $language",
  async ({ language, words }) => {
    const { secret: former } = await gateway.api<{ secret: string }>("POST", "/webhooks", { url, name: "pager" });
    await using session = await openSignedIn(browser, gateway, "/settings/webhooks", { language });
    const { page } = session;

    await page.getByRole("button", { name: words.rotate }).click();
    const dialog = page.getByRole("dialog").first();
    await dialog.getByRole("radio").first().waitFor();
    await expectAccessible(page);
    await dialog.getByRole("button", { name: words.make, exact: true }).click();
    const secret = await dialog.getByRole("textbox", { name: words.secret, exact: true }).inputValue();
    await dialog.getByText(words.former).waitFor();
    await expectAccessible(page);
    await dialog.getByRole("button", { name: words.done }).click();
    await dialog.waitFor({ state: "detached" });

    expect(secret).toMatch(/^whsec_/);
    expect(secret).not.toBe(former);
    await page.getByRole("listitem").getByText(words.former).waitFor();
    expect(await page.content()).not.toContain(secret);
  },
);

it("says beside the field why an address is refused, and keeps what was typed", async () => {
  await using session = await openSignedIn(browser, gateway, "/settings/webhooks");
  const { page } = session;
  await page.getByRole("button", { name: "Add webhook" }).click();
  const dialog = page.getByRole("dialog").first();

  await dialog.getByLabel("URL").fill("hooks.example.com");
  await dialog.getByRole("button", { name: "Add webhook" }).click();
  await dialog.getByText("Enter an address that begins with http:// or https://.").waitFor();
  await dialog.getByLabel("URL").fill("http://169.254.169.254/");
  await dialog.getByRole("button", { name: "Add webhook" }).click();
  await dialog.getByText("an address from which a machine gets its own credentials").waitFor();

  expect(await dialog.getByLabel("URL").inputValue()).toBe("http://169.254.169.254/");
  await expectAccessible(page);
  expect(await webhooks()).toEqual([]);
});

it("fits a narrow screen", async () => {
  await gateway.api("POST", "/webhooks", {
    url: `${url}?${"long=".repeat(40)}`,
    name: "a long name ".repeat(8).trim(),
  });
  await using session = await openSignedIn(browser, gateway, "/settings/webhooks");
  const { page } = session;
  await page.setViewportSize({ width: 390, height: 800 });
  await page.getByRole("listitem").first().waitFor();

  const overflow = await page.evaluate<number>("document.documentElement.scrollWidth - innerWidth");
  expect(overflow).toBeLessThanOrEqual(0);
  await expectAccessible(page);
});
