import { openAiError, reply, runGateway, type RunningGateway } from "@keywheel/testkit";
import { createServer } from "node:http";
import { once } from "node:events";
import type { AddressInfo } from "node:net";
import type { Browser } from "playwright-core";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { poolOf } from "../pooled-provider.ts";
import { expectAccessible, launchBrowser, openSignedIn, type PageSession } from "./browser.ts";
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
  [gateway, browser] = await Promise.all([runGateway({ flags: ["--require-token"] }), launchBrowser()]);
});
afterAll(async () => {
  await browser.close();
  await gateway[Symbol.asyncDispose]();
});

/** What the browser says of a call that it was told to refuse is no fault of the page. */
function forgiven({ faults }: PageSession, what: RegExp): void {
  for (const fault of faults) expect(fault).toMatch(what);
  (faults as string[]).length = 0;
}

const slowDown = openAiError(429, { message: "Slow down", type: "requests", code: "rate_limit_exceeded" });

describe("an error says what to do", () => {
  it("when the pool is exhausted: counts down, and goes on when a key is back", async () => {
    const settings = { cooldown: { base_ms: 3_000, cap_ms: 3_000 } };
    await using pool = await poolOf(gateway, { settings, faultsAreExpected: true });
    pool.provider.on({ method: "POST" }).next(slowDown, slowDown);
    await using session = await openChat(browser, gateway, pool);
    const { page } = session;

    await say(page, "Hello");
    const answer = await answered(page, 1);
    await answer.getByText("No key can serve now").waitFor();
    await answer.getByText(/The first one is back in 0:0[123]\./).waitFor();
    await expectAccessible(page);
    await answer.getByText("A key is back now.").waitFor();
    await answer.getByRole("button", { name: "Try again" }).click();
    await answers(page).getByText("Hello").waitFor();

    expect(await page.getByRole("log").getByRole("alert").count()).toBe(0);
    expect(questionsTo(pool)).toHaveLength(3);
  });

  it("when no key can serve: leads to the pool", async () => {
    await using pool = await poolOf(gateway, { keys: [] });
    await using session = await openChat(browser, gateway, pool, { language: "ko" });
    const { page } = session;

    await say(page, "안녕하세요");
    await page.getByText("사용할 수 있는 키가 없습니다").waitFor();
    await expectAccessible(page);
    await page.getByRole("link", { name: "API 키 풀로 이동" }).click();

    await page.waitForURL(`**/ui/settings/providers/${pool.record.slug}`);
    expect(questionsTo(pool)).toHaveLength(0);
  });

  it("when the provider is switched off", async () => {
    await using pool = await poolOf(gateway);
    await using session = await openChat(browser, gateway, pool);
    await gateway.api("PATCH", `/providers/${pool.record.id}`, { enabled: false });

    await say(session.page, "Hello");

    await session.page.getByText("This provider is switched off or deleted").waitFor();
    expect(questionsTo(pool)).toHaveLength(0);
  });

  it("when the provider itself refuses, in its own words", async () => {
    await using pool = await poolOf(gateway);
    const tooLong = {
      message: "Your context is too long.",
      type: "invalid_request_error",
      code: "context_length_exceeded",
    };
    pool.provider.on({ method: "POST" }).next(openAiError(400, tooLong));
    await using session = await openChat(browser, gateway, pool);

    await say(session.page, "Hello");
    const answer = await answered(session.page, 1);

    expect(await answer.textContent()).toContain("The provider answered 400");
    expect(await answer.textContent()).toContain("The provider said: “Your context is too long.”");
  });

  it(
    "when it cannot be reached, and when the gateway is gone: then nothing typed is lost",
    { timeout: 60_000 },
    async () => {
      await using own = await runGateway();
      const closed = createServer().listen(0, "127.0.0.1");
      await once(closed, "listening");
      const { port } = closed.address() as AddressInfo;
      closed.close();
      const record = await own.addProvider({
        baseUrl: `http://127.0.0.1:${port}/v1`,
        apiKey: "sk-test-nobody-0123456789",
      });
      await using session = await openSignedIn(browser, own, "/chat");
      const { page } = session;
      await address(page, record.name, "m");

      await say(page, "Hello");
      await page.getByText("The provider cannot be reached").waitFor();
      await own.kill();
      await say(page, "Still there?");
      await page.getByText("The gateway cannot be reached").waitFor();

      await page.getByRole("article").filter({ hasText: "Still there?" }).waitFor();
      expect(await page.getByRole("button", { name: "Try again" }).count()).toBe(1);
    },
  );

  it("when the browser was signed out and nobody signed in in place: the question is still there", async () => {
    await using pool = await poolOf(gateway);
    await using session = await openChat(browser, gateway, pool);
    const { page } = session;
    await say(page, "First");
    await answered(page, 1);
    await page.context().clearCookies();

    await say(page, "Second");
    await page.getByRole("button", { name: "Leave this page" }).click();
    await page.getByLabel("Admin token").fill(gateway.adminToken);
    await page.getByRole("button", { name: "Sign in" }).click();
    await page.getByText("The gateway did not let this page in").waitFor();
    await page.getByRole("button", { name: "Try again" }).click();
    await answers(page).getByText("Second").waitFor();

    expect(questionsTo(pool)).toHaveLength(2);
  });
});

it("shows what a model wrote as text, never as a page: no HTML, no pictures of strangers, no scripts in links", async () => {
  await using pool = await poolOf(gateway);
  const strangers: string[] = [];
  const stranger = createServer((request, response) => {
    strangers.push(request.url ?? "");
    response.end();
  }).listen(0, "127.0.0.1");
  await once(stranger, "listening");
  const { port } = stranger.address() as AddressInfo;
  const evil = [
    `![pixel](http://127.0.0.1:${port}/pixel.png) <img src="http://127.0.0.1:${port}/html.png" onerror="window.pwned=1">`,
    `<script>window.pwned = 1</script> [run](javascript:window.pwned=1) [file](file:///etc/passwd) [here](/api/providers)`,
    "[out](https://example.com/docs)",
    "",
    "| A | B |\n| --- | --- |\n| 1 | 2 |",
    "",
    "```js\nconst answer = 42;\n```",
    "",
    "# A heading\n\n1. one\n2. two",
  ].join("\n");
  pool.provider.on({ method: "POST" }).next(streamed(...evil.split(/(?<= )/)));
  await using session = await openChat(browser, gateway, pool);
  const { page } = session;

  await say(page, "Show me");
  const answer = await answered(page, 1);
  await answer.getByRole("table").waitFor();

  expect(await answer.locator("img, script, iframe").count()).toBe(0);
  const hrefs = await answer.getByRole("link").evaluateAll((links) => links.map((link) => link.getAttribute("href")));
  expect(hrefs).toEqual([`http://127.0.0.1:${port}/pixel.png`, "https://example.com/docs"]);
  const rels = await answer.getByRole("link").evaluateAll((links) => links.map((link) => link.getAttribute("rel")));
  for (const rel of rels) expect(rel).toContain("noopener");
  expect(await page.evaluate("window.pwned")).toBeUndefined();
  expect(await answer.getByRole("listitem").allTextContents()).toEqual(["one", "two"]);
  expect(await answer.getByLabel("js", { exact: true }).textContent()).toBe("const answer = 42;");
  await expectAccessible(page);
  stranger.close();
  expect(strangers).toEqual([]);
});

describe("the way in without a token", () => {
  it("is closed to other pages of this machine, whatever they try, though the browser adds the cookie", async () => {
    await using pool = await poolOf(gateway);
    await using session = await openSignedIn(browser, gateway, "/settings/tokens");
    const { page } = session;
    // On another port of the same host: to the browser the same site, so that the cookie is sent with everything.
    const other = createServer((_, response) => {
      response.setHeader("content-type", "text/html");
      response.end("<!doctype html><title>Another page of this machine</title>");
    }).listen(0, "127.0.0.1");
    await once(other, "listening");
    await page.goto(`http://127.0.0.1:${(other.address() as AddressInfo).port}/`);

    const attempts = await page.evaluate<Record<string, string>>(
      `(async (url) => {
        const body = JSON.stringify({ model: "m", messages: [{ role: "user", content: "stolen" }] });
        const ask = async (path, init) => {
          try {
            const response = await fetch(url + path, { credentials: "include", ...init });
            return response.type + " " + response.status;
          } catch (error) {
            return "failed";
          }
        };
        const page = { "x-keywheel-page": "chat" };
        const post = { method: "POST", body };
        const image = new Promise((resolve) => {
          const element = new Image();
          element.onload = element.onerror = () => resolve("done");
          element.src = url + "/v1/models";
        });
        return {
          asChat: await ask("/v1/chat/completions", { ...post, headers: { ...page, "content-type": "application/json" } }),
          asText: await ask("/v1/chat/completions", { ...post, mode: "no-cors" }),
          list: await ask("/v1/models", { headers: page }),
          opaqueList: await ask("/v1/models", { mode: "no-cors" }),
          image: await image,
        };
      })(${JSON.stringify(pool.baseUrl)})`,
    );
    other.close();

    forgiven(session, /CORS policy/);
    expect(attempts).toMatchObject({ asChat: "failed", list: "failed" });
    expect(pool.provider.requests).toHaveLength(0);
  });

  it("is closed to the cookie alone, and to a WebSocket that carries it", async () => {
    await using pool = await poolOf(gateway);
    await using session = await openSignedIn(browser, gateway, "/settings/tokens");
    const { page } = session;

    const [plain, socket, chat] = await page.evaluate<[number, string, number]>(
      `(async (slug) => {
        const plain = await fetch("/" + slug + "/v1/models");
        const socket = await new Promise((resolve) => {
          const connection = new WebSocket("/" + slug + "/v1/realtime?model=m");
          connection.onopen = () => resolve("open");
          connection.onerror = () => resolve("refused");
        });
        const chat = await fetch("/" + slug + "/v1/models", { headers: { "x-keywheel-page": "chat" } });
        return [plain.status, socket, chat.status];
      })(${JSON.stringify(pool.record.slug)})`,
    );

    forgiven(session, /WebSocket/);
    expect([plain, socket, chat]).toEqual([401, "refused", 200]);
    expect(pool.provider.requests).toHaveLength(1);
    expect(pool.provider.requests[0]?.header("cookie")).toBeUndefined();
  });

  it("is closed once the browser has signed out", async () => {
    await using pool = await poolOf(gateway);
    await using session = await openSignedIn(browser, gateway, "/settings/tokens");
    const { page } = session;
    const [{ name, value } = { name: "", value: "" }] = await page.context().cookies();
    await page.request.post("/api/sign-out", { data: {} });

    const response = await fetch(`${pool.baseUrl}/v1/models`, {
      headers: { cookie: `${name}=${value}`, "x-keywheel-page": "chat" },
    });

    expect(response.status).toBe(401);
  });
});

it.each([
  { language: "en", scheme: "dark", width: 1280 },
  { language: "en", scheme: "light", width: 390 },
  { language: "ko", scheme: "light", width: 1280 },
  { language: "ko", scheme: "dark", width: 390 },
] as const)("is accessible, empty, while an answer comes, and full: $language, $scheme, $width px", async (look) => {
  await using pool = await poolOf(gateway);
  const live = reply.live();
  pool.provider.on({ method: "POST" }).next(live);
  await using session = await openChat(browser, gateway, pool, look);
  const { page } = session;
  await expectAccessible(page);

  await say(page, "A question whose first line is longer than any title may be, so that it is cut");
  await live.started;
  await live.send(chunk("**Coming** with `code`"));
  await answers(page).getByText("Coming").waitFor();
  await expectAccessible(page);
  for (const event of lastChunks) await live.send(event);
  await live.end();
  await answered(page, 1);
  await expectAccessible(page);

  if (look.width === 390) {
    await page.getByRole("button", { name: /^Chats$|^채팅 목록$/ }).click();
    await page.getByRole("dialog").getByRole("listitem").waitFor();
    await expectAccessible(page);
    await page.keyboard.press("Escape");
    await page.getByRole("dialog").waitFor({ state: "detached" });
  }
  expect(await composer(page).inputValue()).toBe("");
});

it("says what a chat needs where there is no provider yet", async () => {
  await using own = await runGateway();
  await using session = await openSignedIn(browser, own, "/chat");

  await session.page.getByText("No provider yet").waitFor();
  await expectAccessible(session.page);
  await session.page.getByRole("link", { name: "Add Provider" }).click();

  await session.page.waitForURL("**/ui/settings/providers");
  await session.page.getByRole("heading", { level: 1, name: "Provider Management" }).waitFor();
  expect(await session.page.getByRole("textbox", { name: "Your message" }).count()).toBe(0);
});
