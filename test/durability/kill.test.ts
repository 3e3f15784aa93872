import { type KeyView, reply, runGateway, type RunningGateway } from "@keywheel/testkit";
import { beforeAll, describe, expect, it } from "vitest";
import { poolOf, type PooledProvider, storedKey, storedRestMs } from "../pooled-provider.ts";

let gateway: RunningGateway;
beforeAll(async () => {
  gateway = await runGateway();
  return () => gateway[Symbol.asyncDispose]();
});

const kills = 20;

/** What could be known of keys outside the process before it was killed. */
interface Learnt {
  readonly disabled: Set<string>;
  readonly failures: Map<string, number>;
}

/** Calls from several clients until the process under them is gone. Each call has a body of its own. */
function underLoad(pool: PooledProvider, clients = 8): Promise<unknown> {
  return Promise.all(
    Array.from({ length: clients }, async (_, client) => {
      for (let call = 0; ; call++) {
        try {
          await (await pool.send({ session: `load-${client}`, body: bodyOf(`load ${client}.${call}`) })).arrayBuffer();
        } catch {
          // The process was killed under the request.
          return;
        }
      }
    }),
  );
}

function bodyOf(content: string): object {
  return { model: "gpt-test", messages: [{ role: "user", content }] };
}

/** The attempt that met this key, and the retry of the same request, once both have reached the provider. */
function failedOver({ provider }: PooledProvider, value: string): boolean {
  const met = provider.requests.find((request) => request.key === value);
  return met !== undefined && provider.requests.some((one) => one.key !== value && one.bodyHash === met.bodyHash);
}

function healthOf(key: KeyView): object {
  const { status, enabled, cooldown_until: until, consecutive_failures: failures, status_reason: reason } = key;
  return { status, enabled, until, failures, code: reason?.code, http: reason?.http_status };
}

describe("contract: Cooldowns, failure counts, disabled keys and session bindings survive kill -9", () => {
  it(`loses nothing of what a client was told, ${kills} times over`, async () => {
    await using pool = await poolOf(gateway, {
      weights: Array.from({ length: 24 }, () => 1),
      settings: { cooldown: { base_ms: 600_000, cap_ms: 3_600_000 } },
    });
    const learnt: Learnt = { disabled: new Set(), failures: new Map() };
    const letters = pool.keys.map((_, at) => String.fromCharCode(65 + at));
    const spare = letters.slice(kills);

    for (let round = 0; round < kills; round++) {
      const letter = letters[round] ?? "";
      const refused = round % 2 === 0;
      const load = underLoad(pool);
      pool.provider.forKey(pool.valueOf(letter)).always(refused ? reply.json(401, {}, {}) : reply.status(429));

      // The key's turn comes with one of the next sessions.
      for (let at = 0; pool.provider.picks((one) => one.key === pool.valueOf(letter)) === ""; at++) {
        if (at > 60) throw new Error(`key ${letter} never had its turn`);
        const probe = { session: `probe-${round}-${at}`, body: bodyOf(`probe ${round}.${at}`) };
        await (await pool.send(probe)).arrayBuffer();
      }
      // The retry of the refused request is the first sign that anybody outside can have of it.
      await pool.provider.until(() => failedOver(pool, pool.valueOf(letter)), "the retry");
      if (refused) learnt.disabled.add(letter);
      else learnt.failures.set(letter, 1);

      await gateway.kill("SIGKILL");
      await load;
      await gateway.restart();

      for (const dead of learnt.disabled) {
        expect(healthOf(await pool.key(dead))).toMatchObject({ status: "disabled", enabled: false, http: 401 });
        expect(storedKey(gateway, pool.keys[letters.indexOf(dead)]?.id ?? "").enabled).toBe(0);
      }
      for (const [cooling, failures] of learnt.failures) {
        const key = await pool.key(cooling);
        expect(healthOf(key)).toMatchObject({ status: "cooling_down", enabled: true, failures, http: 429 });
        expect(Date.parse(key.cooldown_until ?? "")).toBeGreaterThan(Date.now() + 300_000);
      }
      pool.provider.forget();
    }

    // The keys that were left alone all the time still serve.
    const turns = await pool.turns(8);
    expect(turns.replaceAll(new RegExp(`[${spare.join("")}]`, "g"), "")).toBe("");
  }, 120_000);

  it("keeps the step of the ladder: the next failure after the restart is the second", async () => {
    await using pool = await poolOf(gateway, {
      weights: [1],
      settings: { cooldown: { base_ms: 200, cap_ms: 10_000 } },
    });
    pool.provider.forKey(pool.valueOf("A")).always(reply.status(429));
    await (await pool.send()).arrayBuffer();

    await gateway.kill("SIGKILL");
    await gateway.restart();
    await pool.becomes("A", "available");
    await (await pool.send()).arrayBuffer();

    expect((await pool.key("A")).consecutive_failures).toBe(2);
    expect(storedRestMs(gateway, pool.keys[0]?.id ?? "")).toBe(400);
  });

  it("keeps the very deadline of a cooldown", async () => {
    await using pool = await poolOf(gateway);
    pool.provider.forKey(pool.valueOf("A")).next(reply.status(429, { "retry-after": "500" }));
    await (await pool.send()).arrayBuffer();
    const before = healthOf(await pool.key("A"));

    await gateway.kill("SIGKILL");
    await gateway.restart();

    expect(healthOf(await pool.key("A"))).toEqual(before);
  });

  it("keeps bindings that are older than a second", async () => {
    await using pool = await poolOf(gateway, { weights: [1, 1, 1, 1] });
    const sessions = Array.from({ length: 40 }, (_, at) => `kept-${at}`);
    const before = new Map<string, string>();
    for (const session of sessions) before.set(session, await pool.turns(1, { session }));
    // Real time, because it is the contract's own bound: at most the last second may be missing.
    await new Promise((resolve) => setTimeout(resolve, 1_100));

    await gateway.kill("SIGKILL");
    await gateway.restart();

    // Backwards: a wheel that starts anew would give the same keys to the same order of sessions.
    const after = new Map<string, string>();
    for (const session of sessions.toReversed()) after.set(session, await pool.turns(1, { session }));
    expect(after).toEqual(before);
  });

  it("ends bindings for good: an ended session does not come back with a restart", async () => {
    await using pool = await poolOf(gateway, { weights: [1, 1] });
    await pool.turns(1, { session: "ended" });
    await gateway.api("DELETE", "/sessions/ended");

    await gateway.kill("SIGKILL");
    await gateway.restart();

    const { data } = await gateway.api<{ data: { id: string }[] }>("GET", `/sessions?provider=${pool.record.id}`);
    expect(data.filter((session) => session.id === "ended")).toEqual([]);
  });

  it("keeps every change that /api has confirmed", async () => {
    await using pool = await poolOf(gateway, { weights: [3, 2] });
    const [a, b] = pool.keys;
    await gateway.api("PATCH", `/keys/${a?.id}`, { weight: 9, label: "renamed" });
    await gateway.api("PATCH", `/keys/${b?.id}`, { enabled: false });

    await gateway.kill("SIGKILL");
    await gateway.restart();

    expect(await pool.key("A")).toMatchObject({ weight: 9, label: "renamed", enabled: true });
    expect(await pool.key("B")).toMatchObject({ enabled: false, status: "disabled" });
  });
});

describe("contract: SIGTERM", () => {
  it("lets a running response finish, persists, and exits 0", async () => {
    await using own = await runGateway();
    await using pool = await poolOf(own, { weights: [1, 1] });
    const live = reply.live();
    pool.provider.forKey(pool.valueOf("A")).next(live);
    const pending = pool.send({ stream: true, session: "running" });
    await live.send({ data: { choices: [{ delta: { content: "one" } }] } });
    const response = await pending;

    const stopped = own.stop();
    await live.send({ data: "[DONE]" });
    await live.end();

    expect(await response.text()).toMatch(/\[DONE\]\n\n$/);
    expect(await stopped).toBe(0);
    await own.restart();
    // The wheel starts anew: another session takes the turn that this one would otherwise get.
    expect((await pool.turns(1)) + (await pool.turns(1, { session: "running" }))).toBe("AA");
  });

  it("takes no new connection while it stops", async () => {
    await using own = await runGateway();
    await using pool = await poolOf(own, { weights: [1] });
    const gate = Promise.withResolvers<void>();
    pool.provider.on().next(reply.after(gate.promise, reply.json(200, {}, {})));
    const running = pool.send();
    await pool.provider.arrived(1);
    const url = own.url;

    const stopped = own.stop();
    await expect
      .poll(() =>
        fetch(`${url}/healthz`, { headers: { connection: "close" } }).then(
          () => "open",
          () => "closed",
        ),
      )
      .toBe("closed");
    gate.resolve();

    expect((await running).status).toBe(200);
    expect(await stopped).toBe(0);
  });
});
