import { reply, runGateway, type RunningGateway } from "@keywheel/testkit";
import { beforeAll, describe, expect, it } from "vitest";
import { poolOf, type PooledProvider } from "../pooled-provider.ts";

let gateway: RunningGateway;
beforeAll(async () => {
  gateway = await runGateway();
  return () => gateway[Symbol.asyncDispose]();
});

/** Two requests of the conversation with an unrelated one between them, and whether they met the same key. */
async function staysTogether(pool: PooledProvider, headers: Record<string, string>, fields: object): Promise<boolean> {
  const body = { model: "gpt-test", messages: [{ role: "user", content: "Hi" }], ...fields };
  const answered: (string | null)[] = [];
  for (const one of [{ headers, body }, {}, { headers, body }]) {
    const response = await pool.send(one);
    await response.arrayBuffer();
    answered.push(response.headers.get("x-keywheel-key"));
  }
  return answered[0] === answered[2] && answered[0] !== null;
}

describe("contract: session carriers", () => {
  it.each([
    "x-keywheel-session",
    "X-Claude-Code-Session-Id",
    "session-id",
    "session_id",
    "x-session-id",
    "x-session-affinity",
    "x-opencode-session",
    "x-litellm-session-id",
    "Helicone-Session-Id",
    "X-OpenWebUI-Chat-Id",
    "x-grok-conv-id",
    "thread-id",
    "conversation-id",
    "conversation_id",
  ])("knows the header %s", async (name) => {
    await using pool = await poolOf(gateway, { weights: [1, 1, 1] });

    expect(await staysTogether(pool, { [name]: "0b6f6a3e-1111-4222-8333-444455556666" }, {})).toBe(true);
  });

  it.each<[string, object]>([
    ["session_id", { session_id: "s-1" }],
    ["conversation", { conversation: "conv_1" }],
    ["conversation.id", { conversation: { id: "conv_1" } }],
    ["prompt_cache_key", { prompt_cache_key: "cache-1" }],
    [
      "metadata.user_id of Claude Code",
      { metadata: { user_id: '{"device_id":"d","account_uuid":"","session_id":"11112222"}' } },
    ],
    [
      "metadata.user_id of older ones",
      { metadata: { user_id: "user_ab_account__session_11112222-3333-4444-5555-666677778888" } },
    ],
  ])("knows the body field %s", async (_, fields) => {
    await using pool = await poolOf(gateway, { weights: [1, 1, 1] });

    expect(await staysTogether(pool, {}, fields)).toBe(true);
  });

  it.each<[string, Record<string, string>, object]>([
    ["x-request-id", { "x-request-id": "r-1" }, {}],
    ["traceparent", { traceparent: "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01" }, {}],
    ["user, which names a person", {}, { user: "everybody" }],
    ["safety_identifier, which names a person", {}, { safety_identifier: "everybody" }],
    ["a plain metadata.user_id", {}, { metadata: { user_id: "everybody" } }],
  ])("does not take %s for a session", async (_, headers, fields) => {
    await using pool = await poolOf(gateway, { weights: [1, 1, 1] });

    expect(await staysTogether(pool, headers, fields)).toBe(false);
  });

  it("believes its own header before all others, headers before the body", async () => {
    await using pool = await poolOf(gateway, { weights: [1, 1, 1] });
    const seen: (string | null)[] = [];
    for (const headers of [
      { "x-keywheel-session": "own", "x-session-id": "other-1" },
      { "x-session-id": "other-2" },
      { "x-keywheel-session": "own", "x-session-id": "other-2" },
    ]) {
      const response = await pool.send({
        headers,
        body: { model: "m", messages: [{ role: "user", content: "x" }], session_id: "body" },
      });
      await response.arrayBuffer();
      seen.push(response.headers.get("x-keywheel-key"));
    }

    expect(seen[2]).toBe(seen[0]);
    expect(seen[1]).not.toBe(seen[0]);
  });

  it("names a session of another carrier by an id of its own, by which it can be ended", async () => {
    await using pool = await poolOf(gateway, { weights: [1, 1] });
    const headers = { "x-session-id": "a-value-that-may-be-personal" };
    const first = await pool.send({ headers });
    await first.arrayBuffer();
    const id = first.headers.get("x-keywheel-session") ?? "";

    await gateway.api("DELETE", `/sessions/${id}`);

    expect(id).toMatch(/^ses_/);
    expect(pool.provider.picks() + (await pool.turns(1, { headers }))).toBe("AB");
  });

  it("takes a prompt_cache_key that many conversations send for none, and keeps each of them on its key", async () => {
    await using pool = await poolOf(gateway, { weights: [1, 1, 1] });
    const ask = async (...talk: readonly string[]): Promise<string | null> => {
      const messages = talk.map((content, i) => ({ role: i % 2 === 0 ? "user" : "assistant", content }));
      const response = await pool.send({ body: { model: "gpt-test", prompt_cache_key: "my-app", messages } });
      await response.arrayBuffer();
      return response.headers.get("x-keywheel-key");
    };
    const openings = Array.from({ length: 38 }, (_, i) => `Question ${i}`);
    const first: (string | null)[] = [];
    for (const opening of openings) first.push(await ask(opening));
    // Eight may be one client with side calls.
    expect(new Set(first.slice(0, 8)).size).toBe(1);
    const rest = first.slice(8);
    for (const { id } of pool.keys) expect(rest.filter((one) => one === id)).toHaveLength(10);

    const second: (string | null)[] = [];
    for (const opening of openings) second.push(await ask(opening, "Answer", "And?"));
    expect(second).toEqual(first);
  });

  it("keeps the sessions of two providers apart", async () => {
    await using one = await poolOf(gateway, { weights: [1, 1] });
    await using two = await poolOf(gateway, { weights: [1, 1] });
    await two.turns(1);

    const turns = (await one.turns(2, { session: "shared" })) + (await two.turns(2, { session: "shared" }));

    expect(turns).toBe("AABB");
  });

  it("forgets a session that was not used for affinity.idle_ttl_ms, counted from its last use", async () => {
    await using pool = await poolOf(gateway, { weights: [1, 1], settings: { affinity: { idle_ttl_ms: 800 } } });
    const began = performance.now();
    let during = "";
    // Used often enough, it lives longer than the limit.
    while (performance.now() - began < 1_500) {
      during += await pool.turns(1, { session: "s" });
      await new Promise((resolve) => setTimeout(resolve, 100));
    }

    // Real time, because the limit is the program's own: nothing tells from outside when it has passed.
    await new Promise((resolve) => setTimeout(resolve, 900));

    expect(during).toMatch(/^A{4,}$/);
    expect(await pool.turns(1, { session: "s" })).toBe("B");
  });

  it("binds nothing while affinity is off", async () => {
    await using pool = await poolOf(gateway, { weights: [1, 1], settings: { affinity: { enabled: false } } });

    expect(await pool.turns(4, { session: "s" })).toBe("ABAB");
  });
});

describe("contract: what was made under one key goes back to that key", () => {
  it("gets the gateway's error, not another key's 404, while the key rests", async () => {
    await using pool = await poolOf(gateway, { weights: [1, 1] });
    const made = await pool.send({ path: "/v1/responses", body: { model: "gpt-test", input: "One" } });
    const { id } = (await made.json()) as { id: string };
    pool.provider.forKey(pool.valueOf("A")).next(reply.status(429));
    await (await pool.send({ headers: { "x-keywheel-session": "x" } })).arrayBuffer();
    await (await pool.send({ headers: { "x-keywheel-session": "y" } })).arrayBuffer();
    expect((await pool.key("A")).status).toBe("cooling_down");
    pool.provider.forget();

    const response = await fetch(`${pool.baseUrl}/v1/responses/${id}`);

    expect([response.status, response.headers.get("x-keywheel-error")]).toEqual([429, "pool_exhausted"]);
    expect(pool.provider.requests).toHaveLength(0);
  });

  it("finds a Gemini file in the body of a later call", async () => {
    await using pool = await poolOf(gateway, { kind: "gemini", weights: [1, 1, 1] });
    const made = await pool.send({
      path: "/upload/v1beta/files",
      headers: { "content-type": "text/plain" },
      body: "abc",
    });
    const { file } = (await made.json()) as { file: { name: string; uri: string } };
    await pool.turns(1);

    const parts = [{ text: "What is this?" }, { fileData: { fileUri: file.uri, mimeType: "text/plain" } }];
    const used = await pool.send({ body: { contents: [{ role: "user", parts }] } });
    const read = await fetch(`${pool.baseUrl}/v1beta/${file.name}`);

    expect([used.status, read.status]).toEqual([200, 200]);
    expect(pool.provider.picks()).toBe("ABAA");
  });

  it("tells an object of nobody's from one of its own: any key may answer for it", async () => {
    await using pool = await poolOf(gateway, { weights: [1, 1] });

    const response = await fetch(`${pool.baseUrl}/v1/files/file-of-somebody-else`);

    expect([response.status, response.headers.has("x-keywheel-error")]).toEqual([404, false]);
    expect(pool.provider.picks()).toMatch(/^[AB]$/);
    expect((await gateway.keys(pool.record)).map((key) => key.status)).toEqual(["available", "available"]);
  });

  it("remembers it over a restart", async () => {
    await using own = await runGateway();
    await using pool = await poolOf(own, { weights: [1, 1, 1] });
    const made = await pool.send({ path: "/v1/responses", body: { model: "gpt-test", input: "One" } });
    const { id } = (await made.json()) as { id: string };

    await own.restart();
    await pool.turns(1);
    const response = await fetch(`${pool.baseUrl}/v1/responses/${id}`);

    expect(response.status).toBe(200);
    expect(pool.provider.picks((request) => request.url.includes(id))).toBe("A");
  });
});
