import { runGateway, type RunningGateway } from "@keywheel/testkit";
import type { Browser } from "playwright-core";
import { afterAll, beforeAll, expect, it } from "vitest";
import { poolOf } from "../pooled-provider.ts";
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

const long = { name: "Name".repeat(50), slug: "s".repeat(63), label: "Label".repeat(40), token: "Token".repeat(40) };

it.each([
  { language: "en", scheme: "light" },
  { language: "ko", scheme: "dark" },
] as const)(
  "keeps every page within 390 px, whatever things are called, and tells all of it: $language",
  async (look) => {
    await using pool = await poolOf(gateway, { weights: [1] });
    const slug = `${look.language}${long.slug.slice(2)}`;
    const [key] = pool.keys;
    await gateway.api("PATCH", `/providers/${pool.record.id}`, { name: long.name, slug });
    await gateway.api("PATCH", `/keys/${key?.id ?? ""}`, { label: long.label });
    await gateway.api("POST", "/tokens", { name: long.token, providers: [slug] });
    const answer = await fetch(`${gateway.url}/${slug}/v1/chat/completions`, {
      method: "POST",
      headers: { "content-type": "application/json", "x-keywheel-session": "session".repeat(20) },
      body: JSON.stringify({ model: "model".repeat(20), messages: [{ role: "user", content: "Hello" }] }),
    });
    await answer.arrayBuffer();
    await using session = await openSignedIn(browser, gateway, "/", { ...look, width: 390 });
    const { page } = session;
    const provider = `/settings/providers/${slug}`;
    const paths: readonly (readonly [path: string, told: string])[] = [
      ["/", long.name],
      ["/activity", long.label],
      ["/sessions", long.name],
      ["/usage", long.label],
      ["/settings/providers", long.name],
      [provider, long.label],
      [`${provider}?part=connect`, long.name],
      [`${provider}?part=settings`, long.name],
      ["/settings/tokens", long.token],
    ];
    const untold: string[] = [];

    for (const [path, told] of paths) {
      await page.goto(`/ui${path}`);
      await page.getByText(told).first().waitFor({ state: "attached" });
      await expectAccessible(page);
      // Cut, or in the table that scrolls, it is told by its title or stands there in full.
      const isTold = await page.evaluate<boolean>(
        `[...document.querySelectorAll("main *")].some((element) => element.title === ${JSON.stringify(told)} || [...element.childNodes].some((node) => node.data === ${JSON.stringify(told)}))`,
      );
      if (!isTold) untold.push(path);
    }

    expect(untold).toEqual([]);
  },
);

it("lets no name turn round the words beside it", async () => {
  const name = "\u05de\u05e4\u05ea\u05d7";
  const record = await gateway.addProvider({ slug: "hebrew", name, baseUrl: "https://hebrew.example/v1" });
  await gateway.addKeys(record, [{ api_key: "sk-test-hebrew-0123456789", label: `\u202e${name}` }]);
  await using session = await openSignedIn(browser, gateway, "/settings/providers/hebrew");
  const { page } = session;

  await page
    .getByRole("row")
    .getByRole("button", { name: /^Delete/ })
    .click();
  const heading = await page.getByRole("dialog").getByRole("heading").textContent();

  expect(heading).toContain(`\u2068${name}\u2069`);
  expect(heading).not.toContain("\u202e");
});

it("follows a provider whose path was changed in another tab, with what was typed", async () => {
  const record = await gateway.addProvider({ slug: "before", name: "Before", baseUrl: "https://moved.example/v1" });
  await using session = await openSignedIn(browser, gateway, "/settings/providers/before?part=settings");
  const { page } = session;
  await page.getByRole("textbox", { name: "Base URL" }).fill("https://typed.example/v1");

  await gateway.api("PATCH", `/providers/${record.id}`, { slug: "after" });
  await page.waitForURL("**/settings/providers/after?part=settings");
  expect(await page.getByRole("textbox", { name: "Base URL" }).inputValue()).toBe("https://typed.example/v1");
  await gateway.api("DELETE", `/providers/${record.id}`);

  await page.getByRole("heading", { name: /after/ }).waitFor();
});

it("shows the frame at once while the gateway is slow to answer", async () => {
  await using session = await openSignedIn(browser, gateway, "/settings/providers");
  const { page } = session;
  const { promise: answer, resolve: letAnswer } = Promise.withResolvers<void>();
  await page.route("**/api/status", async (route) => {
    await answer;
    await route.continue();
  });

  await page.goto("/ui/");
  await page.getByRole("status", { name: "Loading" }).waitFor();
  await page.getByRole("link", { name: "Provider Management" }).waitFor();
  await expectAccessible(page);
  letAnswer();

  await page.getByRole("heading", { name: "Overview", level: 1 }).waitFor();
  expect(await page.getByRole("status", { name: "Loading" }).count()).toBe(0);
});
