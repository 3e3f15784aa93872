import { createAnthropic } from "@ai-sdk/anthropic";
import { createGoogle } from "@ai-sdk/google";
import { createOpenAI } from "@ai-sdk/openai";
import { runGateway, type RunningGateway } from "@keywheel/testkit";
import {
  APICallError,
  generateText,
  jsonSchema,
  type LanguageModel,
  type ModelMessage,
  stepCountIs,
  streamText,
  tool,
} from "ai";
import { beforeAll, describe, expect, it } from "vitest";
import { poolOf, type PooledProvider } from "../pooled-provider.ts";
import { expectUnnoticed, type FrameworkKind, spentPool, unluckyPool } from "./frameworks.ts";

// It warns of models that it does not know, as those of the scripted provider.
globalThis.AI_SDK_LOG_WARNINGS = false;

let gateway: RunningGateway;
beforeAll(async () => {
  gateway = await runGateway();
  return () => gateway[Symbol.asyncDispose]();
});

const apiKey = "sk-client-own";

/** The SDK's own packages, with nothing set but the base URL. */
const models: readonly (readonly [string, FrameworkKind, (pool: PooledProvider) => LanguageModel])[] = [
  ["openai, chat", "openai", ({ baseUrl }) => createOpenAI({ apiKey, baseURL: `${baseUrl}/v1` }).chat("gpt-test")],
  ["openai, responses", "openai", ({ baseUrl }) => createOpenAI({ apiKey, baseURL: `${baseUrl}/v1` })("gpt-test")],
  ["anthropic", "anthropic", ({ baseUrl }) => createAnthropic({ apiKey, baseURL: `${baseUrl}/v1` })("claude-test")],
  ["google", "gemini", ({ baseUrl }) => createGoogle({ apiKey, baseURL: `${baseUrl}/v1beta` })("gemini-test")],
];
const withTools = models.filter(([name]) => name !== "openai, responses");

describe.each(models)("the Vercel AI SDK: %s", (_, kind, modelOf) => {
  it("does not notice a key that is limited and one that is refused", async () => {
    await using pool = await unluckyPool(gateway, kind);

    const { text } = await generateText({ model: modelOf(pool), prompt: "Hello wheel", maxRetries: 0 });

    expect(text).toContain("Hello wheel");
    await expectUnnoticed(pool);
  });

  it("streams, with such keys as well", async () => {
    await using pool = await unluckyPool(gateway, kind);

    const result = streamText({ model: modelOf(pool), prompt: "Hello wheel", maxRetries: 0 });
    let text = "";
    for await (const piece of result.textStream) text += piece;

    expect(text).toContain("Hello wheel");
    expect(await result.finishReason).toBe("stop");
    await expectUnnoticed(pool);
  });

  it("stays on one key while a conversation goes on, and is told apart from another", async () => {
    await using pool = await poolOf(gateway, { kind, weights: [1, 1, 1] });
    const model = modelOf(pool);

    for (const topic of ["wheels", "keys"]) {
      const messages: ModelMessage[] = [{ role: "user", content: `Tell me of ${topic}` }];
      for (const more of ["Go on", "And then?"]) {
        const { text } = await generateText({ model, messages, maxRetries: 0 });
        messages.push({ role: "assistant", content: text }, { role: "user", content: more });
      }
    }

    expect(pool.provider.picks()).toBe("AABB");
  });

  it("may name the session itself", async () => {
    await using pool = await poolOf(gateway, { kind, weights: [1, 1, 1] });
    const headers = { "x-keywheel-session": "chat-42" };

    const seen: (string | undefined)[] = [];
    for (const prompt of ["One", "Two"]) {
      const { finalStep } = await generateText({ model: modelOf(pool), prompt, headers, maxRetries: 0 });
      seen.push(finalStep.response.headers?.["x-keywheel-session"]);
    }

    expect([seen, pool.provider.picks()]).toEqual([["chat-42", "chat-42"], "AA"]);
  });

  it("gets its usual error, worth another try, from a pool that rests", async () => {
    await using pool = await spentPool(gateway, kind);

    const error = await generateText({ model: modelOf(pool), prompt: "Hello", maxRetries: 0 }).catch(
      (caught: unknown) => caught,
    );

    expect(APICallError.isInstance(error)).toBe(true);
    expect(error).toMatchObject({ statusCode: 429, isRetryable: true });
    expect((error as APICallError).responseHeaders).toMatchObject({ "x-keywheel-error": "pool_exhausted" });
    expect(Number((error as APICallError).responseHeaders?.["retry-after"])).toBeGreaterThan(0);
    expect((error as APICallError).message).toMatch(/cooling down|rest/i);
  });
});

describe.each(withTools)("the Vercel AI SDK with tools: %s", (_, kind, modelOf) => {
  it("calls a tool and goes on with what it said, streamed, under one key", async () => {
    await using pool = await unluckyPool(gateway, kind);
    const noted: unknown[] = [];
    const note = tool({
      description: "Writes something down",
      inputSchema: jsonSchema<{ said: string }>({ type: "object", properties: { said: { type: "string" } } }),
      execute: async (input) => {
        noted.push(input);
        return "noted";
      },
    });

    const result = streamText({
      model: modelOf(pool),
      prompt: "Hello wheel",
      tools: { note },
      stopWhen: stepCountIs(2),
      maxRetries: 0,
    });
    const text = await result.text;

    expect(noted).toMatchObject([{ said: expect.stringContaining("Hello wheel") as unknown }]);
    expect(text).toContain("You said:");
    await expectUnnoticed(pool);
    expect(pool.provider.picks()).toBe("ABCC");
  });
});
