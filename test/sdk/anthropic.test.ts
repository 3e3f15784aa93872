import Anthropic from "@anthropic-ai/sdk";
import { anthropicError, reply, runGateway, type RunningGateway } from "@keywheel/testkit";
import { beforeAll, describe, expect, it } from "vitest";
import { poolOf, type PooledProvider } from "../pooled-provider.ts";

let gateway: RunningGateway;
beforeAll(async () => {
  gateway = await runGateway();
  return () => gateway[Symbol.asyncDispose]();
});

function clientOf(pool: PooledProvider): Anthropic {
  return new Anthropic({ baseURL: pool.baseUrl, apiKey: "sk-ant-client-own", maxRetries: 0 });
}

const call = { model: "claude-test", max_tokens: 64, messages: [{ role: "user" as const, content: "Hello wheel" }] };

describe("the Anthropic SDK, unchanged but for its base URL", () => {
  it("sends a message", async () => {
    await using pool = await poolOf(gateway, { kind: "anthropic" });

    const message = await clientOf(pool).messages.create(call);

    expect(message.content).toEqual([{ type: "text", text: "You said: Hello wheel" }]);
    expect(pool.provider.requests[0]).toMatchObject({ url: "/v1/messages", key: pool.valueOf("A") });
  });

  it("streams a message, pings and all", async () => {
    await using pool = await poolOf(gateway, { kind: "anthropic" });

    const message = await clientOf(pool).messages.stream(call).finalMessage();

    expect(message).toMatchObject({ stop_reason: "end_turn", content: [{ text: "You said: Hello wheel" }] });
  });

  it("reads the raw events of a stream in their order", async () => {
    await using pool = await poolOf(gateway, { kind: "anthropic" });

    const types: string[] = [];
    for await (const event of await clientOf(pool).messages.create({ ...call, stream: true })) types.push(event.type);

    expect(types.at(0)).toBe("message_start");
    expect(types.at(-1)).toBe("message_stop");
  });

  it("counts tokens and lists models", async () => {
    await using pool = await poolOf(gateway, { kind: "anthropic" });
    const client = clientOf(pool);

    const { input_tokens: tokens } = await client.messages.countTokens({ model: call.model, messages: call.messages });
    const models = await client.models.list();

    expect(tokens).toBeGreaterThan(0);
    expect(models.data[0]?.id).toBe("claude-test");
  });

  it("finds a batch where it was made", async () => {
    await using pool = await poolOf(gateway, { kind: "anthropic", weights: [1, 1, 1] });
    const client = clientOf(pool);

    const batch = await client.messages.batches.create({ requests: [{ custom_id: "one", params: call }] });
    await client.messages.create(call);
    const found = await client.messages.batches.retrieve(batch.id);

    expect(found.id).toBe(batch.id);
    expect(pool.provider.picks()).toBe("ABA");
  });

  it("works with a token as a bearer, as other programs send it", async () => {
    await using pool = await poolOf(gateway, { kind: "anthropic" });
    const client = new Anthropic({ baseURL: pool.baseUrl, apiKey: null, authToken: "client-own", maxRetries: 0 });

    const message = await client.messages.create(call);

    expect(message.type).toBe("message");
  });

  it("does not notice that a key is limited while another stream runs", async () => {
    await using pool = await poolOf(gateway, { kind: "anthropic" });
    pool.provider.forKey(pool.valueOf("A")).next(anthropicError(529, "overloaded_error", "Overloaded"));

    const message = await clientOf(pool).messages.stream(call).finalMessage();

    expect(message.stop_reason).toBe("end_turn");
    expect(pool.provider.picks()).toBe("AB");
  });
});

describe("the errors that the Anthropic SDK raises", () => {
  it("is RateLimitError for a pool that rests", async () => {
    await using pool = await poolOf(gateway, { kind: "anthropic" });
    for (const value of pool.values) {
      pool.provider.forKey(value).always(anthropicError(429, "rate_limit_error", "Slow down"));
    }

    const error = await clientOf(pool)
      .messages.create(call)
      .catch((caught: unknown) => caught);

    expect(error).toBeInstanceOf(Anthropic.RateLimitError);
    expect(error).toMatchObject({ status: 429, error: { type: "error", error: { type: "rate_limit_error" } } });
    expect((error as InstanceType<typeof Anthropic.APIError>).headers?.get("x-keywheel-error")).toBe("pool_exhausted");
  });

  it("is of the type overloaded_error for a pool emptied by overload", async () => {
    await using pool = await poolOf(gateway, { kind: "anthropic" });
    for (const value of pool.values) pool.provider.forKey(value).always(reply.status(529));

    const error = await clientOf(pool)
      .messages.create(call)
      .catch((caught: unknown) => caught);

    expect(error).toBeInstanceOf(Anthropic.InternalServerError);
    expect(error).toMatchObject({ status: 529, error: { type: "error", error: { type: "overloaded_error" } } });
  });

  it("is InternalServerError for no_usable_key", async () => {
    await using pool = await poolOf(gateway, { kind: "anthropic", weights: [] });

    const error = await clientOf(pool)
      .messages.create(call)
      .catch((caught: unknown) => caught);

    expect(error).toBeInstanceOf(Anthropic.InternalServerError);
    expect(error).toMatchObject({ status: 503, error: { type: "error", error: { type: "api_error" } } });
  });

  it("is AuthenticationError for unauthorized", async () => {
    await using guarded = await runGateway({ flags: ["--require-token"] });
    await using pool = await poolOf(guarded, { kind: "anthropic" });
    const { token } = await guarded.api<{ token: string }>("POST", "/tokens", { name: "tests" });

    const error = await clientOf(pool)
      .messages.create(call)
      .catch((caught: unknown) => caught);
    const message = await new Anthropic({ baseURL: pool.baseUrl, apiKey: token, maxRetries: 0 }).messages.create(call);

    expect(error).toBeInstanceOf(Anthropic.AuthenticationError);
    expect(error).toMatchObject({ status: 401, error: { type: "error", error: { type: "authentication_error" } } });
    expect(message.type).toBe("message");
  });
});
