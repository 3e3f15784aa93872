import { openAiError, reply, runGateway } from "@keywheel/testkit";
import { describe, expect, it } from "vitest";
import type { FullStatus } from "../../packages/gateway/src/cli/commands/status-affinity.ts";
import { type PooledProvider, poolOf } from "../pooled-provider.ts";
import { runCommand } from "./run-command.ts";

const limited = openAiError(429, { message: "Rate limit reached", type: "requests", code: "rate_limit_exceeded" });

/** 1,000 tokens of input, so many of which the provider had in its cache. */
function anAnswer(cached: number) {
  const usage = { prompt_tokens: 1_000, completion_tokens: 9, prompt_tokens_details: { cached_tokens: cached } };
  return reply.json(200, {}, { choices: [{ message: { role: "assistant", content: "Hi" } }], usage });
}

/** Each over a connection of its own, so that it may reach any of the processes. */
async function send(pool: PooledProvider, session: string): Promise<string | null> {
  const response = await pool.send({ session, headers: { connection: "close" } });
  await response.arrayBuffer();
  return response.headers.get("x-keywheel-key");
}

describe.each([
  { name: "one process", flags: [] },
  { name: "three processes", flags: ["--workers", "3"] },
])("affinity of a gateway of $name", ({ flags }) => {
  it("is told by the API and the command line, also of a session that came after its key had begun to rest", async () => {
    await using gateway = await runGateway({ flags });
    await using pool = await poolOf(gateway, { weights: [1, 1], faultsAreExpected: true });
    const [a, b] = pool.keys.map(({ id }) => id);
    const onA = pool.provider.on({ key: pool.valueOf("A") }).always(anAnswer(800));
    pool.provider.on({ key: pool.valueOf("B") }).always(anAnswer(0));
    expect(await send(pool, "one")).toBe(a);
    expect(await send(pool, "two")).toBe(b);
    expect(await send(pool, "three")).toBe(a);
    expect(await send(pool, "three")).toBe(a);
    onA.clear().always(limited);
    expect(await send(pool, "one")).toBe(b);

    expect(await send(pool, "three")).toBe(b);

    // oxlint-disable-next-line typescript/no-explicit-any -- tests look into answers of every shape
    const { data }: any = await gateway.api("GET", `/affinity?provider=${pool.record.slug}`);
    expect(data[0]).toMatchObject({
      kept: { requests: 1, cached_share: 0.8 },
      new: { requests: 3 },
      left: { requests: 2, cached_share: 0 },
      reasons: [{ reason: "rate_limited", requests: 2 }],
      left_share: 2 / 6,
    });
    const session: unknown = await gateway.api("GET", `/sessions/three/affinity?provider=${pool.record.slug}`);
    expect(session).toMatchObject({
      steps: [
        { key_id: b, fate: "rate_limited", left: { key_id: a } },
        { key_id: a, fate: "kept", left: null, cache_read_tokens: 800 },
        { key_id: a, fate: "new", left: null },
      ],
    });
    const keywheel = async (words: string): Promise<string> => {
      const env = { KEYWHEEL_DATA_DIR: gateway.dataDir };
      const { stdout, stderr, code } = await runCommand(words.split(" "), { home: gateway.dataDir, env });
      expect([code, stderr]).toEqual([0, ""]);
      return stdout;
    };
    expect(await keywheel("status")).toMatch(/Kept key +Cached[^]*33\.3% +40%/);
    const { providers } = JSON.parse(await keywheel("status --json")) as FullStatus;
    expect(providers.find(({ id }) => id === pool.record.id)?.affinity).toEqual({
      requests: 6,
      kept_share: 1 / 3,
      cached_share: 0.4,
    });
    const told = await keywheel(`provider affinity ${pool.record.slug}`);
    expect(told).toMatch(/kept their key +1 +1000 +80%/);
    expect(told).toContain("33.3% of all had to leave theirs:\n  rate limited: 2 requests\n");
    const shown = await keywheel(`session show three --provider ${pool.record.slug}`);
    expect(shown).toMatch(/It changed its key:\n.* A → B: rate limited\n/);
    expect(JSON.parse(await keywheel(`session show three --json`))).toEqual(session);
  }, 90_000);
});

it("refuses what are no days, and says so of a pool and a session that it knows nothing of", async () => {
  await using gateway = await runGateway();
  await using pool = await poolOf(gateway);
  const run = (words: string) =>
    runCommand(words.split(" "), { home: gateway.dataDir, env: { KEYWHEEL_DATA_DIR: gateway.dataDir } });

  const wrong = await run(`provider affinity ${pool.record.slug} --days 0`);
  expect([wrong.code, wrong.stderr]).toEqual([
    2,
    expect.stringContaining("--days must be a whole number from 1 to 400"),
  ]);
  const quiet = await run(`provider affinity ${pool.record.slug} --days 7`);
  expect(quiet.stdout).toBe(`No request has asked a key of ${pool.record.slug} in 7 days.\n`);
  const unknown = await run("session show nobody");
  expect([unknown.code, unknown.stderr]).toEqual([1, expect.stringContaining("No request of this session is kept")]);
});
