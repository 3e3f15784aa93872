import { ApiError, GoogleGenAI } from "@google/genai";
import { geminiError, reply, runGateway, type RunningGateway } from "@keywheel/testkit";
import { beforeAll, describe, expect, it } from "vitest";
import { poolOf, type PooledProvider } from "../pooled-provider.ts";

let gateway: RunningGateway;
beforeAll(async () => {
  gateway = await runGateway();
  return () => gateway[Symbol.asyncDispose]();
});

function clientOf(pool: PooledProvider, apiKey = "client-own"): GoogleGenAI {
  return new GoogleGenAI({ apiKey, httpOptions: { baseUrl: pool.baseUrl } });
}

const call = { model: "gemini-test", contents: "Hello wheel" };

describe("the Google Gen AI SDK, unchanged but for its base URL", () => {
  it("generates content", async () => {
    await using pool = await poolOf(gateway, { kind: "gemini" });

    const response = await clientOf(pool).models.generateContent(call);

    expect(response.text).toBe("You said: Hello wheel");
    expect(pool.provider.requests[0]).toMatchObject({
      url: "/v1/models/gemini-test:generateContent",
      key: pool.valueOf("A"),
    });
  });

  it("streams content", async () => {
    await using pool = await poolOf(gateway, { kind: "gemini" });

    let text = "";
    let finished: unknown;
    for await (const chunk of await clientOf(pool).models.generateContentStream(call)) {
      text += chunk.text ?? "";
      finished = chunk.candidates?.[0]?.finishReason ?? finished;
    }

    expect([text, finished]).toEqual(["You said: Hello wheel", "STOP"]);
    expect(pool.provider.requests[0]?.url).toBe("/v1/models/gemini-test:streamGenerateContent?alt=sse");
  });

  it("counts tokens, embeds, and lists models", async () => {
    await using pool = await poolOf(gateway, { kind: "gemini" });
    const client = clientOf(pool);

    const { totalTokens } = await client.models.countTokens(call);
    const { embeddings } = await client.models.embedContent({ model: "gemini-test", contents: "abc" });
    const models = await client.models.list();

    expect(totalTokens).toBeGreaterThan(0);
    expect(embeddings?.[0]?.values).toHaveLength(3);
    expect(models.page[0]?.name).toBe("models/gemini-test");
  });

  it("keeps a chat with the key that began it", async () => {
    await using pool = await poolOf(gateway, { kind: "gemini", weights: [1, 1, 1] });
    const chat = clientOf(pool).chats.create({ model: "gemini-test" });

    await chat.sendMessage({ message: "One" });
    await chat.sendMessage({ message: "Two" });
    const third = await chat.sendMessage({ message: "Three" });

    expect(third.text).toBe("You said: Three");
    expect(pool.provider.picks()).toBe("AAA");
  });

  it("uses cached content where it was made", async () => {
    await using pool = await poolOf(gateway, { kind: "gemini", weights: [1, 1, 1] });
    const client = clientOf(pool);

    const cache = await client.caches.create({ model: "gemini-test", config: { contents: "A long text" } });
    await client.models.generateContent(call);
    const response = await client.models.generateContent({ ...call, config: { cachedContent: cache.name ?? "" } });

    expect(response.text).toBe("You said: Hello wheel");
    expect(pool.provider.picks()).toBe("ABA");
  });

  it("does not notice a key that is limited or refused", async () => {
    await using pool = await poolOf(gateway, { kind: "gemini", weights: [1, 1, 1] });
    pool.provider.forKey(pool.valueOf("A")).next(geminiError(429, "RESOURCE_EXHAUSTED", "Quota exceeded."));
    pool.provider.revoke(pool.valueOf("B"));

    const response = await clientOf(pool).models.generateContent(call);

    expect(response.text).toBe("You said: Hello wheel");
    expect(pool.provider.picks()).toBe("ABC");
    expect((await pool.key("B")).status).toBe("disabled");
  });
});

describe("the errors that the Google Gen AI SDK raises", () => {
  async function failureOf(
    promise: Promise<unknown>,
  ): Promise<{ status: number; error: { status: string; code: number } }> {
    const caught = await promise.catch((error: unknown) => error);
    expect(caught).toBeInstanceOf(ApiError);
    const { status, message } = caught as ApiError;
    return { status, ...(JSON.parse(message) as { error: { status: string; code: number } }) };
  }

  it("is RESOURCE_EXHAUSTED for a pool that rests", async () => {
    await using pool = await poolOf(gateway, { kind: "gemini" });
    for (const value of pool.values) pool.provider.forKey(value).always(reply.status(429));

    const failure = await failureOf(clientOf(pool).models.generateContent(call));

    expect(failure).toMatchObject({ status: 429, error: { code: 429, status: "RESOURCE_EXHAUSTED" } });
  });

  it("is UNAVAILABLE for no_usable_key", async () => {
    await using pool = await poolOf(gateway, { kind: "gemini", weights: [] });

    const failure = await failureOf(clientOf(pool).models.generateContent(call));

    expect(failure).toMatchObject({ status: 503, error: { code: 503, status: "UNAVAILABLE" } });
  });

  it("is UNAUTHENTICATED for unauthorized", async () => {
    await using guarded = await runGateway({ flags: ["--require-token"] });
    await using pool = await poolOf(guarded, { kind: "gemini" });
    const { token } = await guarded.api<{ token: string }>("POST", "/tokens", { name: "tests" });

    const failure = await failureOf(clientOf(pool).models.generateContent(call));
    const response = await clientOf(pool, token).models.generateContent(call);

    expect(failure).toMatchObject({ status: 401, error: { status: "UNAUTHENTICATED" } });
    expect(response.text).toBe("You said: Hello wheel");
  });
});
