import { openAiError, runGateway, type RunningGateway } from "@keywheel/testkit";
import type { Browser } from "playwright-core";
import { afterAll, beforeAll, expect, it } from "vitest";
import { eventually, poolOf } from "../pooled-provider.ts";
import { expectAccessible, launchBrowser, openSignedIn } from "./browser.ts";

interface Provider {
  readonly id: string;
  readonly slug: string;
  readonly name: string;
  readonly enabled: boolean;
  readonly base_url: string;
  readonly api_key: string | null;
  readonly settings: { readonly cooldown: { readonly base_ms: number; readonly cap_ms: number } };
}

let gateway: RunningGateway;
let browser: Browser;
beforeAll(async () => {
  [gateway, browser] = await Promise.all([runGateway(), launchBrowser()]);
});
afterAll(async () => {
  await browser.close();
  await gateway[Symbol.asyncDispose]();
});

const provider = (slug: string): Promise<Provider> => gateway.api("GET", `/providers/${slug}`);

it("leads from nothing to the first provider, and from there to its first key", async () => {
  await using fresh = await runGateway();
  await using session = await openSignedIn(browser, fresh, "/settings/providers");
  const { page } = session;

  await page.getByText("No provider yet").waitFor();
  await expectAccessible(page);
  await page.getByLabel("Search known providers").fill("anthro");
  await page.getByRole("button", { name: /^Anthropic/ }).click();
  await page.getByRole("dialog").getByRole("button", { name: "Confirm" }).click();
  await page.getByRole("heading", { name: "Anthropic", level: 1 }).waitFor();
  await page.getByText("No keys yet").waitFor();
  await page.getByRole("button", { name: "Add Key" }).click();
  await page.getByRole("dialog").getByLabel("API Key").fill("sk-ant-test-0123456789");
  await page.getByRole("dialog").getByRole("button", { name: "Confirm" }).click();
  await page.getByRole("heading", { name: "Send your first request" }).waitFor();

  expect(await page.getByLabel("curl", { exact: true }).innerText()).toContain(
    `curl ${fresh.url}/anthropic/v1/messages`,
  );
});

it("adds an address that is in no list, and says beside the field what cannot be taken", async () => {
  await gateway.addProvider({ slug: "taken", baseUrl: "https://taken.example/v1" });
  await using session = await openSignedIn(browser, gateway, "/settings/providers");
  const { page } = session;
  await page.getByRole("button", { name: "Add Provider" }).click();
  const dialog = page.getByRole("dialog");
  await dialog.getByRole("button", { name: /^Any other address/ }).click();

  await dialog.getByLabel("Name").fill("My proxy");
  await dialog.getByLabel("Base URL").fill("ftp://proxy.example");
  await dialog.getByLabel("Path").fill("taken");
  await dialog.getByRole("button", { name: "Confirm" }).click();
  await dialog.getByText("Enter an address that begins with http:// or https://.").waitFor();
  await dialog.getByText("Another provider has this path").waitFor();
  await expectAccessible(page);
  await dialog.getByLabel("Base URL").fill("https://proxy.example/v1");
  await dialog.getByLabel("Path").fill("my-proxy");
  await dialog.getByRole("button", { name: "Confirm" }).click();
  await page.getByRole("heading", { name: "My proxy", level: 1 }).waitFor();

  expect(await provider("my-proxy")).toMatchObject({ name: "My proxy", base_url: "https://proxy.example/v1" });
});

it("says in Korean what the gateway refuses, before keys are asked about", async () => {
  const record = await gateway.addProvider({ slug: "refusing", baseUrl: "https://refusing.example/v1" });
  await gateway.addKeys(record, ["sk-test-refusing-0123456789"]);
  const look = { language: "ko" } as const;
  await using session = await openSignedIn(browser, gateway, "/settings/providers/refusing?part=settings", look);
  const { page } = session;
  const save = page.getByRole("button", { name: "저장", exact: true }).first();

  await page.getByLabel("기본 URL").fill("http://user:pw@refusing.example/v1");
  await save.click();
  await page.getByText("URL에 인증 정보가 들어 있습니다.").waitFor();
  await page.getByLabel("기본 URL").fill("https://refusing.example/v1/chat/completions");
  await save.click();
  await page.getByText("특정 엔드포인트의 주소입니다.").waitFor();
  await page.getByLabel("기본 URL").fill("https://refusing.example/v1");
  await page.getByLabel("경로").fill("api");
  await save.click();
  await page.getByText("게이트웨이가 사용하는 경로입니다.").waitFor();

  expect(await provider("refusing")).toMatchObject({ slug: "refusing", base_url: "https://refusing.example/v1" });
});

it("switches a provider off from the list, and shows what others do there", async () => {
  const { id } = await gateway.addProvider({ slug: "switched", name: "Switched", baseUrl: "https://a.example/v1" });
  await using session = await openSignedIn(browser, gateway, "/settings/providers");
  const { page } = session;

  await page.getByRole("switch", { name: "Enabled: Switched" }).click({ force: true });
  await page.getByText("Requests to it are refused.").waitFor();
  expect(await provider("switched")).toMatchObject({ enabled: false });
  await gateway.api("PATCH", `/providers/${id}`, { name: "Renamed elsewhere" });

  await page.getByRole("link", { name: "Renamed elsewhere" }).waitFor();
});

it("shows when a cooldown is over, without anything happening", async () => {
  const settings = { cooldown: { base_ms: 2_000, cap_ms: 2_000 } };
  await using pool = await poolOf(gateway, { weights: [1, 1], faultsAreExpected: true, settings });
  const limit = { message: "Rate limit reached", type: "requests", code: "rate_limit_exceeded" };
  pool.provider.on({ key: pool.valueOf("A") }).always(openAiError(429, limit));
  await using session = await openSignedIn(browser, gateway, "/settings/providers");
  const row = session.page.getByRole("listitem").filter({ hasText: `/${pool.record.slug}` });
  await row.getByText("2 of 2 keys available").waitFor();

  await (await pool.send()).arrayBuffer();
  await row.getByText("1 of 2 keys available").waitFor();
  await row.getByText("2 of 2 keys available").waitFor();

  expect((await pool.key("A")).status).toBe("available");
});

it("changes the connection, and asks before stored keys go to another host", async () => {
  const record = await gateway.addProvider({ slug: "moving", baseUrl: "https://old.example/v1" });
  await gateway.addKeys(record, ["sk-test-moving-0123456789"]);
  await using session = await openSignedIn(browser, gateway, "/settings/providers/moving?part=settings");
  const { page } = session;

  await page.getByLabel("Base URL").fill("https://new.example/api");
  await page.getByText("https://new.example/api/v1/chat/completions").waitFor();
  await page.getByLabel("Provider-level API key").fill("sk-test-own-0123456789");
  await page.getByRole("button", { name: "Save" }).first().click();
  await page.getByText("Go on only if you trust it with them.").waitFor();
  expect(await provider("moving")).toMatchObject({ base_url: "https://old.example/v1" });
  await page.getByRole("button", { name: "Change the host" }).click();
  await page.getByText("Saved", { exact: true }).first().waitFor();

  const saved = await provider("moving");
  expect(saved.base_url).toBe("https://new.example/api");
  expect(saved.api_key).toContain("…");
});

it("saves what was changed in a form, and leaves alone what others changed meanwhile", async () => {
  const record = await gateway.addProvider({ slug: "shared", baseUrl: "https://first.example/v1" });
  await gateway.api("PATCH", `/providers/${record.id}`, { settings: { max_body_bytes: 1_000_000 } });
  await using session = await openSignedIn(browser, gateway, "/settings/providers/shared?part=settings");
  const { page } = session;
  await page.getByLabel("Base URL").waitFor();

  await gateway.api("PATCH", `/providers/${record.id}`, { base_url: "https://second.example/v1" });
  await gateway.api("PATCH", `/providers/${record.id}`, { settings: { cooldown: { cap_ms: 700_000 } } });
  await page.getByLabel("Name").fill("Shared by two");
  await page.getByRole("button", { name: "Save" }).first().click();
  await eventually(
    () => provider("shared"),
    ({ name }) => name === "Shared by two",
    { what: "the name" },
  );
  await page.getByLabel("After the first failure").fill("61");
  await page.getByRole("button", { name: "Save" }).nth(1).click();
  const saved = await eventually(
    () => provider("shared"),
    ({ settings }) => settings.cooldown.base_ms === 61_000,
    { what: "the first cooldown" },
  );

  expect(saved).toMatchObject({
    base_url: "https://second.example/v1",
    settings: { cooldown: { cap_ms: 700_000 }, max_body_bytes: 1_000_000 },
  });
});

it("changes the cooldown, and brings its default back for an empty field", async () => {
  await gateway.addProvider({ slug: "advanced", baseUrl: "https://advanced.example/v1" });
  await using session = await openSignedIn(browser, gateway, "/settings/providers/advanced?part=settings");
  const { page } = session;
  const [base, cap] = [page.getByLabel("After the first failure"), page.getByLabel("At most")];
  const save = page.getByRole("button", { name: "Save" }).nth(1);

  await base.fill("30");
  await cap.fill("10");
  await save.click();
  await page.getByText("Enter 30 to 86400.").waitFor();
  await cap.fill("600");
  await save.click();
  await eventually(
    () => provider("advanced"),
    ({ settings }) => settings.cooldown.cap_ms === 600_000,
    { what: "the cap" },
  );
  await base.fill("");
  await save.click();

  const { settings } = await eventually(
    () => provider("advanced"),
    (now) => now.settings.cooldown.base_ms !== 30_000,
    {
      what: "the default",
    },
  );
  expect(settings.cooldown).toMatchObject({ base_ms: 60_000, cap_ms: 600_000 });
});

it("deletes a provider once its name was read and confirmed", async () => {
  await gateway.addProvider({ slug: "doomed", name: "Doomed", baseUrl: "https://doomed.example/v1" });
  await using session = await openSignedIn(browser, gateway, "/settings/providers/doomed?part=settings");
  const { page } = session;

  await page.getByRole("button", { name: "Delete the provider" }).click();
  await page.getByRole("dialog", { name: "Delete Doomed?" }).getByRole("button", { name: "Delete" }).click();
  await page.getByRole("heading", { name: "Provider Management", level: 1 }).waitFor();

  expect((await gateway.apiResponse("GET", "/providers/doomed")).status).toBe(404);
});

it("says so where there is no such provider, and no such page", async () => {
  await using session = await openSignedIn(browser, gateway, "/settings/providers/nowhere");
  await session.page.getByRole("heading", { name: "There is no provider “nowhere”" }).waitFor();

  await session.page.goto("/ui/no/such/page");
  await session.page.getByText("There is no such page").waitFor();

  expect(await session.page.getByRole("link", { name: "To Provider Management" }).count()).toBe(1);
});

it.each([
  { language: "en", scheme: "dark", width: 390 },
  { language: "ko", scheme: "light", width: 1280 },
] as const)("is accessible: $language, $scheme, $width px", async (look) => {
  await gateway.addProvider({ slug: `shown-in-${look.language}`, baseUrl: "https://shown.example/v1" });
  await using session = await openSignedIn(browser, gateway, "/settings/providers", look);
  await session.page.getByRole("listitem").first().waitFor();

  await expectAccessible(session.page);
});

it("keeps the parts of a provider in one line on a narrow page, and its snippets free of the button", async () => {
  await gateway.addProvider({ slug: "narrow", baseUrl: "https://narrow.example/v1" });
  const look = { width: 390 } as const;
  await using session = await openSignedIn(browser, gateway, "/settings/providers/narrow?part=connect", look);
  const { page } = session;
  const parts = page.getByRole("tablist", { name: "Parts of this provider" }).getByRole("tab");
  await page
    .getByRole("button", { name: /^Copy: / })
    .nth(1)
    .waitFor();

  const boxes = await Promise.all((await parts.all()).map((part) => part.boundingBox()));
  const tops = boxes.map((box) => box?.y);

  expect(new Set(tops).size).toBe(1);
  await expectAccessible(page);
});

it("cuts a long base URL in the list and on its page, and tells it whole to whoever points at it", async () => {
  const long = `https://long.example/${"path/".repeat(70)}v1`;
  await gateway.addProvider({ kind: "openai", slug: "long-address", baseUrl: long });
  await using session = await openSignedIn(browser, gateway, "/settings/providers", { width: 390 });
  const { page } = session;
  const heightOf = (what: string): Promise<number> =>
    eventually(
      async () => (await page.getByTitle(long).boundingBox())?.height ?? 0,
      (height) => height > 0,
      { what },
    );

  expect(await heightOf("the address in the list")).toBeLessThan(50);
  await page.getByRole("link", { name: "long-address" }).click();
  await page.getByRole("heading", { level: 1, name: "long-address" }).waitFor();
  expect(await heightOf("the address on the page")).toBeLessThan(90);
  await expectAccessible(page);
});
