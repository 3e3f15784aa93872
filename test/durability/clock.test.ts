import { reply, runGateway } from "@keywheel/testkit";
import { setTimeout as sleep } from "node:timers/promises";
import { describe, expect, it } from "vitest";
import { aWallClock } from "../cases/clock.ts";
import { eventually, poolOf, sharesOf } from "../pooled-provider.ts";

const minuteMs = 60_000;
const hourMs = 60 * minuteMs;
const dayMs = 24 * hourMs;

describe("a cooldown", () => {
  const restMs = 3_000;
  const settings = { cooldown: { base_ms: restMs, cap_ms: restMs } };

  it.each([
    ["a day ahead, and set right while the key rests", false],
    ["a day ahead, and set right while the gateway is down after kill -9", true],
  ])("that began while the clock was %s lasts its own time and no longer", async (_, isKilled) => {
    using clock = aWallClock();
    await using gateway = await runGateway({ env: clock.env });
    await using pool = await poolOf(gateway, { weights: [1, 1], settings });
    clock.set(dayMs);
    pool.provider.forKey(pool.valueOf("A")).next(reply.status(429));
    await pool.turns(1);

    if (isKilled) await gateway.kill("SIGKILL");
    clock.set(0);
    if (isKilled) await gateway.restart();
    const resting = await pool.key("A");
    await pool.becomes("A", "available", 2 * restMs + 2_000);

    expect(resting.status).toBe("cooling_down");
    expect(Date.parse(resting.cooldown_until ?? "")).toBeLessThan(Date.now() + restMs + 1_000);
    expect(sharesOf(await pool.turns(2))).toBe("AB");
  });

  it("is not cut short by a clock that is set back by an hour", async () => {
    using clock = aWallClock();
    await using gateway = await runGateway({ env: clock.env });
    await using pool = await poolOf(gateway, { weights: [1, 1], settings });
    pool.provider.forKey(pool.valueOf("A")).next(reply.status(429));
    await pool.turns(1);
    const beganAt = performance.now();

    clock.set(-hourMs);
    await pool.becomes("A", "available", 2 * restMs + 2_000);

    expect(performance.now() - beganAt).toBeGreaterThan(restMs - 200);
  });

  it("ends with a clock that is set a day ahead, and the key is tried by one request first", async () => {
    using clock = aWallClock();
    await using gateway = await runGateway({ env: clock.env });
    await using pool = await poolOf(gateway, { weights: [1] });
    pool.provider.on().next(reply.status(429));
    await pool.turns(1);

    clock.set(dayMs);

    expect((await pool.send()).status).toBe(200);
    expect(await pool.key("A")).toMatchObject({ status: "available", consecutive_failures: 0 });
  });
});

describe("while the clock is set, in a running gateway", () => {
  it("a token ends at its instant, whichever way the clock came there", async () => {
    using clock = aWallClock();
    await using gateway = await runGateway({ env: clock.env, flags: ["--require-token"] });
    await using pool = await poolOf(gateway);
    const expires_at = new Date(Date.now() + 30 * minuteMs).toISOString();
    const { token } = await gateway.api<{ token: string }>("POST", "/tokens", { name: "half an hour", expires_at });
    const ask = async (): Promise<number> => {
      const answer = await pool.send({ headers: { authorization: `Bearer ${token}` } });
      await answer.arrayBuffer();
      return answer.status;
    };

    const statuses = [await ask()];
    for (const offsetMs of [hourMs, -hourMs, dayMs, 0]) {
      clock.set(offsetMs);
      statuses.push(await ask());
    }

    expect(statuses).toEqual([200, 401, 200, 401, 200]);
  });

  it.each([
    ["ahead by a day", dayMs],
    ["back by an hour", -hourMs],
  ])("a browser that is signed in stays so: %s", async (_, offsetMs) => {
    using clock = aWallClock();
    await using gateway = await runGateway({ env: clock.env });
    const signedIn = await fetch(`${gateway.url}/api/sign-in`, {
      method: "POST",
      headers: { "content-type": "application/json" },
      body: JSON.stringify({ token: gateway.adminToken }),
    });
    const cookie = signedIn.headers.getSetCookie()[0]?.split(";")[0] ?? "";
    const look = async (): Promise<number> =>
      (await fetch(`${gateway.url}/api/status`, { headers: { cookie } })).status;

    const before = await look();
    clock.set(offsetMs);

    expect([signedIn.status, before, await look()]).toEqual([204, 200, 200]);
  });

  it("every request is counted once, and the list keeps the order in which they ended", async () => {
    using clock = aWallClock();
    await using gateway = await runGateway({ env: clock.env });
    await using pool = await poolOf(gateway);
    const steps = [0, dayMs, -hourMs, 0];

    for (const [at, offsetMs] of steps.entries()) {
      clock.set(offsetMs);
      await (await pool.send({ session: `step-${at}` })).arrayBuffer();
    }

    const window = `from=${new Date(Date.now() - dayMs).toISOString()}&to=${new Date(Date.now() + 2 * dayMs).toISOString()}`;
    const usage = await gateway.api<{ data: { requests: number }[] }>("GET", `/usage?${window}&by=provider`);
    const { data } = await gateway.api<{ data: { session_id: string }[] }>("GET", "/requests");
    expect(usage.data.map(({ requests }) => requests)).toEqual([steps.length]);
    expect(data.map(({ session_id: id }) => id)).toEqual(["step-3", "step-2", "step-1", "step-0"]);
  });
});

describe("a process that is stopped for a while and goes on, as a machine that sleeps", () => {
  const pauseMs = 4_000;

  it("gives the answer that came meanwhile, and ends the cooldowns that are over", async () => {
    await using gateway = await runGateway();
    const settings = {
      cooldown: { base_ms: 2_000, cap_ms: 2_000 },
      timeouts: { headers_ms: 2_000, idle_ms: 2_000, connect_ms: 2_000 },
    };
    await using pool = await poolOf(gateway, { weights: [1, 1], settings });
    pool.provider.forKey(pool.valueOf("A")).next(reply.status(429));
    await pool.turns(1, { session: "resting" });
    const gate = Promise.withResolvers<void>();
    pool.provider.on().next(reply.after(gate.promise, reply.json(200, {}, { answer: "came in the pause" })));
    const waiting = pool.send({ session: "waiting" });
    await pool.provider.arrived(3);

    process.kill(gateway.pid, "SIGSTOP");
    gate.resolve();
    await sleep(pauseMs);
    process.kill(gateway.pid, "SIGCONT");

    const answer = await waiting;
    expect([answer.status, await answer.text()]).toEqual([200, expect.stringContaining("came in the pause")]);
    expect((await pool.key("A")).status).toBe("available");
    expect(sharesOf(await pool.turns(2))).toBe("AB");
  });

  it("goes on with a stream whose pieces came meanwhile", async () => {
    await using gateway = await runGateway();
    await using pool = await poolOf(gateway, { weights: [1], settings: { timeouts: { idle_ms: 2_000 } } });
    const live = reply.live();
    pool.provider.on().next(live);
    const pending = pool.send({ stream: true });
    await live.send({ data: { choices: [{ delta: { content: "before" } }] } });
    const running = await pending;

    process.kill(gateway.pid, "SIGSTOP");
    await live.send({ data: { choices: [{ delta: { content: "meanwhile" } }] } });
    await sleep(pauseMs);
    process.kill(gateway.pid, "SIGCONT");
    await live.send({ data: "[DONE]" });
    await live.end();

    expect(await running.text()).toMatch(/before.*meanwhile.*\[DONE\]/s);
  });

  it("takes up what it was to write, and is ready", async () => {
    await using gateway = await runGateway();
    await using pool = await poolOf(gateway, { weights: [1, 1] });
    await pool.turns(1, { session: "kept" });

    process.kill(gateway.pid, "SIGSTOP");
    await sleep(pauseMs);
    process.kill(gateway.pid, "SIGCONT");

    const kept = (): Promise<{ data: { id: string }[] }> => gateway.api("GET", `/sessions?provider=${pool.record.id}`);
    await eventually(kept, ({ data }) => data.some(({ id }) => id === "kept"), { what: "the session to be stored" });
    expect((await fetch(`${gateway.url}/readyz`)).status).toBe(200);
  });
});
