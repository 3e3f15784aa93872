import { reply } from "@keywheel/testkit";
import { describe, expect, it } from "vitest";
import { type Bench, chat, openDataPlane } from "./data-plane.test-bench.ts";
import { UsageMeter } from "./usage-meter.ts";

const usage = {
  prompt_tokens: 100,
  completion_tokens: 50,
  prompt_tokens_details: { cached_tokens: 30 },
  completion_tokens_details: { reasoning_tokens: 20 },
};
const read = { inputTokens: 70, cacheReadTokens: 30, cacheWriteTokens: 0, outputTokens: 50, reasoningTokens: 20 };

/** The usage in the record of one request. */
async function usageOf(bench: Bench, init: object = chat): Promise<unknown> {
  const response = await fetch(`${bench.url}/v1/chat/completions`, init);
  await response.arrayBuffer();
  await expect.poll(() => bench.records.length).toBe(1);
  return bench.records[0]?.usage;
}

describe("the usage of a request", () => {
  it("is in its record", async () => {
    const bench = await openDataPlane();
    bench.provider.on().next(reply.json(200, {}, { choices: [{ message: { content: "Hi" } }], usage }));

    expect(await usageOf(bench)).toEqual(read);
  });

  it.each(["gzip", "br", "zstd"] as const)("is read from a body in %s", async (coding) => {
    const bench = await openDataPlane();
    const body = { choices: [{ message: { content: "Hi ".repeat(20_000) } }], usage };
    bench.provider.on().next(reply.encoded(coding, 200, {}, body));

    expect(await usageOf(bench)).toEqual(read);
  });

  it("is read from the end of a large body", async () => {
    const bench = await openDataPlane();
    bench.provider.on().next(reply.json(200, {}, { data: "x".repeat(3_000_000), usage }));

    expect(await usageOf(bench)).toEqual(read);
  });

  it("is read from the closing event of a stream, however long that is", async () => {
    const bench = await openDataPlane();
    const response = {
      output: ["x".repeat(200_000)],
      usage: { input_tokens: 3, input_tokens_details: { cached_tokens: 1 }, output_tokens: 4 },
      metadata: {},
    };
    bench.provider.on().next(
      reply.sse([
        { event: "response.output_text.delta", data: { type: "response.output_text.delta", delta: "x" } },
        { event: "response.completed", data: { type: "response.completed", response } },
      ]),
    );

    expect(await usageOf(bench)).toMatchObject({ inputTokens: 2, cacheReadTokens: 1, outputTokens: 4 });
  });

  it("is Anthropic's input if the client leaves before the end", async () => {
    const bench = await openDataPlane({ kind: "anthropic" });
    const live = reply.live();
    bench.provider.on().next(live);
    const leave = new AbortController();
    const pending = fetch(`${bench.url}/v1/messages`, { ...chat, signal: leave.signal });
    const message = { content: [], usage: { input_tokens: 25, output_tokens: 1 } };
    await live.send({ event: "message_start", data: { type: "message_start", message } });
    await live.send({ data: { type: "content_block_delta", index: 0, delta: { type: "text_delta", text: "Hi" } } });
    await (await pending).body?.getReader().read();

    leave.abort();

    await expect.poll(() => bench.records[0]?.ending).toBe("gone");
    expect(bench.records[0]?.usage).toMatchObject({ inputTokens: 25, outputTokens: 1 });
  });

  it("is not counted again when a stored answer is read", async () => {
    const bench = await openDataPlane();
    bench.provider.on().next(reply.json(200, {}, { id: "resp_1", output: [], usage }));

    expect(await usageOf(bench, { method: "GET" })).toBeUndefined();
  });

  it("is absent where none is told", async () => {
    const bench = await openDataPlane();
    bench.provider.on().next(reply.status(200, { "content-type": "audio/mpeg" }, "usage"));

    expect(await usageOf(bench)).toBeUndefined();
  });
});

describe("the meter", () => {
  it("finds the same however the bytes are split", () => {
    const head = `data: {"type":"message_start","message":{"usage":{"input_tokens":25,"output_tokens":1}}}\n\n`;
    const delta = `data: {"type":"content_block_delta","delta":{"text":"${"x".repeat(100)}"}}\n\n`;
    const end = `data: {"type":"message_delta","usage":{"output_tokens":15}}\n\ndata: {"type":"message_stop"}\n\n`;
    const bytes = Buffer.from(head + delta.repeat(5_000) + end);

    for (const size of [7, 100, 4_096, 65_536, bytes.length]) {
      const meter = new UsageMeter();
      for (let at = 0; at < bytes.length; at += size) meter.push(bytes.subarray(at, at + size));

      expect(meter.read()).toMatchObject({ inputTokens: 25, outputTokens: 15 });
    }
  });

  it("finds what stands far from the end, and of a stream whatever is in the last 32 KB", () => {
    const usage = `{"usage":{"prompt_tokens":1,"completion_tokens":2},"text":"`;

    for (const [type, size] of [
      ["application/json", 127_000],
      ["text/event-stream", 32_000],
    ] as const) {
      const meter = new UsageMeter(type);
      meter.push(Buffer.alloc(size * 3, "x"));
      meter.push(Buffer.from(usage));
      for (let at = 0; at < size; at += 1_000) meter.push(Buffer.alloc(1_000, "x"));

      expect(meter.read()).toMatchObject({ inputTokens: 1, outputTokens: 2 });
    }
  });
});
