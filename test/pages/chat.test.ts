import { openAiError, reply, runGateway, type RunningGateway } from "@keywheel/testkit";
import type { Browser, Page } from "playwright-core";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { eventually, poolOf } from "../pooled-provider.ts";
import { expectAccessible, launchBrowser, openSignedIn } from "./browser.ts";
import {
  address,
  answered,
  answers,
  chunk,
  composer,
  lastChunks,
  openChat,
  questionsTo,
  say,
  streamed,
} from "./chat-bench.ts";

let gateway: RunningGateway;
let browser: Browser;
beforeAll(async () => {
  // Tokens are required: the page must get by without one.
  [gateway, browser] = await Promise.all([runGateway({ flags: ["--require-token"] }), launchBrowser()]);
});
afterAll(async () => {
  await browser.close();
  await gateway[Symbol.asyncDispose]();
});

interface SessionView {
  readonly id: string;
  readonly key_id: string;
}

async function sessions(provider: { readonly id: string }): Promise<readonly SessionView[]> {
  const { data } = await gateway.api<{ data: readonly SessionView[] }>("GET", `/sessions?provider=${provider.id}`);
  return data;
}

function chatIdOf(page: Page): string {
  return new URL(page.url()).pathname.split("/").at(-1) ?? "";
}

async function openMenu(page: Page, title: string): Promise<void> {
  await page
    .getByRole("complementary")
    .getByRole("button", { name: `More for ${title}` })
    .click();
}

it.each(["en", "ko"] as const)(
  "says that chats stay after the sign-out, and deletes all of them: %s",
  async (language) => {
    await using pool = await poolOf(gateway);
    await using session = await openChat(browser, gateway, pool, { language });
    const { page } = session;
    const is = {
      en: { kept: /also after you sign out/, all: "Delete all chats", fresh: "New chat" },
      ko: { kept: /로그아웃해도 남아 있습니다/, all: "모든 채팅 삭제", fresh: "새 채팅" },
    }[language];
    await say(page, "First of all");
    await answered(page, 1);
    await page.getByRole("link", { name: is.fresh }).click();
    await say(page, "Second of all");
    await answered(page, 1);
    await page.getByText(is.kept).waitFor();

    await page.getByRole("button", { name: is.all }).click();
    await page.getByRole("dialog").getByRole("button", { name: is.all }).click();
    await page.waitForURL("**/ui/chat");
    await page.reload();
    await page.getByText(is.kept).waitFor();

    expect(await page.getByText(/(First|Second) of all/).count()).toBe(0);
    expect(await sessions(pool.record)).toEqual([]);
  },
);

describe("a conversation", () => {
  it.each(["openai", "openai-compatible", "anthropic", "gemini", "azure-openai"] as const)(
    "with a provider of the kind %s streams, and shows the key that answered",
    async (kind) => {
      await using pool = await poolOf(gateway, { kind });
      // Of this kind, the scripted provider only tells what came.
      if (kind === "openai-compatible") pool.provider.on({ method: "POST" }).always(streamed("Hi ", "there"));
      await using session = await openSignedIn(browser, gateway, "/chat");
      const { page } = session;
      await address(page, pool.record.name, kind === "gemini" ? "gemini-test" : "test-model");

      await say(page, "Hello there");
      await answered(page, 1);
      expect(await page.getByRole("status").allTextContents()).toContain("The answer is there.");
      await say(page, "And again");
      const answer = await answered(page, 2);

      const calls = questionsTo(pool);
      const [first, second] = calls;
      const key = pool.keys[pool.values.indexOf(first?.key ?? "")];
      expect(second?.key).toBe(first?.key);
      await answer.getByText(key?.label ?? "?", { exact: true }).waitFor();
      const text = JSON.stringify(second?.json());
      for (const said of ["Hello there", "And again"]) expect(text).toContain(said);
      expect(await sessions(pool.record)).toMatchObject([{ id: chatIdOf(page), key_id: key?.id }]);
      for (const { rawHeaders } of calls) {
        expect(rawHeaders.join("\n")).not.toMatch(/keywheel|sec-fetch|^origin$|^cookie$/im);
      }
    },
  );

  it("takes an answer in one piece from a server that does not stream", async () => {
    await using pool = await poolOf(gateway, { kind: "openai-compatible" });
    const message = { role: "assistant", content: "In **one** piece" };
    pool.provider.on({ method: "POST" }).next(reply.json(200, {}, { choices: [{ message, finish_reason: "length" }] }));
    await using session = await openChat(browser, gateway, pool);

    await say(session.page, "Hello");
    const answer = await answered(session.page, 1);

    await answer.getByText("In one piece").waitFor();
    expect(await answer.textContent()).toContain("it reached the length that an answer may have");
  });

  it("offers the models that the provider names, and remembers the choice", async () => {
    await using pool = await poolOf(gateway);
    await using session = await openSignedIn(browser, gateway, "/chat");
    const { page } = session;
    await address(page, pool.record.name, "");
    const field = page.getByRole("combobox", { name: "Model" });

    await composer(page).fill("Hi");
    await composer(page).press("Enter");
    await page.getByText("Choose or type a model.").waitFor();
    expect(await composer(page).inputValue()).toBe("Hi");
    await field.click();
    const offered = await page.getByRole("option").allTextContents();
    await page.getByRole("option", { name: "gpt-test-mini" }).click();
    await composer(page).press("Enter");
    await answered(page, 1);
    await page.getByRole("link", { name: "New chat" }).click();
    await page.getByRole("heading", { name: "New chat" }).waitFor();

    expect(offered).toEqual(["gpt-test", "gpt-test-mini"]);
    expect(await field.inputValue()).toBe("gpt-test-mini");
  });

  it("tells of a key that was passed over on the way", async () => {
    await using pool = await poolOf(gateway, { faultsAreExpected: true });
    const slowDown = openAiError(429, { message: "Slow down", type: "requests", code: "rate_limit_exceeded" });
    pool.provider.on({ method: "POST" }).next(slowDown);
    await using session = await openChat(browser, gateway, pool);

    await say(session.page, "Hello");
    const answer = await answered(session.page, 1);

    const [first, second] = questionsTo(pool).map(({ key }) => pool.keys[pool.values.indexOf(key ?? "")]);
    expect(new Set([first?.label, second?.label])).toEqual(new Set(["A", "B"]));
    await answer.getByText(second?.label ?? "?", { exact: true }).waitFor();
    await answer.getByText("2 attempts").waitFor();
  });

  it("is stopped by Escape: what came stays, and the provider is let go", async () => {
    await using pool = await poolOf(gateway);
    const live = reply.live();
    pool.provider.on({ method: "POST" }).next(live);
    await using session = await openChat(browser, gateway, pool);
    const { page } = session;
    await say(page, "Count");
    const request = await live.started;
    await live.send(chunk("One, two"));
    await answers(page).getByText("One, two").waitFor();

    await page.keyboard.press("Escape");
    await answers(page).getByText("Stopped.").waitFor();
    await request.ended;

    expect(request.state).toBe("aborted");
    await page.reload();
    await answers(page).getByText("One, two").waitFor();
    await answers(page).getByText("Stopped.").waitFor();
  });

  it("that breaks off keeps what came, and is asked for again by one button", async () => {
    await using pool = await poolOf(gateway);
    const live = reply.live();
    pool.provider.on({ method: "POST" }).next(live, streamed("A whole one"));
    await using session = await openChat(browser, gateway, pool);
    const { page } = session;
    await say(page, "Hello");
    await live.started;
    await live.send(chunk("Half an"));
    await answers(page).getByText("Half an").waitFor();
    await live.cut("rst");
    await answers(page).getByText("The answer broke off").waitFor();
    await answers(page).getByText("Half an").waitFor();
    await expectAccessible(page);

    await page.getByRole("button", { name: "Try again" }).click();
    await answers(page).getByText("A whole one").waitFor();

    expect(await answers(page).count()).toBe(1);
    const [, second] = questionsTo(pool);
    expect(second?.json()).toMatchObject({ messages: [{ role: "user", content: "Hello" }] });
  });

  it("survives a reload in the middle: what had arrived is there, and says that it was interrupted", async () => {
    await using pool = await poolOf(gateway);
    const live = reply.live();
    pool.provider.on({ method: "POST" }).next(live);
    await using session = await openChat(browser, gateway, pool);
    const { page } = session;
    await say(page, "Tell me a story");
    await live.started;
    await live.send(chunk("Once upon a time"));
    await answers(page).getByText("Once upon a time").waitFor();
    await composer(page).fill("typed, but not sent");

    await page.reload();

    await answers(page).getByText("Once upon a time").waitFor();
    await answers(page).getByText("Interrupted:").waitFor();
    expect(await composer(page).inputValue()).toBe("typed, but not sent");
  });
});

describe("typing", () => {
  it("sends with Enter, breaks the line with Shift+Enter", async () => {
    await using pool = await poolOf(gateway);
    await using session = await openChat(browser, gateway, pool);
    const { page } = session;

    await composer(page).focus();
    await page.keyboard.type("one");
    await page.keyboard.press("Shift+Enter");
    await page.keyboard.type("two");
    await page.keyboard.press("Enter");
    await answered(page, 1);

    const [call] = questionsTo(pool);
    expect(call?.json()).toMatchObject({ messages: [{ role: "user", content: "one\ntwo" }] });
    expect(await composer(page).inputValue()).toBe("");
    await page.locator("textarea:focus").waitFor();
  });

  // Enter completes the syllable that is being composed; a chat that sends on it cuts Korean off in the middle of a word.
  it("does not send while a Korean syllable is being composed", async () => {
    await using pool = await poolOf(gateway);
    await using session = await openChat(browser, gateway, pool, { language: "ko" });
    const { page } = session;
    await composer(page).focus();
    const keyboard = await page.context().newCDPSession(page);
    const enter = { key: "Enter", code: "Enter", windowsVirtualKeyCode: 229 } as const;

    await keyboard.send("Input.imeSetComposition", { text: "안녕", selectionStart: 2, selectionEnd: 2 });
    await keyboard.send("Input.dispatchKeyEvent", { type: "rawKeyDown", ...enter });
    await keyboard.send("Input.insertText", { text: "안녕" });
    await keyboard.send("Input.dispatchKeyEvent", { type: "keyUp", ...enter });
    expect(await composer(page).inputValue()).toBe("안녕");
    expect(questionsTo(pool)).toHaveLength(0);
    await page.keyboard.press("Enter");
    await answered(page, 1);

    const [call] = questionsTo(pool);
    expect(call?.json()).toMatchObject({ messages: [{ role: "user", content: "안녕" }] });
  });
});

describe("chats", () => {
  it("are named by their first words, renamed, closed, opened again and deleted; the session follows", async () => {
    await using pool = await poolOf(gateway);
    await using session = await openChat(browser, gateway, pool);
    const { page } = session;
    await say(page, "What is a wheel?");
    await answered(page, 1);
    const id = chatIdOf(page);
    const [first] = await sessions(pool.record);
    expect(first?.id).toBe(id);

    await openMenu(page, "What is a wheel?");
    await page.getByRole("menuitem", { name: "Rename" }).click();
    await page.getByRole("dialog").getByLabel("Title").fill("Wheels");
    await page.keyboard.press("Enter");
    await page.getByRole("heading", { level: 2, name: "Wheels" }).waitFor();

    await openMenu(page, "Wheels");
    await page.getByRole("menuitem", { name: "Close" }).click();
    await page.getByText("This chat is closed, and its session has ended.").waitFor();
    expect(await sessions(pool.record)).toEqual([]);
    await expectAccessible(page);

    await page.getByRole("button", { name: "Open again" }).click();
    await say(page, "Another turn");
    await answered(page, 2);
    const [second] = await sessions(pool.record);
    expect(second?.id).toBe(id);
    expect(second?.key_id).not.toBe(first?.key_id);

    await openMenu(page, "Wheels");
    await page.getByRole("menuitem", { name: "Delete" }).click();
    await page.getByRole("dialog", { name: "Delete “Wheels”?" }).getByRole("button", { name: "Delete" }).click();
    await page.getByRole("heading", { name: "New chat" }).waitFor();
    expect(await sessions(pool.record)).toEqual([]);
    expect(await page.getByRole("complementary").getByRole("listitem").count()).toBe(0);

    await page.goto(`/ui/chat/${id}`);
    await page.getByText("This chat is not here").waitFor();
  });

  it("take turns on the wheel: each new one is a new session", async () => {
    await using pool = await poolOf(gateway);
    await using session = await openChat(browser, gateway, pool);
    const { page } = session;

    for (const question of ["One", "Two"]) {
      await page.getByRole("link", { name: "New chat" }).click();
      await page.getByRole("heading", { name: "New chat" }).waitFor();
      await say(page, question);
      await answered(page, 1);
    }

    expect(await sessions(pool.record)).toHaveLength(2);
    expect(new Set(questionsTo(pool).map(({ key }) => key)).size).toBe(2);
  });

  it("go on while another page is looked at", async () => {
    await using pool = await poolOf(gateway);
    const live = reply.live();
    pool.provider.on({ method: "POST" }).next(live);
    await using session = await openChat(browser, gateway, pool);
    const { page } = session;
    await say(page, "Take your time");
    await live.started;
    await live.send(chunk("First "));
    await answers(page).getByText("First").waitFor();

    await page.getByRole("link", { name: "Access Tokens" }).click();
    await page.getByRole("heading", { name: "Access Tokens" }).waitFor();
    await live.send(chunk("second"));
    for (const event of lastChunks) await live.send(event);
    await live.end();
    await page.goBack();

    await answers(page).getByText("First second").waitFor();
    await answered(page, 1);
    expect(await answers(page).getByText("Interrupted").count()).toBe(0);
  });
});

describe("two tabs", () => {
  it("see each other's turns, answer once at a time, and lose nothing", async () => {
    await using pool = await poolOf(gateway);
    const live = reply.live();
    pool.provider.on({ method: "POST" }).next(live);
    await using session = await openChat(browser, gateway, pool);
    const { page } = session;
    await say(page, "From the first tab");
    await live.started;
    await live.send(chunk("Coming"));
    await answers(page).getByText("Coming").waitFor();

    const other = await page.context().newPage();
    await other.goto(page.url());
    await answers(other).getByText("Coming").waitFor();
    await other.getByRole("button", { name: "Stop" }).waitFor();
    await live.send(chunk(" along"));
    await answers(other).getByText("Coming along").waitFor();
    for (const event of lastChunks) await live.send(event);
    await live.end();
    await answered(other, 1);

    await Promise.all([say(page, "One at once"), say(other, "Two at once")]);
    const saidIn = (tab: Page): Promise<string[]> => tab.getByRole("article").allTextContents();
    // One was sent, or both were one after the other; what was not sent is still in its field.
    const kept = async (tab: Page): Promise<string> => composer(tab).inputValue();
    const [here, there, fields] = await eventually(
      async () => [await saidIn(page), await saidIn(other), [await kept(page), await kept(other)].join()] as const,
      ([one, two, left]) =>
        one.length >= 4 &&
        one.join() === two.join() &&
        !one.join().includes("Waiting") &&
        ["One at once", "Two at once"].every((text) => `${one.join()}${left}`.includes(text)),
      { what: "both tabs to show the same, and nothing to be lost" },
    );
    expect(here).toEqual(there);
    for (const text of ["One at once", "Two at once"]) expect(`${here.join()}${fields}`).toContain(text);
  });

  it("stop each other's answers, and take a deletion in good part", async () => {
    await using pool = await poolOf(gateway);
    const live = reply.live();
    pool.provider.on({ method: "POST" }).next(live);
    await using session = await openChat(browser, gateway, pool);
    const { page } = session;
    await say(page, "Go on for ever");
    const request = await live.started;
    await live.send(chunk("On and on"));
    await answers(page).getByText("On and on").waitFor();
    const other = await page.context().newPage();
    await other.goto(page.url());

    await other.getByRole("button", { name: "Stop" }).click();
    await answers(page).getByText("Stopped.").waitFor();
    await request.ended;
    await openMenu(other, "Go on for ever");
    await other.getByRole("menuitem", { name: "Delete" }).click();
    await other.getByRole("dialog").getByRole("button", { name: "Delete" }).click();

    await page.getByText("This chat is not here").waitFor();
    expect(request.state).toBe("aborted");
  });
});
