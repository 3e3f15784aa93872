import { inspect } from "node:util";
import { createFakeClock, openAiError, reply } from "@keywheel/testkit";
import { describe, expect, it } from "vitest";
import {
  createPool,
  isKeywheelError,
  type Journal,
  MemoryState,
  type PoolEvent,
  type PoolOptions,
  type PoolSnapshot,
  providers,
} from "../index.ts";
import { aPool, type PoolBench } from "./pool-bench.test-bench.ts";

const limited = openAiError(429, { message: "Slow down", type: "requests", code: "rate_limit_exceeded" });

async function statuses({ pool }: PoolBench): Promise<string> {
  return (await pool.keys()).map(({ id, status }) => `${id} ${status}`).join(", ");
}

function faultsOf(make: () => unknown): readonly string[] {
  try {
    make();
  } catch (error) {
    if (isKeywheelError(error)) return error.details.map(({ message }) => message);
  }
  throw new Error("nothing was refused");
}

describe("a pool of keys", () => {
  it("takes turns by weight", async () => {
    const bench = await aPool();
    await using _ = bench;
    const [a = "", b = "", c = ""] = bench.keys;

    await bench.pool.setKeys([
      { apiKey: a, id: "A", weight: 3 },
      { apiKey: b, id: "B", weight: 2 },
      { apiKey: c, id: "C" },
    ]);

    expect(await bench.pool.preview(8)).toEqual("AAABBCAA".split(""));
    expect(await bench.turns(8)).toBe("AAABBCAA");
  });

  it("rests a limited key for 60 s, then 120 s, and lets a success clear the count", async () => {
    await using bench = await aPool();
    const { provider, keys, clock, pool } = bench;
    provider.forKey(keys[0]!).next(limited).next(limited);

    expect(await bench.turns(1)).toBe("AB");
    const [first] = await pool.keys();
    expect(first).toMatchObject({
      status: "cooling_down",
      consecutiveFailures: 1,
      cooldownUntil: clock.now() + 60_000,
    });

    clock.advance(60_000);
    expect(await bench.turns(2)).toBe("CAB");
    const [again] = await pool.keys();
    expect(again).toMatchObject({ consecutiveFailures: 2, cooldownUntil: clock.now() + 120_000 });

    clock.advance(120_000);
    await bench.turns(3);
    expect((await pool.keys())[0]).toMatchObject({ status: "available", consecutiveFailures: 0, reason: null });
  });

  it("rests the keys of a group together when one of them meets a limit, and asks none of them in vain", async () => {
    await using bench = await aPool();
    const { provider, keys, clock, pool } = bench;
    const [a = "", b = "", c = ""] = keys;
    await pool.setKeys([
      { apiKey: a, id: "A", group: "one project" },
      { apiKey: b, id: "B", group: "one project" },
      { apiKey: c, id: "C" },
    ]);
    const cooled: string[] = [];
    pool.on("key-cooled", ({ keyId, sharedFrom, failures }) =>
      cooled.push(`${keyId} ${sharedFrom ?? "-"} ${failures}`),
    );
    provider.forKey(a).next(limited);

    expect(await bench.turns(3)).toBe("ACCC");

    const until = clock.now() + 60_000;
    expect(cooled).toEqual(["A - 1", "B A 0"]);
    expect(await pool.keys()).toMatchObject([
      { id: "A", group: "one project", status: "cooling_down", cooldownUntil: until, consecutiveFailures: 1 },
      { id: "B", status: "cooling_down", cooldownUntil: until, reason: { wait: "shared", sharedFrom: "A" } },
      { id: "C", group: "", status: "available", reason: null },
    ]);
    clock.advance(60_000);
    expect(await bench.turns(3)).toBe("ABC");
  });

  it("leaves a group alone where a key is refused, and with a model's own limit for other models", async () => {
    await using bench = await aPool({ cooldown: { scope: "model" } });
    const { provider, keys, pool } = bench;
    await pool.setKeys(keys.map((apiKey, at) => ({ apiKey, id: "ABC"[at] ?? "?", group: "g" })));
    const ask = async (model: string): Promise<string> => {
      const before = provider.requests.length;
      await (await bench.send({ body: JSON.stringify({ model, messages: [] }) })).text();
      return provider.picks().slice(before);
    };
    provider.forKey(keys[0]!).next(reply.status(401));
    provider.forKey(keys[2]!).next(limited);

    expect(await ask("gpt-one")).toBe("AB");
    expect(await ask("gpt-two")).toBe("C");
    expect(await ask("gpt-two")).toBe("");

    expect(await ask("gpt-one")).toMatch(/^[BC]$/);
    expect(await statuses(bench)).toBe("A disabled, B available, C available");
  });

  it("keeps a group's rest over a restart; a key that joins the group later does not share it", async () => {
    await using bench = await aPool();
    const { keys, options, pool } = bench;
    const grouped = keys.map((apiKey, at) => ({ apiKey, id: "ABC"[at] ?? "?", ...(at < 2 ? { group: "g" } : {}) }));
    await pool.setKeys(grouped);
    bench.provider.forKey(keys[0]!).next(limited);
    await bench.turns(1);

    await using restarted = createPool({ ...options, keys: grouped.map((key) => ({ ...key, group: "g" })) });
    await restarted.restore(await pool.snapshot());

    expect((await restarted.keys()).map(({ id, status }) => `${id} ${status}`)).toEqual([
      "A cooling_down",
      "B cooling_down",
      "C available",
    ]);
  });

  it("takes a refused key out until it is reset or has a new value", async () => {
    await using bench = await aPool();
    const { provider, keys, pool } = bench;
    provider.revoke(keys[0]!);

    expect(await bench.turns(3)).toBe("ABCB");
    expect(await statuses(bench)).toBe("A disabled, B available, C available");
    expect((await pool.keys())[0]?.reason).toMatchObject({ code: "authentication_failed", httpStatus: 401 });

    provider.accept(keys[0]!);
    expect(await pool.reset("A")).toBe(true);
    expect(await statuses(bench)).toBe("A available, B available, C available");
    expect(await pool.reset("Z")).toBe(false);
  });

  it("keeps a refused key out over a change of the others, and lets a new value in", async () => {
    await using bench = await aPool({ count: 2 });
    const { provider, keys, pool } = bench;
    provider.revoke(keys[0]!);
    await bench.turns(1);

    await pool.setKeys([
      { apiKey: keys[0]!, id: "A" },
      { apiKey: keys[1]!, id: "B", weight: 2 },
    ]);
    expect(await statuses(bench)).toBe("A disabled, B available");

    await pool.setKeys([{ apiKey: "sk-test-new-0123456789abcdef", id: "A" }]);
    expect(await statuses(bench)).toBe("A available");
  });

  it("keeps a session with its key, and lets go of it when asked to", async () => {
    await using bench = await aPool();
    const { provider, pool } = bench;
    for (const session of ["chat-1", "chat-2", "chat-1", "chat-2"]) await (await bench.send({ session })).text();

    expect(provider.picks()).toBe("ABAB");
    expect((await pool.keys()).map((key) => key.boundSessions)).toEqual([1, 1, 0]);

    expect(await pool.endSession("chat-1")).toBe(true);
    expect(await pool.endSession("chat-1")).toBe(false);
    await (await bench.send({ session: "chat-1" })).text();
    expect(provider.picks()).toBe("ABABC");
  });

  it("takes any text for the name of a session", async () => {
    await using bench = await aPool();
    const names = ["대화 1", "user@example.com\n", "대화 1", "user@example.com\n"];
    for (const session of names) await (await bench.send({ session })).text();

    expect(bench.provider.picks()).toBe("ABAB");
    expect(await bench.pool.endSession("대화 1")).toBe(true);
  });

  it("tells what happens, and a listener that throws harms no request", async () => {
    await using bench = await aPool();
    const { provider, keys, pool } = bench;
    const seen: string[] = [];
    const note = (event: PoolEvent): void => void seen.push(event.type);
    pool.on("key-cooled", note);
    pool.on("attempt-ended", note);
    const stop = pool.on("key-disabled", note);
    const thrown: unknown[] = [];
    const listeners = process.listeners("uncaughtException");
    process.removeAllListeners("uncaughtException").once("uncaughtException", (error) => thrown.push(error));
    pool.on("key-cooled", () => {
      throw new Error("the listener broke");
    });
    provider.forKey(keys[0]!).next(limited);
    provider.revoke(keys[1]!);

    expect((await bench.send()).status).toBe(200);
    await new Promise(setImmediate);
    for (const listener of listeners) process.on("uncaughtException", listener);

    expect(seen).toEqual(["attempt-ended", "key-cooled", "attempt-ended", "key-disabled", "attempt-ended"]);
    expect(thrown).toMatchObject([{ message: "the listener broke" }]);
    stop();
    provider.revoke(keys[2]!);
    await bench.send();
    expect(seen.filter((type) => type === "key-disabled")).toHaveLength(1);
  });

  it("shows no secret, however it is printed", async () => {
    await using bench = await aPool();
    const { keys, provider, pool } = bench;
    const events: PoolEvent[] = [];
    for (const type of ["key-cooled", "key-disabled", "attempt-ended", "pool-exhausted"] as const)
      pool.on(type, (event) => events.push(event));
    for (const key of keys)
      provider
        .forKey(key)
        .always(openAiError(401, { message: `Incorrect API key provided: ${key}.`, type: "x", code: "y" }));
    const response = await bench.send();

    const shown = [
      JSON.stringify(pool),
      inspect(pool, { depth: 9, showHidden: true }),
      JSON.stringify(await pool.keys()),
      JSON.stringify(await pool.snapshot()),
      JSON.stringify(events),
      await response.text(),
      JSON.stringify([...response.headers]),
    ].join("\n");

    expect(events.map(({ type }) => type)).toContain("key-disabled");
    for (const key of keys) expect(shown).not.toContain(key.slice(4, 20));
    expect(shown).toContain("[redacted]");
  });
});

describe("options", () => {
  it("are refused all at once, with where and why, and no part of a key", () => {
    const make = (): unknown =>
      createPool({
        provider: providers.openai,
        keys: [
          { apiKey: "sk-with white-0123456789", weight: 0 },
          { apiKey: "sk-same-0123456789", id: "one" },
          "sk-same-0123456789",
          undefined as unknown as string,
          "",
          { apiKey: "sk-other-0123456789", id: "one", weight: 1.5 },
        ],
      });

    expect(faultsOf(make)).toEqual([
      "Expected `keys[0].weight` to be an integer from 1 to 100, got 0",
      "`keys[0]`: There is white space at position 8: a key has none inside",
      "`keys[2]` is the same key as `keys[1]`",
      '`keys[3]` is no key: is an environment variable not set? Write "$NAME" to have it named',
      "`keys[4]`: The key is empty",
      "Expected `keys[5].weight` to be an integer from 1 to 100, got 1.5",
      "`keys[5].id` is taken by another key",
    ]);
  });

  it("whose group is no name are told", () => {
    const group = 7 as unknown as string;
    const make = (): unknown =>
      createPool({
        provider: providers.openai,
        keys: [
          { apiKey: "$KEY_1", group },
          { apiKey: "$KEY_2", group: "g".repeat(101) },
        ],
      });

    expect(faultsOf(make)).toEqual(
      [0, 1].map((at) => `Expected \`keys[${at}].group\` to be a text of at most 100 characters`),
    );
  });

  it.each([
    [{ cooldown: { baseMs: 99 } }, "Expected `cooldown.baseMs` to be an integer from 100 to 86400000, got 99"],
    [{ cooldown: { capMs: 50_000 } }, "Expected `cooldown.capMs` to be an integer from 60000 to 86400000, got 50000"],
    [{ affinity: { idleTtlMs: 0 } }, "Expected `affinity.idleTtlMs` to be an integer from 1 to"],
    [{ retry: { providerErrors: 11 } }, "Expected `retry.providerErrors` to be an integer from 0 to 10, got 11"],
    [{ baseURL: "llm.example.com/v1" }, 'Expected `baseURL` to be an http or https URL, got "llm.example.com/v1"'],
  ])("%j are out of range", (options, message) => {
    const make = (): unknown => createPool({ provider: providers.openai, keys: [], ...options });

    expect(faultsOf(make)).toEqual([expect.stringContaining(message)]);
  });

  it("of programs without types are told what is wanted", () => {
    const make = (): unknown => createPool({ provider: "openai", keys: "$KEY" } as unknown as PoolOptions);

    expect(faultsOf(make)).toEqual([
      'Expected `provider` to be one of `providers`, such as `providers.openai`, got "openai"',
      "Expected `keys` to be a list of keys, got string",
    ]);
  });

  it("name environment variables, and the error names those that are not set", async () => {
    const env = { KEY_1: undefined, KEY_2: " ", KEY_3: "'sk-test-3-0123456789'" };
    const calls: string[] = [];
    const fetch: typeof globalThis.fetch = async (_, init) => {
      calls.push(new Headers(init?.headers).get("authorization") ?? "");
      return new Response("{}", { headers: { "content-type": "application/json" } });
    };
    await using pool = createPool({ provider: providers.openai, keys: ["$KEY_1", "$KEY_2", "$KEY_3"], env, fetch });
    const call = () => pool.fetch()("https://api.openai.com/v1/models");

    expect((await pool.keys()).map(({ id, status }) => `${id} ${status}`)).toEqual([
      "$KEY_1 unresolved",
      "$KEY_2 unresolved",
      "$KEY_3 available",
    ]);
    expect((await call()).status).toBe(200);
    expect(calls).toEqual(["Bearer sk-test-3-0123456789"]);

    await pool.setKeys(["$KEY_1", "$KEY_2"]);
    const refused = await call();
    expect([refused.status, refused.headers.get("x-keywheel-error")]).toEqual([503, "no_usable_key"]);
    expect(await refused.text()).toContain(
      "of 2 keys 2 are unresolved. The environment variable KEY_1 is not set. The environment variable KEY_2 is empty.",
    );
  });
});

describe("a snapshot", () => {
  it("survives JSON and brings back rests, refusals and sessions", async () => {
    await using bench = await aPool();
    const { provider, keys, clock } = bench;
    provider.forKey(keys[0]!).next(limited);
    provider.revoke(keys[1]!);
    await (await bench.send({ session: "chat-1" })).text();
    const snapshot = JSON.parse(JSON.stringify(await bench.pool.snapshot())) as PoolSnapshot;

    const pool = createPool(bench.options);
    await pool.restore(snapshot);
    clock.advance(1_000);

    const [a, b, c] = await pool.keys();
    expect(a).toMatchObject({ status: "cooling_down", consecutiveFailures: 1, cooldownUntil: clock.now() + 59_000 });
    expect(b).toMatchObject({ status: "disabled", reason: { code: "authentication_failed" } });
    expect(c).toMatchObject({ status: "available", boundSessions: 1 });
    expect(await pool.endSession("chat-1")).toBe(true);
  });

  it("says nothing about a key that has another value now", async () => {
    await using bench = await aPool({ count: 1 });
    bench.provider.revoke(bench.keys[0]!);
    await bench.send();
    const snapshot = await bench.pool.snapshot();

    const pool = createPool({ ...bench.options, keys: [{ apiKey: "sk-test-new-0123456789wxyz", id: "A" }] });
    await pool.restore(snapshot);

    expect(await pool.keys()).toMatchObject([{ status: "available", reason: null }]);
  });

  it("that is none is refused", async () => {
    await using bench = await aPool({ count: 1 });

    await expect(bench.pool.restore({ version: 2 } as unknown as PoolSnapshot)).rejects.toMatchObject({
      code: "validation_failed",
      message: "What was given to `restore` is no snapshot of a pool",
    });
  });
});

describe("a store", () => {
  it("is read before the first request and written before the retry is sent", async () => {
    const order: string[] = [];
    const stored: PoolSnapshot[] = [];
    const store = {
      load: () => stored.at(-1),
      async save(snapshot: PoolSnapshot) {
        await Promise.resolve();
        stored.push(snapshot);
        order.push(
          `saved ${snapshot.keys.map(({ refused, health }) => (refused ? "out" : health.failures)).join(" ")}`,
        );
      },
    };
    await using bench = await aPool({ store });
    const { provider, keys } = bench;
    provider.revoke(keys[0]!);
    provider.forKey(keys[1]!).next(limited);
    bench.pool.on("attempt-ended", ({ attempt }) => order.push(`${attempt.keyId} ${attempt.outcome}`));

    await (await bench.send()).text();

    expect(order).toEqual(["A key_refused", "saved out 0 0", "B model_rate_limited", "saved out 1 0", "C succeeded"]);
    await using again = createPool(bench.options);
    expect((await again.keys()).map(({ status }) => status)).toEqual(["disabled", "cooling_down", "available"]);
  });

  it("that fails holds up no request, and is told of", async () => {
    const notices: string[] = [];
    const store = { load: () => undefined, save: () => Promise.reject(new Error("the disk is full")) };
    await using bench = await aPool({ store });
    bench.pool.on("notice", ({ code, message }) => notices.push(`${code}: ${message}`));
    bench.provider.forKey(bench.keys[0]!).next(limited);

    expect((await bench.send()).status).toBe(200);
    expect(notices).toEqual(["store_failed: the disk is full"]);
  });
});

describe("ports of one's own", () => {
  it("hold the state and are told what must last", async () => {
    const records: string[] = [];
    const clock = createFakeClock();
    const state = new MemoryState({ clock });
    const journal: Journal = {
      saveHealth: async ({ keyId, health }) => void records.push(`${keyId} failed ${health.failures}`),
      disableKey: async ({ keyId, reason }) => void records.push(`${keyId} ${reason.code}`),
    };
    await using bench = await aPool({ state, journal, clock });
    bench.provider.forKey(bench.keys[0]!).next(limited);
    bench.provider.revoke(bench.keys[1]!);

    await (await bench.send({ session: "chat-1" })).text();

    expect(records).toEqual(["A failed 1", "B authentication_failed"]);
    expect((await state.snapshot("openai")).map(({ boundSessions }) => boundSessions)).toEqual([0, 0, 1]);
    expect(await bench.pool.snapshot()).toMatchObject({ sessions: [], pins: [] });
  });

  it("that fail hold up no request, and are told of", async () => {
    const notices: string[] = [];
    const fail = (): Promise<void> => Promise.reject(new Error("the table is gone"));
    await using bench = await aPool({ journal: { saveHealth: fail, disableKey: fail } });
    bench.pool.on("notice", ({ code, message }) => notices.push(`${code}: ${message}`));
    bench.provider.revoke(bench.keys[0]!);

    expect((await bench.send()).status).toBe(200);
    expect(notices).toEqual(["journal_failed: the table is gone"]);
  });
});

describe("a provider of one's own", () => {
  it("speaks OpenAI's API, at its address and nowhere else", async () => {
    const provider = providers.openaiCompatible({ name: "My vLLM", baseURL: "http://llm.example:8000/v1" });
    const fetch: typeof globalThis.fetch = async () =>
      Response.json({ error: { message: "Slow down" } }, { status: 429 });
    await using pool = createPool({ provider, keys: ["sk-test-0123456789"], fetch });

    const served = await pool.fetch()("http://llm.example:8000/v1/models");
    const refused = await pool.fetch()("http://llm.example:8001/v1/models");

    expect(pool.name).toBe("custom");
    expect(((await served.json()) as { error: { message: string } }).error.message).toContain(
      'No key of the provider "My vLLM" can serve this request: of 1 key 1 is cooling down.',
    );
    expect(refused.status).toBe(400);
  });

  it("speaks Anthropic's API with what is known of its maker", async () => {
    const baseURL = "https://api.deepseek.com/anthropic";
    const provider = providers.anthropicCompatible({ name: "DeepSeek", baseURL, slug: "deepseek" }, providers.deepseek);
    const sent: string[] = [];
    const fetch: typeof globalThis.fetch = async (_, init) => {
      sent.push(new Headers(init?.headers).get("x-api-key") ?? "");
      return Response.json({ error: { type: "rate_limit_error", message: "Slow down" } }, { status: 429 });
    };
    await using pool = createPool({ provider, keys: ["sk-test-0123456789"], cooldown: { scope: "model" }, fetch });
    const body = JSON.stringify({ model: "deepseek-chat", messages: [] });
    const headers = { "content-type": "application/json" };

    const response = await pool.fetch()(`${baseURL}/v1/messages`, { method: "POST", headers, body });

    expect(sent).toEqual(["sk-test-0123456789"]);
    // Its own answers say that the limit is the model's: the key itself does not rest.
    expect((await pool.keys())[0]?.status).toBe("available");
    expect(await response.json()).toMatchObject({ type: "error", error: { type: "rate_limit_error" } });
  });
});

it("takes no more requests once it is closed, and saves", async () => {
  let saved = 0;
  await using bench = await aPool({ store: { load: () => null, save: () => void saved++ } });

  await bench.pool.close();
  await bench.pool.close();
  const response = await bench.send();

  expect(saved).toBe(1);
  expect(response.status).toBe(503);
  expect(await response.text()).toContain("This pool of keys was closed.");
  expect(bench.provider.requests).toHaveLength(0);
});
