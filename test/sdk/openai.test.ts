import OpenAI, { AuthenticationError, InternalServerError, RateLimitError, toFile } from "openai";
import { openAiError, reply, runGateway, type RunningGateway, sha256 } from "@keywheel/testkit";
import { beforeAll, describe, expect, it } from "vitest";
import { poolOf, type PooledProvider } from "../pooled-provider.ts";

let gateway: RunningGateway;
beforeAll(async () => {
  gateway = await runGateway();
  return () => gateway[Symbol.asyncDispose]();
});

/** The SDK as a program has it, but for its base URL. */
function clientOf(pool: PooledProvider, basePath = "/v1"): OpenAI {
  return new OpenAI({ baseURL: pool.baseUrl + basePath, apiKey: "sk-client-own", maxRetries: 0 });
}

const messages = [{ role: "user" as const, content: "Hello wheel" }];

describe("the openai SDK, unchanged but for its base URL", () => {
  it.each(["/v1", ""])("chats over a base URL that ends in the slug and %j", async (basePath) => {
    await using pool = await poolOf(gateway);

    const completion = await clientOf(pool, basePath).chat.completions.create({ model: "gpt-test", messages });

    expect(completion.choices[0]?.message.content).toBe("You said: Hello wheel");
    expect(pool.provider.requests[0]?.url).toBe("/v1/chat/completions");
  });

  it("streams a chat with its usage", async () => {
    await using pool = await poolOf(gateway);

    const stream = await clientOf(pool).chat.completions.create({
      model: "gpt-test",
      messages,
      stream: true,
      stream_options: { include_usage: true },
    });
    let text = "";
    let tokens = 0;
    for await (const chunk of stream) {
      text += chunk.choices[0]?.delta.content ?? "";
      tokens = chunk.usage?.total_tokens ?? tokens;
    }

    expect(text).toBe("You said: Hello wheel");
    expect(tokens).toBeGreaterThan(0);
  });

  it("makes, streams, reads and continues a response under one key", async () => {
    await using pool = await poolOf(gateway, { weights: [1, 1, 1] });
    const client = clientOf(pool);

    const first = await client.responses.create({ model: "gpt-test", input: "One" });
    const types: string[] = [];
    for await (const event of await client.responses.create({
      model: "gpt-test",
      input: "Two",
      stream: true,
      previous_response_id: first.id,
    })) {
      types.push(event.type);
    }
    const read = await client.responses.retrieve(first.id);

    expect(first.output_text).toBe("You said: One");
    expect(types.at(0)).toBe("response.created");
    expect(types.at(-1)).toBe("response.completed");
    expect(read.id).toBe(first.id);
    expect(pool.provider.picks()).toBe("AAA");
  });

  it("reads embeddings, which it asks for in base64", async () => {
    await using pool = await poolOf(gateway);

    const { data } = await clientOf(pool).embeddings.create({ model: "text-embedding-test", input: ["abc", "abcdef"] });

    expect(pool.provider.requests[0]?.json()).toMatchObject({ encoding_format: "base64" });
    expect(data.map((one) => one.embedding)).toEqual([
      [5 / 8, -0.5, 0.25],
      [1, -0.5, 0.25],
    ]);
  });

  it("uploads a file and reads it back from the key that holds it", async () => {
    await using pool = await poolOf(gateway, { weights: [1, 1, 1] });
    const client = clientOf(pool);
    const content = Buffer.from(Array.from({ length: 70_000 }, (_, at) => (at * 31) % 256));

    const file = await client.files.create({ file: await toFile(content, "binary.bin"), purpose: "user_data" });
    await client.chat.completions.create({ model: "gpt-test", messages });
    const read = await client.files.retrieve(file.id);
    const back = Buffer.from(await (await client.files.content(file.id)).arrayBuffer());
    const deleted = await client.files.delete(file.id);

    expect([file.bytes, read.filename, deleted.deleted]).toEqual([70_000, "binary.bin", true]);
    expect(sha256(back)).toBe(sha256(content));
    expect(pool.provider.picks((request) => request.path.startsWith("/v1/files"))).toBe("AAAA");
  });

  it("makes a batch from a file, where the file is", async () => {
    await using pool = await poolOf(gateway, { weights: [1, 1, 1] });
    const client = clientOf(pool);
    const file = await client.files.create({ file: await toFile(Buffer.from("{}\n"), "b.jsonl"), purpose: "batch" });

    const batch = await client.batches.create({
      input_file_id: file.id,
      endpoint: "/v1/chat/completions",
      completion_window: "24h",
    });
    const cancelled = await client.batches.cancel(batch.id);

    expect(cancelled.status).toBe("cancelling");
    expect(pool.provider.picks()).toBe("AAA");
  });

  it("transcribes audio sent as a form", async () => {
    await using pool = await poolOf(gateway);

    const heard = await clientOf(pool).audio.transcriptions.create({
      file: await toFile(Buffer.alloc(5_000, 7), "speech.wav"),
      model: "whisper-test",
    });

    expect(heard.text).toBe("Heard 5000 bytes of speech.wav.");
  });

  it("lists models", async () => {
    await using pool = await poolOf(gateway);

    const ids: string[] = [];
    for await (const model of clientOf(pool).models.list()) ids.push(model.id);

    expect(ids).toContain("gpt-test");
  });

  it("does not notice a key that is limited, refused or gone", async () => {
    await using pool = await poolOf(gateway, { weights: [1, 1, 1] });
    pool.provider
      .forKey(pool.valueOf("A"))
      .next(openAiError(429, { message: "Slow down", type: "requests", code: "rate_limit_exceeded" }));
    pool.provider.revoke(pool.valueOf("B"));

    const completion = await clientOf(pool).chat.completions.create({ model: "gpt-test", messages });

    expect(completion.choices[0]?.message.content).toBe("You said: Hello wheel");
    expect(pool.provider.picks()).toBe("ABC");
  });
});

describe("the errors that the openai SDK raises", () => {
  it("is RateLimitError for pool_exhausted, with the wait", async () => {
    await using pool = await poolOf(gateway);
    for (const value of pool.values) pool.provider.forKey(value).always(reply.status(429));

    const error = await clientOf(pool)
      .chat.completions.create({ model: "gpt-test", messages })
      .catch((caught: unknown) => caught);

    expect(error).toBeInstanceOf(RateLimitError);
    const { status, code, type, headers, message } = error as RateLimitError;
    expect({ status, code, type }).toEqual({ status: 429, code: "pool_exhausted", type: "rate_limit_error" });
    expect(headers.get("retry-after")).toBe("60");
    expect(message).toMatch(/2 .*(cool|rest)/i);
  });

  it("is InternalServerError for no_usable_key", async () => {
    await using pool = await poolOf(gateway, { weights: [] });

    const error = await clientOf(pool)
      .chat.completions.create({ model: "gpt-test", messages })
      .catch((caught: unknown) => caught);

    expect(error).toBeInstanceOf(InternalServerError);
    expect(error).toMatchObject({ status: 503, code: "no_usable_key" });
  });

  it("is AuthenticationError for unauthorized, and a token of the gateway is let in", async () => {
    await using guarded = await runGateway({ flags: ["--require-token"] });
    await using pool = await poolOf(guarded);
    const { token } = await guarded.api<{ token: string }>("POST", "/tokens", { name: "tests" });

    const error = await clientOf(pool)
      .models.list()
      .catch((caught: unknown) => caught);
    const models = await new OpenAI({ baseURL: `${pool.baseUrl}/v1`, apiKey: token, maxRetries: 0 }).models.list();

    expect(error).toBeInstanceOf(AuthenticationError);
    expect(error).toMatchObject({ status: 401, code: "unauthorized" });
    expect(models.data).not.toHaveLength(0);
    expect(pool.provider.requests).toHaveLength(1);
  });

  it("is the provider's own for its own errors", async () => {
    await using pool = await poolOf(gateway);

    const error = await clientOf(pool)
      .files.retrieve("file-unknown")
      .catch((caught: unknown) => caught);

    expect(error).toBeInstanceOf(OpenAI.NotFoundError);
    expect((error as Error).message).toContain("No such object: file-unknown");
  });

  it("is raised inside a stream that breaks, after what came before", async () => {
    await using pool = await poolOf(gateway);
    const live = reply.live();
    pool.provider.forKey(pool.valueOf("A")).next(live);
    const pending = clientOf(pool).chat.completions.create({ model: "gpt-test", messages, stream: true });
    await live.send({
      data: { id: "c", object: "chat.completion.chunk", choices: [{ index: 0, delta: { content: "Hel" } }] },
    });

    const texts: unknown[] = [];
    const read = async (): Promise<void> => {
      for await (const chunk of await pending) {
        texts.push(chunk.choices[0]?.delta.content);
        await live.cut("rst");
      }
    };

    await expect(read()).rejects.toThrow(/terminated|aborted|connection/i);
    expect(texts).toEqual(["Hel"]);
    expect(pool.provider.picks()).toBe("A");
  });
});

describe("the openai SDK against Azure", () => {
  it("chats with a deployment", async () => {
    await using pool = await poolOf(gateway, { kind: "azure-openai" });
    const { AzureOpenAI } = await import("openai");
    const client = new AzureOpenAI({
      endpoint: pool.baseUrl,
      apiKey: "client-own",
      apiVersion: "2026-01-01",
      deployment: "gpt-test",
      maxRetries: 0,
    });

    const completion = await client.chat.completions.create({ model: "gpt-test", messages });

    expect(completion.choices[0]?.message.content).toBe("You said: Hello wheel");
    expect(pool.provider.requests[0]?.url).toBe("/openai/deployments/gpt-test/chat/completions?api-version=2026-01-01");
  });
});
