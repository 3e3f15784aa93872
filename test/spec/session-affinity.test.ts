import { reply, runGateway, type RunningGateway } from "@keywheel/testkit";
import { beforeAll, describe, expect, it } from "vitest";
import { poolOf, type PooledProvider } from "../pooled-provider.ts";

let gateway: RunningGateway;
beforeAll(async () => {
  gateway = await runGateway();
  return () => gateway[Symbol.asyncDispose]();
});

const shortCooldown = { cooldown: { base_ms: 100, cap_ms: 1_500 } };

async function served(pool: PooledProvider, session: string): Promise<string> {
  const before = pool.provider.requests.length;
  const response = await pool.send({ session });
  await response.arrayBuffer();
  expect(response.status).toBe(200);
  return pool.provider.picks((request) => pool.provider.requests.indexOf(request) >= before);
}

describe('spec: "All requests within the same chat session are bound to the same API key."', () => {
  it("keeps each of several sessions with its key while others pass by", async () => {
    await using pool = await poolOf(gateway, { weights: [1, 1, 1] });

    const rounds: string[] = [];
    for (let round = 0; round < 3; round++) {
      const first = await served(pool, "one");
      const second = await served(pool, "two");
      rounds.push(first + second + (await pool.turns(1)));
    }

    // A bound session's requests take no turn: only the third of each round moves the wheel on.
    expect(rounds).toEqual(["ABC", "ABA", "ABB"]);
  });

  it("spreads the sessions of a client that asks before each of them whether anybody is there", async () => {
    await using pool = await poolOf(gateway, { kind: "anthropic", weights: [1, 1] });

    // As Claude Code does: when its probe took turns, every session came to B.
    const keys: string[] = [];
    for (const session of ["one", "two", "three", "four"]) {
      await fetch(`${pool.baseUrl}/api/hello`, { method: "HEAD" });
      keys.push(await served(pool, session));
    }

    expect(keys.join("")).toBe("ABAB");
  });

  it("shows the session that was recognised, and lists it with its key", async () => {
    await using pool = await poolOf(gateway);

    const response = await pool.send({ session: "chat-42" });
    await response.arrayBuffer();

    expect(response.headers.get("x-keywheel-session")).toBe("chat-42");
    expect(response.headers.get("x-keywheel-key")).toBe(pool.keys[0]?.id);
    expect((await pool.key("A")).bound_sessions).toBe(1);
  });
});

describe("spec: Session Affinity, the two reasons", () => {
  it('"Prompt caching: … consecutive requests using the same key can hit the cache": a conversation that goes on stays', async () => {
    await using pool = await poolOf(gateway, { weights: [1, 1, 1] });
    const messages: object[] = [{ role: "user", content: "What is a wheel?" }];

    for (let turn = 0; turn < 4; turn++) {
      const response = await pool.send({ body: { model: "gpt-test", messages } });
      const { choices } = (await response.json()) as { choices: { message: object }[] };
      messages.push(choices[0]?.message ?? {}, { role: "user", content: `And then (${turn})?` });
    }

    expect(pool.provider.picks()).toBe("AAAA");
  });

  it('"Consistency": ten requests of one conversation meet one key, not ten counters', async () => {
    await using pool = await poolOf(gateway, { weights: [1, 1, 1] });

    expect(await pool.turns(10, { session: "steady" })).toBe("AAAAAAAAAA");
  });

  it("gives a first turn its turn on the wheel, even when its text repeats", async () => {
    await using pool = await poolOf(gateway, { weights: [1, 1] });

    expect(await pool.turns(4)).toBe("ABAB");
  });
});

describe('spec: "Session binding is reassigned in the following situations"', () => {
  it('"The currently bound key is disabled"', async () => {
    await using pool = await poolOf(gateway);
    const before = await served(pool, "s");

    await gateway.api("PATCH", `/keys/${pool.keys[0]?.id}`, { enabled: false });

    expect(before + (await served(pool, "s")) + (await served(pool, "s"))).toBe("ABB");
  });

  it('"The currently bound key is … deleted"', async () => {
    await using pool = await poolOf(gateway);
    const before = await served(pool, "s");

    await gateway.api("DELETE", `/keys/${pool.keys[0]?.id}`);

    expect(before + (await served(pool, "s"))).toBe("AB");
  });

  it('"The currently bound key enters a cooldown period due to errors"', async () => {
    await using pool = await poolOf(gateway);
    const before = await served(pool, "s");
    pool.provider.forKey(pool.valueOf("A")).next(reply.status(429));

    // The request that meets the error is retried with the new key, and the session stays there.
    expect(before + (await served(pool, "s")) + (await served(pool, "s"))).toBe("AABB");
  });

  it("does not go back to the old key once that has rested", async () => {
    await using pool = await poolOf(gateway, { settings: shortCooldown });
    await served(pool, "s");
    pool.provider.forKey(pool.valueOf("A")).next(reply.status(429));
    await served(pool, "s");

    await pool.becomes("A", "available");

    expect(await served(pool, "s")).toBe("B");
  });

  it('"The session ends (closed or deleted)": its next request takes its turn on the wheel', async () => {
    await using pool = await poolOf(gateway);
    const before = await served(pool, "s");

    await gateway.api("DELETE", "/sessions/s");

    expect(before + (await served(pool, "s"))).toBe("AB");
  });

  it("ends an unknown session without complaint", async () => {
    const response = await gateway.apiResponse("DELETE", "/sessions/nobody-has-seen-this");

    expect(response.ok).toBe(true);
  });

  it("spreads the sessions of a resting key over the others by weight", async () => {
    await using pool = await poolOf(gateway, { weights: [100, 2, 1] });
    for (let i = 0; i < 6; i++) await served(pool, `s${i}`);
    pool.provider.forKey(pool.valueOf("A")).next(reply.status(429));
    await served(pool, "s0");
    pool.provider.forget();

    for (let i = 0; i < 6; i++) await served(pool, `s${i}`);

    expect(pool.provider.counts()).toEqual({ B: 4, C: 2 });
  });
});
