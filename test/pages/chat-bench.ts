import { type RecordedRequest, reply, type Reply, type RunningGateway, type SseEvent } from "@keywheel/testkit";
import type { Browser, Locator, Page } from "playwright-core";
import type { PooledProvider } from "../pooled-provider.ts";
import { type Look, openSignedIn, type PageSession } from "./browser.ts";

/** A chat page with a new chat for a provider, its model filled in. */
export async function openChat(
  browser: Browser,
  gateway: RunningGateway,
  { record }: Pick<PooledProvider, "record">,
  look: Look = {},
): Promise<PageSession> {
  const session = await openSignedIn(browser, gateway, "/chat", look);
  await address(session.page, record.name, "test-model");
  return session;
}

/** Says to which provider and model a chat talks. */
export async function address(page: Page, provider: string, model: string): Promise<void> {
  const choice = page.getByRole("combobox", { name: /^Provider$|^제공업체$/ });
  await choice.click();
  await page.getByRole("option", { name: provider, exact: true }).click();
  await page.locator("#chat-model").fill(model);
  await page.keyboard.press("Tab");
}

export function composer(page: Page): Locator {
  return page.getByRole("textbox", { name: /^Your message$|^메시지$/ });
}

export async function say(page: Page, text: string): Promise<void> {
  await composer(page).fill(text);
  await composer(page).press("Enter");
}

/** The answers of the chat that is shown, the oldest first. */
export function answers(page: Page): Locator {
  return page
    .getByRole("log")
    .getByRole("article")
    .filter({ hasNotText: /^(You said:|내 메시지:)/ });
}

/** Waits for the n-th answer to have ended. */
export async function answered(page: Page, count: number): Promise<Locator> {
  const answer = answers(page).nth(count - 1);
  await answer.getByRole("button", { name: /^(Answer again|Try again|다시 답변받기|다시 시도)$/ }).waitFor();
  return answer;
}

/** What the provider was asked in conversations; the lists of models aside. */
export function questionsTo({ provider }: Pick<PooledProvider, "provider">): readonly RecordedRequest[] {
  return provider.requests.filter(({ method }) => method === "POST");
}

export function chunk(content: string): SseEvent {
  return { data: { object: "chat.completion.chunk", choices: [{ index: 0, delta: { content } }] } };
}

export const lastChunks: readonly SseEvent[] = [
  { data: { choices: [{ index: 0, delta: {}, finish_reason: "stop" }] } },
  { data: "[DONE]" },
];

export function streamed(...texts: readonly string[]): Reply {
  return reply.sse([...texts.map(chunk), ...lastChunks]);
}
