import { once } from "node:events";
import { setTimeout as pause } from "node:timers/promises";
import { describe, expect, it } from "vitest";
import { reply } from "@keywheel/testkit";
import { chat, comesToPass, failuresOf, openDataPlane, rawSocket, readUntilClosed } from "./data-plane.test-bench.ts";

const head = (length: number): string =>
  `POST /llm/v1/chat/completions HTTP/1.1\r\nhost: x\r\ncontent-type: application/json\r\ncontent-length: ${length}\r\n\r\n`;

describe.each([
  ["kept for a second try", {}],
  ["streamed", { replayBytes: 10 }],
])("a body that is %s", (_name, limits) => {
  it("and stops coming is answered, not waited for", async () => {
    const bench = await openDataPlane({ ...limits, patience: { sending: { silentMs: 80 } } });
    const socket = await rawSocket(bench, `${head(100)}{"model":`);

    const answer = await readUntilClosed(socket);

    expect(answer).toMatch(/^HTTP\/1\.1 408 Request Timeout\r\n/);
    expect(answer).toContain("x-keywheel-error: invalid_request");
    expect(answer).toContain("stopped coming");
    expect(bench.running()).toBe(0);
    expect(await failuresOf(bench)).toEqual([0, 0, 0]);
  });

  it("and comes in drops that keep its place is answered too", async () => {
    const bench = await openDataPlane({ ...limits, patience: { sending: { silentMs: 5_000, graceMs: 150 } } });
    const socket = await rawSocket(bench, head(1_000));
    const drops = setInterval(() => socket.write(" "), 20);
    const answer = await readUntilClosed(socket);
    clearInterval(drops);

    expect(answer).toMatch(/^HTTP\/1\.1 408 /);
    expect(bench.faults).toEqual([]);
  });

  it("and comes slowly, but not that slowly, arrives whole", async () => {
    const bench = await openDataPlane({ ...limits, patience: { sending: { silentMs: 1_000, graceMs: 50 } } });
    const body = JSON.stringify({ model: "m", messages: [], padding: "" }).replace('""', `"${"x".repeat(557)}"`);
    const socket = await rawSocket(bench, head(body.length));
    for (let piece = 0; piece < 6; piece++) {
      await pause(30);
      socket.write(body.slice(piece * 100, (piece + 1) * 100));
    }
    const [first] = (await once(socket, "data")) as [Buffer];
    socket.destroy();

    expect(first.toString()).toMatch(/^HTTP\/1\.1 200 /);
    expect(bench.provider.requests[0]?.body.toString()).toBe(body);
  });
});

it("a provider that takes a body slowly is no slow client", async () => {
  const bench = await openDataPlane({ replayBytes: 10, patience: { sending: { silentMs: 100, graceMs: 50 } } });
  bench.provider.on().next({
    readsBody: false,
    async play(exchange) {
      await pause(400);
      await reply.json(200, {}, { ok: true }).play(exchange);
    },
  });

  const response = await fetch(`${bench.url}/chat/completions`, { ...chat, body: "x".repeat(8_000_000) });

  expect(response.status).toBe(200);
});

it("a client that does not read its answer is cut off after a while, and nobody is blamed", async () => {
  const bench = await openDataPlane({ patience: { unreadMs: 150 } });
  bench.provider.on().next(reply.json(200, {}, { text: "x".repeat(30_000_000) }));
  const socket = await rawSocket(bench, `${head(2)}{}`);
  socket.pause();

  await comesToPass(() => expect(bench.records.length).toBe(1));

  expect(bench.records[0]).toMatchObject({ status: 200, ending: "gone" });
  expect(await failuresOf(bench)).toEqual([0, 0, 0]);
  expect(bench.running()).toBe(0);
  socket.destroy();
});

it("a client that reads slowly gets everything", async () => {
  const bench = await openDataPlane({ patience: { unreadMs: 1_500 } });
  bench.provider.on().next(reply.json(200, {}, { text: "x".repeat(6_000_000) }));
  const socket = await rawSocket(bench, `${head(2).replace("host", "connection: close\r\nhost")}{}`);
  let bytes = 0;
  socket.on("data", (chunk: Buffer) => {
    bytes += chunk.length;
    socket.pause();
    setTimeout(() => socket.resume(), 15);
  });
  await once(socket, "close");

  expect(bytes).toBeGreaterThan(6_000_000);
  expect(bench.records[0]?.ending).toBe("completed");
}, 20_000);

it.each([
  ["openai", { error: { code: "overloaded", type: "server_error" } }],
  ["anthropic", { type: "error", error: { type: "api_error" } }],
  ["gemini", { error: { code: 503, status: "UNAVAILABLE" } }],
] as const)("what the machine cannot carry is refused in the shape of %s", async (kind, shape) => {
  const running: number[] = [];
  const bench = await openDataPlane({
    kind,
    refusal: (count) => {
      running.push(count);
      return { code: "overloaded", message: "Too much.", retryAfterMs: 2_400 };
    },
  });

  const response = await fetch(`${bench.url}/chat/completions`, chat);

  expect(response.status).toBe(503);
  expect(response.headers.get("retry-after")).toBe("3");
  expect(response.headers.get("x-keywheel-error")).toBe("overloaded");
  expect(await response.json()).toMatchObject(shape);
  expect(running).toEqual([1]);
  expect(bench.provider.requests).toEqual([]);
});
