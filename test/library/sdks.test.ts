import { createAnthropic } from "@ai-sdk/anthropic";
import { createOpenAI } from "@ai-sdk/openai";
import Anthropic from "@anthropic-ai/sdk";
import { GoogleGenAI } from "@google/genai";
import { createPool, type KeyPool, type Provider, providers } from "@keywheel/pool";
import {
  anthropicError,
  geminiError,
  openAiError,
  type Reply,
  reply,
  type ScriptedKind,
  type ScriptedProvider,
  startScriptedProvider,
} from "@keywheel/testkit";
import { APICallError, generateText, streamText } from "ai";
import OpenAI, { APIUserAbortError, BadRequestError, RateLimitError, toFile } from "openai";
import { describe, expect, it } from "vitest";

const keys = ["sk-test-a-0123456789abcdea", "sk-test-b-0123456789abcdeb", "sk-test-c-0123456789abcdec"] as const;
const hello = "You said: Hello wheel";

interface Bench extends AsyncDisposable {
  readonly provider: ScriptedProvider;
  readonly pool: KeyPool;
  readonly baseURL: string;
  /** The host without a path, for SDKs that bring the version along. */
  readonly origin: string;
}

/** Three keys: the first is limited at its next request, the second is refused. */
async function bench(kind: ScriptedKind, own: Provider, limited: Reply): Promise<Bench> {
  const provider = await startScriptedProvider({ kind, keys });
  const pool = createPool({ provider: own, keys, baseURL: provider.baseUrl });
  provider.forKey(keys[0]).next(limited);
  provider.revoke(keys[1]);
  return {
    provider,
    pool,
    baseURL: provider.baseUrl,
    origin: provider.origin,
    async [Symbol.asyncDispose]() {
      await pool.close();
      await provider.close();
      // A credential of the SDK's own, a doubled one, or one in the wrong place.
      if (provider.faults.length > 0) throw new Error(`Faulty credentials: ${provider.faults.join("; ")}`);
    },
  };
}

async function expectOneCall({ provider, pool }: Bench): Promise<void> {
  expect(provider.picks()).toBe("ABC");
  expect((await pool.keys()).map(({ status }) => status)).toEqual(["cooling_down", "disabled", "available"]);
}

const openaiBench = (): Promise<Bench> =>
  bench(
    "openai",
    providers.openai,
    openAiError(429, { message: "Slow down", type: "requests", code: "rate_limit_exceeded" }),
  );
const anthropicBench = (): Promise<Bench> =>
  bench("anthropic", providers.anthropic, anthropicError(529, "overloaded_error", "Overloaded"));
const geminiBench = (): Promise<Bench> =>
  bench("gemini", providers.gemini, geminiError(429, "RESOURCE_EXHAUSTED", "Slow down"));

describe("openai", () => {
  const messages = [{ role: "user" as const, content: "Hello wheel" }];
  const clientOf = ({ pool, baseURL }: Bench, session?: string): OpenAI =>
    new OpenAI({ apiKey: "pool", baseURL, fetch: pool.fetch(session), maxRetries: 0 });

  it("does not notice a key that is limited and one that is refused", async () => {
    await using at = await openaiBench();

    const completion = await clientOf(at).chat.completions.create({ model: "gpt-test", messages });

    expect(completion.choices[0]?.message.content).toBe(hello);
    await expectOneCall(at);
  });

  it("streams", async () => {
    await using at = await openaiBench();

    let text = "";
    const stream = await clientOf(at).chat.completions.create({ model: "gpt-test", messages, stream: true });
    for await (const chunk of stream) text += chunk.choices[0]?.delta.content ?? "";

    expect(text).toBe(hello);
    await expectOneCall(at);
  });

  it("streams with the Responses API, whose stream may open with an error", async () => {
    await using at = await openaiBench();
    const error = { type: "error", code: "rate_limit_exceeded", message: "Slow down" };
    at.provider.forKey(keys[0]).clear();
    at.provider.forKey(keys[0]).next(reply.sse([{ event: "error", data: error }]));

    let text = "";
    const stream = await clientOf(at).responses.create({ model: "gpt-test", input: "Hello wheel", stream: true });
    for await (const event of stream) if (event.type === "response.output_text.delta") text += event.delta;

    expect(text).toBe(hello);
    await expectOneCall(at);
  });

  it("uploads a file and finds it again with the key that holds it", async () => {
    await using at = await openaiBench();
    const client = clientOf(at);

    const file = await client.files.create({ file: await toFile(Buffer.from("{}\n"), "b.jsonl"), purpose: "batch" });
    const batch = await client.batches.create({
      input_file_id: file.id,
      endpoint: "/v1/chat/completions",
      completion_window: "24h",
    });

    expect(batch.input_file_id).toBe(file.id);
    expect(at.provider.picks()).toBe("ABCC");
  });

  it("stays with one key for a session named with the fetch, or with a header of a call", async () => {
    const provider = await startScriptedProvider({ keys });
    await using pool = createPool({ provider: providers.openai, keys, baseURL: provider.baseUrl });
    const at = { provider, pool, baseURL: provider.baseUrl } as Bench;
    const chat = clientOf(at, "chat-1");
    const other = clientOf(at);
    const headers = { "x-keywheel-session": "chat-2" };

    for (const _ of [1, 2]) {
      await chat.embeddings.create({ model: "e", input: "x" });
      await other.embeddings.create({ model: "e", input: "x" }, { headers });
      await other.embeddings.create({ model: "e", input: "x" });
    }

    expect(provider.picks()).toBe("ABCABA");
    expect(provider.requests.some((request) => request.header("x-keywheel-session") !== undefined)).toBe(false);
    await provider.close();
  });

  it("raises RateLimitError with the wait when every key rests, and does not repeat what cannot succeed", async () => {
    await using at = await openaiBench();
    at.provider.forKey(keys[2]).always(reply.status(429, { "retry-after": "120" }));
    at.provider.forKey(keys[0]).clear();
    at.provider.forKey(keys[0]).always(reply.status(429, { "retry-after": "120" }));
    const client = new OpenAI({ apiKey: "pool", baseURL: at.baseURL, fetch: at.pool.fetch(), maxRetries: 2 });

    const error = await client.models.list().catch((caught: unknown) => caught);

    expect(error).toBeInstanceOf(RateLimitError);
    expect(error).toMatchObject({ status: 429, code: "pool_exhausted", message: expect.stringContaining("of 3 keys") });
    expect((error as RateLimitError).headers.get("retry-after")).toBe("120");
    expect(at.provider.requests).toHaveLength(3);
  });

  it("raises BadRequestError that says what to do for an address that is not the provider's", async () => {
    await using at = await openaiBench();
    const client = new OpenAI({ apiKey: "pool", baseURL: "http://127.0.0.1:9/v1", fetch: at.pool.fetch() });

    const error = await client.models.list().catch((caught: unknown) => caught);

    expect(error).toBeInstanceOf(BadRequestError);
    expect((error as Error).message).toContain("name that address as `baseURL` in the options of `createPool`");
  });

  it("ends a call that is aborted, and one that takes longer than its time-out", async () => {
    await using at = await openaiBench();
    at.provider.forKey(keys[0]).clear();
    at.provider.forKey(keys[0]).always(reply.hang());
    const controller = new AbortController();

    const aborted = clientOf(at, "s").models.list({ signal: controller.signal });
    void at.provider.arrived(1).then(() => controller.abort());

    await expect(aborted).rejects.toBeInstanceOf(APIUserAbortError);
    await expect(clientOf(at, "s").models.list({ timeout: 100 })).rejects.toThrow("Request timed out.");
    await at.provider.until(() => at.provider.openRequests.length === 0, "the requests to end");
    expect((await at.pool.keys())[0]).toMatchObject({ status: "available", consecutiveFailures: 0 });
  });
});

describe("@anthropic-ai/sdk", () => {
  const call = { model: "claude-test", max_tokens: 64, messages: [{ role: "user" as const, content: "Hello wheel" }] };
  const clientOf = ({ pool, origin }: Bench): Anthropic =>
    new Anthropic({ apiKey: "pool", baseURL: origin, fetch: pool.fetch(), maxRetries: 0 });

  it("does not notice a key that is overloaded and one that is refused", async () => {
    await using at = await anthropicBench();

    const message = await clientOf(at).messages.create(call);

    expect(message.content).toEqual([{ type: "text", text: hello }]);
    await expectOneCall(at);
  });

  it("streams, also where a stream opens with an error", async () => {
    await using at = await anthropicBench();
    const error = { type: "overloaded_error", message: "Overloaded" };
    at.provider.forKey(keys[0]).clear();
    at.provider.forKey(keys[0]).next(
      reply.sse([
        { event: "ping", data: { type: "ping" } },
        { event: "error", data: { type: "error", error } },
      ]),
    );

    const message = await clientOf(at).messages.stream(call).finalMessage();

    expect(message.content).toMatchObject([{ type: "text", text: hello }]);
    await expectOneCall(at);
  });

  it("raises its own error for a pool that is exhausted", async () => {
    await using at = await anthropicBench();
    at.provider.forKey(keys[2]).always(anthropicError(529, "overloaded_error", "Overloaded"));

    const error = await clientOf(at)
      .messages.create(call)
      .catch((caught: unknown) => caught);

    expect(error).toBeInstanceOf(Anthropic.InternalServerError);
    expect(error).toMatchObject({ status: 529, type: "overloaded_error" });
  });
});

describe("@google/genai", () => {
  const call = { model: "gemini-test", contents: "Hello wheel" };
  const clientOf = ({ pool, origin }: Bench): GoogleGenAI =>
    new GoogleGenAI({ apiKey: "pool", httpOptions: { baseUrl: origin, fetch: pool.fetch() } });

  it("does not notice a key that is limited and one that is refused", async () => {
    await using at = await geminiBench();

    const response = await clientOf(at).models.generateContent(call);

    expect(response.text).toBe(hello);
    await expectOneCall(at);
  });

  it("streams", async () => {
    await using at = await geminiBench();

    let text = "";
    for await (const chunk of await clientOf(at).models.generateContentStream(call)) text += chunk.text ?? "";

    expect(text).toBe(hello);
    await expectOneCall(at);
  });
});

describe("an upload to Gemini", () => {
  it("goes to the key that began it, as do calls that name the file", async () => {
    const provider = await startScriptedProvider({ kind: "gemini", keys });
    await using pool = createPool({ provider: providers.gemini, keys, baseURL: provider.baseUrl });
    const httpOptions = { baseUrl: provider.origin, fetch: pool.fetch() };
    const client = new GoogleGenAI({ apiKey: "pool", httpOptions });

    const file = await client.files.upload({ file: new Blob(["Hello wheel"]), config: { mimeType: "text/plain" } });
    const read = await client.files.get({ name: file.name ?? "" });

    expect(read.name).toBe(file.name);
    expect(provider.picks()).toMatch(/^A{3,}$/);
    expect(provider.faults).toEqual([]);
    await provider.close();
  });
});

describe("the Vercel AI SDK", () => {
  const prompt = "Hello wheel";
  const call = { maxRetries: 0, maxOutputTokens: 64 };

  it.each(["chat", "responses"] as const)("generates and streams over @ai-sdk/openai: %s", async (api) => {
    await using at = await openaiBench();
    const openai = createOpenAI({ apiKey: "pool", baseURL: at.baseURL, fetch: at.pool.fetch() });
    const model = openai[api]("gpt-test");

    const { text } = await generateText({ model, prompt, ...call });
    await expectOneCall(at);
    const streamed = await streamText({ model, prompt, ...call }).text;

    // As it is sent: in parts, which the scripted provider says back.
    for (const said of [text, streamed]) expect(said).toMatch(/^You said: .*Hello wheel/);
  });

  it("generates and streams over @ai-sdk/anthropic", async () => {
    await using at = await anthropicBench();
    const anthropic = createAnthropic({ apiKey: "pool", baseURL: at.baseURL, fetch: at.pool.fetch() });
    const model = anthropic("claude-test");

    const { text } = await generateText({ model, prompt, ...call });
    await expectOneCall(at);
    const streamed = await streamText({ model, prompt, ...call }).text;

    // As it is sent: in parts, which the scripted provider says back.
    for (const said of [text, streamed]) expect(said).toMatch(/^You said: .*Hello wheel/);
  });

  it("raises its own error for a pool without a key", async () => {
    await using at = await openaiBench();
    await at.pool.setKeys([]);
    const openai = createOpenAI({ apiKey: "pool", baseURL: at.baseURL, fetch: at.pool.fetch() });

    const error = await generateText({ model: openai.chat("gpt-test"), prompt, maxRetries: 0 }).catch(
      (caught: unknown) => caught,
    );

    expect(APICallError.isInstance(error)).toBe(true);
    expect(error).toMatchObject({ statusCode: 503, message: expect.stringContaining("no key is configured") });
  });
});
