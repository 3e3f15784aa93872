import { runGateway, type RunningGateway } from "@keywheel/testkit";
import type { Browser, Locator, Page } from "playwright-core";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { eventually, fakeKey, poolOf } from "../pooled-provider.ts";
import { expectAccessible, holdCalls, launchBrowser, openSignedIn } from "./browser.ts";
import { openChat, say, answered } from "./chat-bench.ts";

let gateway: RunningGateway;
let browser: Browser;
beforeAll(async () => {
  [gateway, browser] = await Promise.all([runGateway(), launchBrowser()]);
});
afterAll(async () => {
  await browser.close();
  await gateway[Symbol.asyncDispose]();
});

/** Dialogs fade out, and what is in them can be clicked meanwhile. */
const moving = { motion: true } as const;
const underWay = "This was sent and can no longer be cancelled. Wait for the answer.";

/** Everything by which a dialog is closed, or seems to be. */
async function tryToClose(page: Page, dialog: Locator): Promise<void> {
  await page.keyboard.press("Escape");
  await page.mouse.click(5, 400);
  await dialog.getByRole("button", { name: "Close" }).click();
  await dialog.getByText(underWay).waitFor();
}

/** Clicks a button as fast as a page can be clicked, for as long as it is there. */
async function hammer(button: Locator): Promise<void> {
  await button.evaluate((element: { click: () => void; isConnected: boolean }) => {
    element.click();
    element.click();
    const timer = setInterval(() => (element.isConnected ? element.click() : clearInterval(timer)), 2);
  });
}

function poolPath(slug: string): string {
  return `/settings/providers/${slug}`;
}

describe("a dialog whose call is under way", () => {
  it("cannot be closed as if that took anything back, and sends nothing twice, even while it fades out", async () => {
    await using pool = await poolOf(gateway);
    await using session = await openSignedIn(browser, gateway, poolPath(pool.record.slug), moving);
    const { page } = session;
    const calls = await holdCalls(page, "POST", /\/keys$/);
    await page.getByRole("button", { name: "Add Key" }).click();
    const dialog = page.getByRole("dialog", { name: "Add a key" });
    await dialog.getByLabel("API Key").fill("sk-test-slow-0123456789");

    await hammer(dialog.getByRole("button", { name: "Confirm" }));
    await calls.sent();
    expect(await dialog.getByRole("button", { name: "Cancel" }).isDisabled()).toBe(true);
    await tryToClose(page, dialog);
    await expectAccessible(page);
    calls.answer();
    await dialog.waitFor({ state: "detached" });

    expect(calls.count()).toBe(1);
    expect(await gateway.keys(pool.record)).toHaveLength(3);
    expect(await page.getByRole("dialog").count()).toBe(0);
  });

  it("leaves the next dialog alone, which holds nothing of it", async () => {
    await using pool = await poolOf(gateway);
    await using session = await openSignedIn(browser, gateway, poolPath(pool.record.slug), moving);
    const { page } = session;
    await page.getByRole("button", { name: "Edit A" }).click();
    const dialog = page.getByRole("dialog");
    await dialog.getByLabel("Label").waitFor();
    await page.evaluate(`
      [...document.querySelectorAll("[role=dialog] button")].find((button) => button.textContent === "Cancel").click();
      setTimeout(() => document.querySelector('[aria-label="Edit B"]').click(), 30);
    `);
    await page.getByRole("dialog", { name: "Edit B" }).waitFor();

    expect(await dialog.getByLabel("Label").inputValue()).toBe("B");
  });

  it("says in itself that a confirmed deed failed", async () => {
    await using pool = await poolOf(gateway);
    await using session = await openSignedIn(browser, gateway, poolPath(pool.record.slug), moving);
    const { page } = session;
    const calls = await holdCalls(page, "DELETE", /\/api\/keys\//);
    await page.getByRole("button", { name: "Delete A" }).click();
    const dialog = page.getByRole("dialog", { name: "Delete A?" });

    await dialog.getByRole("button", { name: "Delete" }).click();
    await calls.sent();
    await tryToClose(page, dialog);
    calls.answer(503);
    await dialog.getByRole("alert").waitFor();
    await dialog.getByRole("button", { name: "Cancel" }).click();
    await dialog.waitFor({ state: "detached" });

    expect(await gateway.keys(pool.record)).toHaveLength(2);
  });

  it("says at the edge of the page that it failed, where its page was left", async () => {
    await using pool = await poolOf(gateway);
    await using session = await openSignedIn(browser, gateway, "/settings/providers", moving);
    const { page } = session;
    await page.getByRole("link", { name: pool.record.name, exact: true }).click();
    const calls = await holdCalls(page, "DELETE", /\/api\/keys\//);
    await page.getByRole("button", { name: "Delete A" }).click();
    await page.getByRole("dialog").getByRole("button", { name: "Delete" }).click();
    await calls.sent();

    await page.goBack();
    await page.getByRole("heading", { name: "Provider Management" }).waitFor();
    calls.answer(503);

    await page.getByRole("alert").filter({ hasText: "Failed: Delete A?" }).waitFor();
    expect(await gateway.keys(pool.record)).toHaveLength(2);
  });

  it("leads to the other providers from the page of one that is deleted, and nobody who has gone on", async () => {
    await using pool = await poolOf(gateway);
    await using other = await poolOf(gateway);
    await using session = await openSignedIn(browser, gateway, "/settings/providers", moving);
    const { page } = session;
    const calls = await holdCalls(page, "DELETE", /\/api\/providers\//);
    await page.getByRole("link", { name: pool.record.name, exact: true }).click();
    await page.getByRole("tab").last().click();
    await confirmDeletion(page);
    await calls.sent();
    await page.goBack();
    await page.getByRole("link", { name: "Usage" }).click();
    await page.getByRole("heading", { name: "Usage" }).waitFor();
    calls.answer();
    await page.getByText(`${pool.record.name} was deleted`).waitFor();
    expect(new URL(page.url()).pathname).toBe("/ui/usage");

    await page.goto(`/ui${poolPath(other.record.slug)}?part=settings`);
    await confirmDeletion(page);
    await page.waitForURL("**/ui/settings/providers");
  });

  async function confirmDeletion(page: Page): Promise<void> {
    await page.getByRole("button", { name: "Delete the provider" }).click();
    await page.getByRole("dialog").getByRole("button", { name: "Delete" }).click();
  }

  it("keeps its words while it fades out, and ends a session once", async () => {
    await using pool = await poolOf(gateway);
    await (await pool.send({ session: "slow-end" })).arrayBuffer();
    await using session = await openSignedIn(browser, gateway, `/sessions?provider=${pool.record.slug}`, moving);
    const { page } = session;
    const calls = await holdCalls(page, "DELETE", /\/api\/sessions\//);
    await page.getByRole("button", { name: "End session slow-end" }).click();
    const dialog = page.getByRole("dialog", { name: "End the session slow-end?" });
    const titles = page.evaluate<string[]>(`new Promise((resolve) => {
      const seen = new Set();
      const look = () => {
        const title = document.querySelector("[role=dialog] h2");
        if (title) seen.add(title.textContent);
        if (!title && seen.size > 0) resolve([...seen]);
        else requestAnimationFrame(look);
      };
      look();
    })`);

    await hammer(dialog.getByRole("button", { name: "End session" }));
    await calls.sent();
    await tryToClose(page, dialog);
    calls.answer();
    await dialog.waitFor({ state: "detached" });

    expect(await titles).toEqual(["End the session slow-end?"]);
    expect(calls.count()).toBe(1);
  });
});

it("keeps the focus within, by keyboard, while its call is under way and after it failed", async () => {
  await using pool = await poolOf(gateway);
  await using session = await openSignedIn(browser, gateway, poolPath(pool.record.slug), moving);
  const { page } = session;
  const calls = await holdCalls(page, "DELETE", /\/api\/keys\//);
  await page.getByRole("button", { name: "Delete A" }).click();
  const dialog = page.getByRole("dialog", { name: "Delete A?" });
  const confirm = dialog.getByRole("button", { name: "Delete" });
  await confirm.focus();
  await page.keyboard.press("Enter");
  await calls.sent();

  const places: boolean[] = [];
  for (const key of ["Tab", "Tab", "Tab", "Shift+Tab"]) {
    await page.keyboard.press(key);
    places.push(await page.evaluate<boolean>("document.activeElement.closest('[role=dialog]') !== null"));
  }
  calls.answer(503);
  await dialog.getByRole("alert").waitFor();

  expect(places).toEqual([true, true, true, true]);
  await confirm.focus();
  await page.keyboard.press("Enter");
  await eventually(
    () => Promise.resolve(calls.count()),
    (count) => count === 2,
    { what: "the second call" },
  );
  await eventually(
    () => page.evaluate<string>("document.activeElement.textContent"),
    (focused) => focused === "Delete",
    { what: "the focus to be back on the button" },
  );
});

describe("an import", () => {
  it("is sent once, though Confirm is clicked twice with no time between", async () => {
    await using pool = await poolOf(gateway, { keys: [] });
    await using session = await openSignedIn(browser, gateway, poolPath(pool.record.slug), moving);
    const { page } = session;
    await page.getByRole("button", { name: "Import keys" }).click();
    const dialog = page.getByRole("dialog");
    await dialog.getByRole("textbox").fill(Array.from({ length: 300 }, (_, at) => fakeKey(850, at)).join("\n"));
    await dialog.getByRole("button", { name: "Check the list" }).click();
    await dialog.getByText("300 keys will be added").waitFor();
    const calls = await holdCalls(page, "POST", /\/import$/);

    await hammer(dialog.getByRole("button", { name: "Confirm" }));
    await calls.sent();
    await tryToClose(page, dialog);
    expect(await dialog.getByRole("button", { name: "Change the list" }).isDisabled()).toBe(true);
    calls.answer();
    await dialog.waitFor({ state: "detached" });

    await page.getByText("300 keys added").waitFor();
    expect(calls.count()).toBe(1);
  });
});

describe("a token that is shown once", () => {
  it("is shown, whatever was pressed while it was made", async () => {
    await using session = await openSignedIn(browser, gateway, "/settings/tokens", moving);
    const { page } = session;
    const calls = await holdCalls(page, "POST", /\/api\/tokens$/);
    await page.getByRole("button", { name: "Create token" }).click();
    const dialog = page.getByRole("dialog").first();
    await dialog.getByLabel("Name").fill("Slow");

    await page.keyboard.press("Enter");
    await calls.sent();
    await page.keyboard.press("Escape");
    await dialog.getByText(underWay).waitFor();
    expect(await page.getByRole("dialog", { name: "Close this?" }).count()).toBe(0);
    calls.answer();

    const shown = await dialog.getByRole("textbox", { name: "Token", exact: true }).inputValue();
    expect(shown).toMatch(/^\S{20,}$/);
    await expectAccessible(page);
  });

  it("is told of where its page was left before it could be shown", async () => {
    await using session = await openSignedIn(browser, gateway, "/", moving);
    const { page } = session;
    await page.getByRole("link", { name: "Access Tokens" }).click();
    const calls = await holdCalls(page, "POST", /\/api\/tokens$/);
    await page.getByRole("button", { name: "Create token" }).first().click();
    await page.getByRole("dialog").first().getByLabel("Name").fill("Missed");
    await page.keyboard.press("Enter");
    await calls.sent();

    await page.goBack();
    await page.getByRole("heading", { name: "Overview" }).waitFor();
    calls.answer();

    const told = page.getByRole("alert").filter({ hasText: "Missed was created, but never shown" });
    await told.waitFor();
    expect(await told.getByText("Revoke it, and create another.").count()).toBe(1);
  });
});

describe("adding a provider", () => {
  it("leads nobody away who has gone on to another page", async () => {
    await using session = await openSignedIn(browser, gateway, "/usage", moving);
    const { page } = session;
    await page.getByRole("link", { name: "Provider Management" }).click();
    const calls = await holdCalls(page, "POST", /\/api\/providers$/);
    await addGroq(page);
    const dialog = page.getByRole("dialog").first();
    await dialog.getByRole("button", { name: "Confirm" }).click();
    await calls.sent();
    await page.keyboard.press("Escape");
    await dialog.getByText(underWay).waitFor();

    await page.goBack();
    await page.getByRole("heading", { name: "Usage" }).waitFor();
    calls.answer();
    await page
      .getByText(/Groq.* was added|added/)
      .first()
      .waitFor();
    // What must not happen has no event to wait for.
    await page.waitForTimeout(300);

    expect(new URL(page.url()).pathname).toBe("/ui/usage");
  });

  it("keeps what was typed while another provider is looked for", async () => {
    await using pool = await poolOf(gateway);
    await using session = await openSignedIn(browser, gateway, "/settings/providers", moving);
    const { page } = session;
    await addGroq(page);
    const dialog = page.getByRole("dialog").first();
    await dialog.getByLabel("Name").fill("My own name");
    await dialog.getByLabel("Base URL").fill("https://typed.example/v1");

    await dialog.getByRole("button", { name: "Back to the list" }).click();
    await page.keyboard.press("Escape");
    await page.getByRole("dialog", { name: "Close this?" }).getByRole("button", { name: "Go back" }).last().click();
    await dialog.getByRole("button", { name: /Groq/ }).click();

    expect(await dialog.getByLabel("Name").inputValue()).toBe("My own name");
    expect(await dialog.getByLabel("Base URL").inputValue()).toBe("https://typed.example/v1");
    expect(pool.record.slug).not.toBe("groq");
  });

  async function addGroq(page: Page): Promise<void> {
    await page
      .getByRole("button", { name: "Add Provider" })
      .or(page.getByRole("button", { name: /Groq/ }))
      .first()
      .click();
    const preset = page.getByRole("dialog").getByRole("button", { name: /Groq/ });
    const name = page.getByRole("dialog").getByLabel("Name");
    await preset.or(name).first().waitFor();
    if (await preset.isVisible()) await preset.click();
    await name.waitFor();
  }
});

it("leaves whoever reads another chat there, when a chat has been deleted", async () => {
  await using pool = await poolOf(gateway);
  await using session = await openChat(browser, gateway, pool, moving);
  const { page } = session;
  await say(page, "First");
  await answered(page, 1);
  const first = new URL(page.url()).pathname;
  await page.getByRole("link", { name: "New chat" }).click();
  await say(page, "Second");
  await answered(page, 1);
  const second = new URL(page.url()).pathname;
  await page.getByRole("complementary").getByRole("link", { name: "First" }).click();
  await page.waitForURL(`**${first}`);
  await page.getByRole("complementary").getByRole("link", { name: "Second" }).click();
  await page.waitForURL(`**${second}`);
  const calls = await holdCalls(page, "DELETE", /\/api\/sessions\//);
  await page.getByRole("complementary").getByRole("button", { name: "More for Second" }).click();
  await page.getByRole("menuitem", { name: "Delete" }).click();
  const dialog = page.getByRole("dialog", { name: "Delete “Second”?" });
  await dialog.getByRole("button", { name: "Delete" }).click();
  await calls.sent();

  await page.goBack();
  await page.waitForURL(`**${first}`);
  calls.answer();
  await dialog.waitFor({ state: "detached" });

  expect(new URL(page.url()).pathname).toBe(first);
});

describe("selected keys", () => {
  it("are told of where the filter hides them, before they are deleted", async () => {
    await using pool = await poolOf(gateway, {
      keys: ["One", "Two", "Three", "Four", "Five", "Six", "Seven"].map((label, at) => ({
        api_key: fakeKey(860, at),
        label: `Number ${label}`,
      })),
    });
    await using session = await openSignedIn(browser, gateway, poolPath(pool.record.slug), moving);
    const { page } = session;
    await page.getByRole("checkbox", { name: "Select all 7 keys shown" }).click();

    await page.getByRole("searchbox", { name: "Search keys" }).fill("Number Three");
    const bar = page.getByRole("region", { name: "What to do with the selected keys" });
    await bar.getByText("7 selected · 6 hidden by the filter").waitFor();
    await bar.getByRole("button", { name: "Delete" }).click();
    const dialog = page.getByRole("dialog", { name: "Delete 7 keys?" });
    await dialog.getByText("6 of them are hidden by the filter.").waitFor();
    await expectAccessible(page);
    await page.keyboard.press("Escape");
    await dialog.waitFor({ state: "detached" });

    expect(await bar.getByText("7 selected").count()).toBe(1);
    expect(await gateway.keys(pool.record)).toHaveLength(7);
  });

  it("stay selected when what was asked for others is answered", async () => {
    await using pool = await poolOf(gateway);
    await using session = await openSignedIn(browser, gateway, poolPath(pool.record.slug), moving);
    const { page } = session;
    const calls = await holdCalls(page, "POST", /\/bulk$/);
    const [first, second] = [
      page.getByLabel("Select A", { exact: true }),
      page.getByLabel("Select B", { exact: true }),
    ];
    await first.click();
    await page.getByRole("region").getByRole("button", { name: "Disable" }).click();
    await calls.sent();

    await second.click();
    calls.answer();
    await eventually(
      () => first.isChecked(),
      (isChecked) => !isChecked,
      { what: "the first to be let go" },
    );

    expect(await second.isChecked()).toBe(true);
  });
});
