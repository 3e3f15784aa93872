import { readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { reply, runGateway, type RunningGateway } from "@keywheel/testkit";
import { beforeAll, describe, expect, it } from "vitest";
import { eventually, poolOf, type PooledProvider } from "../pooled-provider.ts";

interface RequestView {
  readonly id: string;
  readonly status: number;
  readonly error: string | null;
  readonly key_id: string | null;
  readonly session_id: string | null;
  readonly decision: string;
  readonly attempts: readonly {
    readonly key_id: string;
    readonly why: string;
    readonly passed_over: readonly { readonly key_id: string; readonly because: string }[];
    readonly http_status: number | null;
    readonly outcome: string;
    readonly message: string | null;
    readonly started_at: string;
    readonly duration_ms: number;
  }[];
  readonly standing: object | null;
  readonly usage: Tokens | null;
}

interface Tokens {
  readonly input_tokens: number;
  readonly cache_read_tokens: number;
  readonly cache_write_tokens: number;
  readonly output_tokens: number;
  readonly reasoning_tokens: number;
}

let gateway: RunningGateway;
beforeAll(async () => {
  gateway = await runGateway();
  return () => gateway[Symbol.asyncDispose]();
});

async function requestsOf(pool: PooledProvider, query = ""): Promise<readonly RequestView[]> {
  const path = `/requests?provider=${pool.record.id}${query}`;
  return (await gateway.api<{ data: readonly RequestView[] }>("GET", path)).data;
}

/** The last one, once there are so many: a request is written down when its answer has been given away. */
async function newestOf(pool: PooledProvider, count: number): Promise<RequestView> {
  const all = await eventually(
    () => requestsOf(pool),
    (requests) => requests.length === count,
    { what: `${count} requests to be told of` },
  );
  return all[0] as RequestView;
}

async function totalOf(
  pool: PooledProvider,
): Promise<Tokens & { requests: number; errors: number; failovers: number }> {
  const answer = await gateway.api<{ total: never }>("GET", `/usage?provider=${pool.record.id}`);
  return answer.total;
}

const hello = { role: "user", content: "Hello" };

describe("contract: the explanation of requests", () => {
  it("tells a failover: each attempt with its key, outcome and time", async () => {
    await using pool = await poolOf(gateway, { weights: [1, 1, 1] });
    const [a, b, c] = pool.keys.map(({ id }) => id);
    pool.provider.forKey(pool.valueOf("A")).next(reply.status(429, { "retry-after": "600" }));
    pool.provider
      .forKey(pool.valueOf("B"))
      .next(reply.json(401, {}, { error: { message: `Incorrect API key provided: ${pool.valueOf("B")}.` } }));
    const before = Date.now();
    await (await pool.send({ session: "explained" })).arrayBuffer();

    const request = await newestOf(pool, 1);

    expect(request).toMatchObject({ status: 200, error: null, key_id: c, session_id: "explained", standing: null });
    expect(
      request.attempts.map((attempt) => [attempt.key_id, attempt.why, attempt.http_status, attempt.outcome]),
    ).toEqual([
      [a, "turn", 429, "rate_limited"],
      [b, "turn", 401, "key_refused"],
      [c, "turn", 200, "succeeded"],
    ]);
    expect(request.attempts.map(({ message }) => message)).toEqual([
      null,
      "Incorrect API key provided: [redacted].",
      null,
    ]);
    for (const attempt of request.attempts) {
      expect(Date.parse(attempt.started_at)).toBeGreaterThanOrEqual(before);
      expect(attempt.duration_ms).toBeGreaterThan(0);
    }
    expect(request.decision).toMatch(
      /^A had its turn.*: rate_limited\. B had its turn.*: key_refused\. C had its turn/,
    );
    expect((await requestsOf(pool, `&key=${b}`)).map(({ id }) => id)).toEqual([request.id]);
    expect(await gateway.api("GET", `/requests/${request.id}`)).toEqual(request);
  });

  it("tells which keys were passed over, and why", async () => {
    await using pool = await poolOf(gateway, { weights: [1, 1, 1] });
    const [a, b, c] = pool.keys.map(({ id }) => id);
    pool.provider.forKey(pool.valueOf("A")).next(reply.status(429, { "retry-after": "600" }));
    pool.provider.forKey(pool.valueOf("B")).next(reply.json(401, {}, {}));
    await pool.turns(2);

    const [attempt] = (await newestOf(pool, 2)).attempts;

    expect(attempt?.key_id).toBe(c);
    expect(attempt?.passed_over.map(({ key_id, because }) => [key_id, because])).toEqual([
      [a, "rate_limited"],
      [b, "authentication_failed"],
    ]);
  });

  it("tells why each key: its turn, its session, what it continues, what it made", async () => {
    await using pool = await poolOf(gateway, { weights: [1, 1, 1] });
    const why = async (count: number): Promise<string | undefined> => (await newestOf(pool, count)).attempts[0]?.why;

    await (await pool.send({ session: "s" })).arrayBuffer();
    expect(await why(1)).toBe("turn");
    await (await pool.send({ session: "s" })).arrayBuffer();
    expect(await why(2)).toBe("session");

    const body = { model: "m", messages: [hello] };
    const { choices } = (await (await pool.send({ body })).json()) as { choices: [{ message: object }] };
    const messages = [hello, choices[0].message, { role: "user", content: "More" }];
    await (await pool.send({ body: { model: "m", messages } })).arrayBuffer();
    expect(await why(4)).toBe("continuation");

    const path = "/v1/responses";
    const made = (await (await pool.send({ path, body: { model: "m", input: "Hello" } })).json()) as { id: string };
    const next = { model: "m", input: "More", previous_response_id: made.id };
    await (await pool.send({ path, body: next })).arrayBuffer();
    expect(await why(6)).toBe("pin");
  });

  it("tells how the pool stood when no key was left", async () => {
    await using pool = await poolOf(gateway, { weights: [1, 1] });
    for (const letter of ["A", "B"]) pool.provider.forKey(pool.valueOf(letter)).next(reply.status(429));
    await (await pool.send()).arrayBuffer();

    expect(await newestOf(pool, 1)).toMatchObject({
      status: 429,
      error: "pool_exhausted",
      key_id: null,
      standing: { total: 2, resting: 2, disabled: 0, unresolved: 0, tried: 0 },
    });
    expect(await totalOf(pool)).toMatchObject({ requests: 1, errors: 1, failovers: 2 });
  });

  it("tells what went through the provider-level key", async () => {
    await using pool = await poolOf(gateway, { keys: [], apiKey: "sk-test-own-0123456789abcdef" });
    await (await pool.send()).arrayBuffer();

    expect(await newestOf(pool, 1)).toMatchObject({ status: 200, key_id: "provider", usage: { reasoning_tokens: 0 } });
  });

  it("is the same after a restart, with the counts of the keys", async () => {
    await using pool = await poolOf(gateway, { weights: [1, 1] });
    pool.provider.forKey(pool.valueOf("A")).next(reply.status(429));
    await pool.turns(3);
    await newestOf(pool, 3);
    const before = await requestsOf(pool);
    const [total, stats] = [await totalOf(pool), statsOf(await pool.key("B"))];
    const stream = await gateway.api<{ total: object }>("GET", `/usage?provider=${pool.record.id}&by=minute`);

    await gateway.restart();

    expect(await requestsOf(pool)).toEqual(before);
    expect(await totalOf(pool)).toEqual(total);
    expect(stream.total).toEqual(total);
    expect(statsOf(await pool.key("B"))).toEqual(stats);
  });

  it("loses the last second at the most when it is killed", async () => {
    await using pool = await poolOf(gateway, { weights: [1, 1] });
    await pool.turns(5);
    await newestOf(pool, 5);
    const [before, total] = [await requestsOf(pool), await totalOf(pool)];
    // Real time, because it is the contract's own bound.
    await new Promise((resolve) => setTimeout(resolve, 1_100));

    await gateway.kill("SIGKILL");
    await gateway.restart();

    expect(await requestsOf(pool)).toEqual(before);
    expect(await totalOf(pool)).toEqual(total);
  });

  it("holds no secret that a client has put into a path, a query or a model", async () => {
    await using pool = await poolOf(gateway, { weights: [1] });
    const secret = pool.valueOf("A");
    const path = `/v1/models/${secret}?key=${secret}`;
    await (await pool.send({ path, body: { model: secret, messages: [] } })).arrayBuffer();
    await newestOf(pool, 1);
    await gateway.restart();

    const told = JSON.stringify([
      await requestsOf(pool),
      await gateway.api("GET", `/usage?provider=${pool.record.id}&by=model`),
    ]);
    const files = readdirSync(gateway.dataDir, { withFileTypes: true })
      .filter((entry) => entry.isFile())
      .map(({ name }) => readFileSync(join(gateway.dataDir, name), "latin1"));
    expect(told).toContain("[redacted]");
    expect([told, ...files].filter((text) => text.includes(secret))).toEqual([]);
  });
});

function statsOf(key: object): unknown {
  return "stats" in key ? key.stats : undefined;
}

/** What an answer said about its tokens, found by other means than the gateway's. */
function reported(text: string): Tokens {
  const objects = text.startsWith("{")
    ? [text]
    : text.split("\n").flatMap((line) => /^data: (\{.*)$/.exec(line)?.[1] ?? []);
  const found = objects.map((json) => JSON.parse(json) as Record<string, any>); // oxlint-disable-line typescript/no-explicit-any -- answers of every dialect
  const all = found.flatMap(({ usage, usageMetadata, message, response }) => {
    const one = usage ?? usageMetadata ?? message?.usage ?? response?.usage;
    return one === undefined || one === null ? [] : [one as Record<string, number>];
  });
  const last = Object.assign({}, ...all) as Record<string, number>;
  return {
    input_tokens: last["prompt_tokens"] ?? last["input_tokens"] ?? last["promptTokenCount"] ?? -1,
    cache_read_tokens: 0,
    cache_write_tokens: 0,
    output_tokens: last["completion_tokens"] ?? last["output_tokens"] ?? last["candidatesTokenCount"] ?? -1,
    reasoning_tokens: 0,
  };
}

describe("contract: usage", () => {
  const chat = { model: "gpt-test", messages: [{ role: "user", content: "Tell me of wheels and keys" }] };
  const message = { ...chat, max_tokens: 99 };
  const generate = { contents: [{ role: "user", parts: [{ text: "Tell me of wheels and keys" }] }] };
  const gemini = "/v1beta/models/gemini-test:";

  it.each<[string, "openai" | "anthropic" | "gemini", readonly { path: string; body: object }[]]>([
    [
      "OpenAI chat",
      "openai",
      [
        { path: "/v1/chat/completions", body: chat },
        { path: "/v1/chat/completions", body: { ...chat, stream: true, stream_options: { include_usage: true } } },
      ],
    ],
    [
      "OpenAI responses",
      "openai",
      [
        { path: "/v1/responses", body: { model: "gpt-test", input: "Tell me of wheels" } },
        { path: "/v1/responses", body: { model: "gpt-test", input: "Tell me of wheels", stream: true } },
      ],
    ],
    [
      "Anthropic messages",
      "anthropic",
      [
        { path: "/v1/messages", body: message },
        { path: "/v1/messages", body: { ...message, stream: true } },
      ],
    ],
    [
      "Gemini",
      "gemini",
      [
        { path: `${gemini}generateContent`, body: generate },
        { path: `${gemini}streamGenerateContent?alt=sse`, body: generate },
      ],
    ],
  ])("is what the provider reported: %s, in JSON and in a stream", async (_, kind, calls) => {
    await using pool = await poolOf(gateway, { kind, weights: [1, 1] });
    const sums = { input_tokens: 0, output_tokens: 0 };

    for (const [index, call] of calls.entries()) {
      const tokens = reported(await (await pool.send(call)).text());
      sums.input_tokens += tokens.input_tokens;
      sums.output_tokens += tokens.output_tokens;

      expect(tokens.output_tokens).toBeGreaterThan(0);
      expect((await newestOf(pool, index + 1)).usage).toEqual(tokens);
    }

    expect(await totalOf(pool)).toMatchObject({ ...sums, requests: calls.length, errors: 0 });
  });

  it("is told apart by key, label, token and model, and stays when the key goes", async () => {
    await using pool = await poolOf(gateway, { weights: [1, 1] });
    const token = await gateway.api<{ id: string; token: string }>("POST", "/tokens", { name: "laptop" });
    for (const model of ["one", "one", "two", "two"]) {
      const headers = { authorization: `Bearer ${token.token}` };
      await (await pool.send({ headers, body: { ...chat, model } })).arrayBuffer();
    }
    await newestOf(pool, 4);
    await gateway.api("DELETE", `/keys/${pool.keys[0]?.id}`);
    const rows = async (by: string): Promise<string[]> => {
      const path = `/usage?provider=${pool.record.id}&by=${by}`;
      const { data } = await gateway.api<{ data: Record<string, string>[] }>("GET", path);
      const groups = by.split(",");
      return data.map((row) => {
        const place = groups.map((group) => row[group] ?? row[`${group}_id`]);
        return `${place.join()} ${row["requests"]}`;
      });
    };

    expect(await rows("label")).toEqual(["A 2", "B 2"]);
    expect((await rows("key")).sort()).toEqual(pool.keys.map(({ id }) => `${id} 2`).sort());
    expect(await rows("model,label")).toEqual(["one,A 1", "one,B 1", "two,A 1", "two,B 1"]);
    expect(await rows("token")).toEqual([`${token.id} 4`]);
  });
});

describe("contract: notices", () => {
  it("say to check the base URL when it refuses every key, and offer to enable them again", async () => {
    await using pool = await poolOf(gateway, { weights: [1, 1] });
    for (const value of pool.values) pool.provider.forKey(value).always(reply.json(401, {}, {}));
    await (await pool.send()).arrayBuffer();
    const find = async (): Promise<{ action: { method: string; path: string; body: object } } | undefined> => {
      const { data } = await gateway.api<{ data: { code: string; provider_id: string; action: never }[] }>(
        "GET",
        "/notices",
      );
      return data.find((notice) => notice.provider_id === pool.record.id && notice.code === "all_keys_refused");
    };

    const notice = await eventually(find, (found) => found !== undefined, { what: "the notice" });

    for (const value of pool.values) pool.provider.forKey(value).clear();
    await gateway.api(notice!.action.method, notice!.action.path.replace("/api", ""), notice!.action.body);
    expect((await pool.send()).status).toBe(200);
  });
});
