import { runGateway, type RunningGateway } from "@keywheel/testkit";
import { ChatAnthropic } from "@langchain/anthropic";
import type { BaseChatModel } from "@langchain/core/language_models/chat_models";
import { AIMessage, type BaseMessage, HumanMessage, ToolMessage } from "@langchain/core/messages";
import { ChatOpenAI } from "@langchain/openai";
import { beforeAll, describe, expect, it } from "vitest";
import { poolOf, type PooledProvider } from "../pooled-provider.ts";
import { expectUnnoticed, type FrameworkKind, spentPool, unluckyPool } from "./frameworks.ts";

let gateway: RunningGateway;
beforeAll(async () => {
  gateway = await runGateway();
  return () => gateway[Symbol.asyncDispose]();
});

const apiKey = "sk-client-own";
const maxRetries = 0;

type Model = BaseChatModel<object>;
type MakeModel = (pool: PooledProvider, headers?: Readonly<Record<string, string>>) => Model;

/** LangChain's own packages, with nothing set but the base URL. */
const models: readonly (readonly [string, FrameworkKind, MakeModel])[] = [
  [
    "ChatOpenAI",
    "openai",
    ({ baseUrl }, defaultHeaders = {}) =>
      new ChatOpenAI({
        model: "gpt-test",
        apiKey,
        maxRetries,
        configuration: { baseURL: `${baseUrl}/v1`, defaultHeaders },
      }),
  ],
  [
    "ChatAnthropic",
    "anthropic",
    ({ baseUrl }, defaultHeaders = {}) =>
      new ChatAnthropic({
        model: "claude-test",
        apiKey,
        maxRetries,
        anthropicApiUrl: baseUrl,
        clientOptions: { defaultHeaders },
      }),
  ],
];

describe.each(models)("LangChain: %s", (_, kind, modelOf) => {
  it("does not notice a key that is limited and one that is refused", async () => {
    await using pool = await unluckyPool(gateway, kind);

    const { text } = await modelOf(pool).invoke("Hello wheel");

    expect(text).toContain("Hello wheel");
    await expectUnnoticed(pool);
  });

  it("streams, with such keys as well", async () => {
    await using pool = await unluckyPool(gateway, kind);

    const pieces: string[] = [];
    for await (const { text } of await modelOf(pool).stream("Hello wheel")) pieces.push(text);

    expect(pieces.join("")).toContain("Hello wheel");
    expect(pieces.length).toBeGreaterThan(2);
    await expectUnnoticed(pool);
  });

  it("calls a tool and goes on with what it said, under one key", async () => {
    await using pool = await unluckyPool(gateway, kind);
    const schema = { type: "object", properties: { said: { type: "string" } } };
    const note = { type: "function", function: { name: "note", description: "Writes it down", parameters: schema } };
    const model = modelOf(pool).bindTools?.([note]);
    const messages: BaseMessage[] = [new HumanMessage("Hello wheel")];

    const called = await model?.invoke(messages);
    const [call] = called?.tool_calls ?? [];
    messages.push(
      new AIMessage({ content: called?.content ?? "", tool_calls: called?.tool_calls ?? [] }),
      new ToolMessage({ content: "noted", tool_call_id: call?.id ?? "" }),
    );
    const answer = await model?.invoke(messages);

    expect(call).toMatchObject({ name: "note", args: { said: expect.stringContaining("Hello wheel") as unknown } });
    expect(answer?.text).toContain("You said:");
    await expectUnnoticed(pool);
    expect(pool.provider.picks()).toBe("ABCC");
  });

  it("stays on one key while a conversation goes on, and is told apart from another", async () => {
    await using pool = await poolOf(gateway, { kind, weights: [1, 1, 1] });
    const model = modelOf(pool);

    for (const topic of ["wheels", "keys"]) {
      const messages: BaseMessage[] = [new HumanMessage(`Tell me of ${topic}`)];
      for (const more of ["Go on", "And then?"])
        messages.push(new AIMessage((await model.invoke(messages)).text), new HumanMessage(more));
    }

    expect(pool.provider.picks()).toBe("AABB");
  });

  it("may name the session itself", async () => {
    await using pool = await poolOf(gateway, { kind, weights: [1, 1, 1] });
    const model = modelOf(pool, { "x-keywheel-session": "chat-42" });

    for (const prompt of ["One", "Two"]) await model.invoke(prompt);

    expect(pool.provider.picks()).toBe("AA");
    const { data } = await gateway.api<{ data: unknown[] }>("GET", `/sessions?provider=${pool.record.slug}`);
    expect(data).toMatchObject([{ id: "chat-42", requests: 2 }]);
  });

  it("gets its usual error from a pool that rests", async () => {
    await using pool = await spentPool(gateway, kind);

    const error = await modelOf(pool)
      .invoke("Hello")
      .catch((caught: unknown) => caught);

    expect(error).toMatchObject({ status: 429 });
    expect((error as Error).message).toMatch(/cooling down|rest/i);
  });
});
