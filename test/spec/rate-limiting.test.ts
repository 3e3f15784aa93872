import { anthropicError, type KeyView, openAiError, reply, runGateway, type RunningGateway } from "@keywheel/testkit";
import { beforeAll, describe, expect, it } from "vitest";
import { poolOf, sharesOf, storedRestMs } from "../pooled-provider.ts";

let gateway: RunningGateway;
beforeAll(async () => {
  gateway = await runGateway();
  return () => gateway[Symbol.asyncDispose]();
});

/** The specification's table a six-hundredth as long: base and cap in the proportion of 60 s to 900 s. */
const fast = { cooldown: { base_ms: 100, cap_ms: 1_500 } };

const rateLimit = openAiError(429, { message: "Rate limit reached.", type: "requests", code: "rate_limit_exceeded" });

function restOf(key: KeyView): number {
  return Date.parse(key.cooldown_until ?? "") - Date.parse(key.status_reason?.at ?? "");
}

describe("spec: Rate Limiting (429/529)", () => {
  describe.each([
    [429, "HTTP 429 (rate limit)", rateLimit, "rate_limited"],
    [529, "529 (service overloaded)", reply.status(529), "overloaded"],
  ])("%i", (status, name, refusal, code) => {
    it(`"When an ${name} response is received: 1. The current key enters a cooldown period"`, async () => {
      await using pool = await poolOf(gateway);
      pool.provider.forKey(pool.valueOf("A")).next(refusal);

      await (await pool.send()).arrayBuffer();

      expect(await pool.key("A")).toMatchObject({
        status: "cooling_down",
        enabled: true,
        consecutive_failures: 1,
        status_reason: { code, http_status: status, wait: "ladder" },
      });
    });

    it('"2. The system automatically switches to the next available key in the pool"', async () => {
      await using pool = await poolOf(gateway, { weights: [1, 1, 1] });
      pool.provider.forKey(pool.valueOf("A")).next(refusal);

      expect(await pool.turns(4)).toBe("ABCBC");
    });

    it('"3. The request is retried with the new key": the same request, answered as if nothing had been', async () => {
      await using pool = await poolOf(gateway);
      pool.provider.forKey(pool.valueOf("A")).next(refusal);

      const response = await pool.send();

      expect(response.status).toBe(200);
      expect(response.headers.get("x-keywheel-attempts")).toBe("2");
      expect(response.headers.get("x-keywheel-key")).toBe(pool.keys[1]?.id);
      const [first, second] = pool.provider.requests;
      expect(second).toMatchObject({ method: first?.method, url: first?.url, bodyHash: first?.bodyHash });
    });
  });

  it("tries each available key at most once, all of them if need be", async () => {
    await using pool = await poolOf(gateway, { weights: [1, 1, 1, 1] });
    for (const letter of ["A", "B", "C"]) pool.provider.forKey(pool.valueOf(letter)).always(rateLimit);

    const response = await pool.send();

    expect(response.status).toBe(200);
    expect(pool.provider.picks()).toBe("ABCD");
  });

  it("fails over in a stream as in a plain answer", async () => {
    await using pool = await poolOf(gateway, { kind: "anthropic" });
    pool.provider.forKey(pool.valueOf("A")).next(anthropicError(429, "rate_limit_error", "Slow down"));

    const response = await pool.send({ stream: true });

    expect(await response.text()).toMatch(/^event: message_start[\s\S]*event: message_stop/);
    expect(pool.provider.picks()).toBe("AB");
  });
});

describe("spec: Cooldown mechanism", () => {
  it('"1st | 60 seconds | 60s × 2^0" is what a provider with default settings gets', async () => {
    await using pool = await poolOf(gateway);
    pool.provider.forKey(pool.valueOf("A")).next(rateLimit);

    await (await pool.send()).arrayBuffer();

    expect(restOf(await pool.key("A"))).toBeCloseTo(60_000, -2);
  });

  it('"5th and beyond | 900 seconds (cap) | min(60s × 2^(n-1), 900s)": twice as long each time, up to the cap', async () => {
    await using pool = await poolOf(gateway, { weights: [1], settings: fast });
    pool.provider.forKey(pool.valueOf("A")).always(rateLimit);

    const rests: number[] = [];
    for (let failure = 1; failure <= 6; failure++) {
      await pool.becomes("A", "available");
      await (await pool.send()).arrayBuffer();
      expect((await pool.key("A")).consecutive_failures).toBe(failure);
      rests.push(storedRestMs(gateway, pool.keys[0]?.id ?? ""));
    }

    expect(rests).toEqual([100, 200, 400, 800, 1_500, 1_500]);
  });

  it('"The key is excluded from rotation during the cooldown period"', async () => {
    await using pool = await poolOf(gateway, { weights: [1, 1, 1] });
    pool.provider.forKey(pool.valueOf("B")).next(rateLimit);
    await pool.turns(2);
    pool.provider.forget();

    expect(await pool.turns(6)).not.toContain("B");
  });

  it('"and automatically becomes available again once it expires"', async () => {
    await using pool = await poolOf(gateway, { settings: { cooldown: { base_ms: 700, cap_ms: 700 } } });
    pool.provider.forKey(pool.valueOf("A")).next(rateLimit);
    const during = await pool.turns(2);

    await pool.becomes("A", "available");

    expect(during).toBe("ABB");
    expect(sharesOf(await pool.turns(4))).toBe("AABB");
  });

  it('"A successful request resets the consecutive-failure counter for that key."', async () => {
    await using pool = await poolOf(gateway, { weights: [1], settings: fast });
    pool.provider.forKey(pool.valueOf("A")).next(rateLimit);
    await pool.turns(1);
    const { consecutive_failures: before } = await pool.becomes("A", "available");

    await pool.turns(1);

    expect(before).toBe(1);
    expect(await pool.key("A")).toMatchObject({ consecutive_failures: 0, status: "available" });
  });

  it("begins anew at the first step after a success in between", async () => {
    await using pool = await poolOf(gateway, { weights: [1], settings: fast });
    for (const _ of [1, 2]) {
      pool.provider.forKey(pool.valueOf("A")).next(rateLimit);
      await pool.turns(1);
      await pool.becomes("A", "available");
      await pool.turns(1);
    }
    pool.provider.forKey(pool.valueOf("A")).next(rateLimit);

    await pool.turns(1);

    expect(storedRestMs(gateway, pool.keys[0]?.id ?? "")).toBe(100);
  });

  it("counts a burst of failures as one", async () => {
    await using pool = await poolOf(gateway, { weights: [1] });
    const gate = Promise.withResolvers<void>();
    pool.provider.forKey(pool.valueOf("A")).always(reply.after(gate.promise, rateLimit));

    const burst = Array.from({ length: 10 }, async () => (await pool.send()).arrayBuffer());
    await pool.provider.arrived(10);
    gate.resolve();
    await Promise.all(burst);

    expect(await pool.key("A")).toMatchObject({ consecutive_failures: 1, status: "cooling_down" });
  });

  it("takes the key out with the status line: nobody gets it while the refusal's body is still on its way", async () => {
    await using pool = await poolOf(gateway);
    const slow = reply.live({ status: 429, headers: { "content-type": "application/json" } });
    pool.provider.forKey(pool.valueOf("A")).next(slow);
    const first = pool.send();
    await slow.started;

    const meanwhile = [await pool.send(), await pool.send()];
    await slow.send(Buffer.from('{"error":{"message":"Slow down"}}'));
    await slow.end();

    expect([...meanwhile, await first].map((response) => response.status)).toEqual([200, 200, 200]);
    expect(pool.provider.picks()).toBe("ABBB");
  });

  it("counts the rush on a key that has just come back as one failure too", async () => {
    const settings = { cooldown: { base_ms: 700, cap_ms: 60_000 } };
    await using pool = await poolOf(gateway, { weights: [1], settings });
    pool.provider.forKey(pool.valueOf("A")).always(rateLimit);
    await pool.turns(1);
    await pool.becomes("A", "available");

    const rush = await Promise.all(Array.from({ length: 50 }, () => pool.send()));
    await Promise.all(rush.map((response) => response.arrayBuffer()));

    expect(new Set(rush.map((response) => response.status))).toEqual(new Set([429]));
    expect((await pool.key("A")).consecutive_failures).toBe(2);
  });

  it("counts one failure for each key when a limit of the whole address meets twenty requests at once", async () => {
    await using pool = await poolOf(gateway, { weights: [1, 1, 1] });
    pool.provider.on().always(rateLimit);

    const responses = await Promise.all(Array.from({ length: 20 }, () => pool.send()));
    await Promise.all(responses.map((response) => response.arrayBuffer()));

    expect((await gateway.keys(pool.record)).map((key) => key.consecutive_failures)).toEqual([1, 1, 1]);
  });

  it("is extended by a longer wait that the provider states, up to the cap, and not shortened by a shorter one", async () => {
    await using pool = await poolOf(gateway, { weights: [1, 1, 1, 1] });
    pool.provider.forKey(pool.valueOf("A")).next(reply.status(429, { "retry-after": "300" }));
    pool.provider.forKey(pool.valueOf("B")).next(reply.status(429, { "retry-after": "5" }));
    pool.provider.forKey(pool.valueOf("C")).next(reply.status(429, { "retry-after": "518400" }));

    await pool.turns(1);

    const [a, b, c] = [await pool.key("A"), await pool.key("B"), await pool.key("C")];
    expect(restOf(a)).toBeCloseTo(300_000, -2);
    expect(restOf(b)).toBeCloseTo(60_000, -2);
    expect(restOf(c)).toBeCloseTo(900_000, -2);
    expect([a, b, c].map((key) => key.status_reason?.wait)).toEqual(["stated", "ladder", "stated"]);
  });
});

describe("spec: strategies based on the error type", () => {
  it.each([400, 404, 409, 422, 500, 502, 503])("hands a %i back as it is and touches no key", async (status) => {
    await using pool = await poolOf(gateway);
    pool.provider
      .forKey(pool.valueOf("A"))
      .next(reply.json(status, { "x-from": "provider" }, { error: { message: "No.", type: "t", code: null } }));

    const response = await pool.send();

    expect(response.status).toBe(status);
    expect(response.headers.get("x-from")).toBe("provider");
    expect(response.headers.has("x-keywheel-error")).toBe(false);
    expect(await response.json()).toEqual({ error: { message: "No.", type: "t", code: null } });
    expect(pool.provider.picks()).toBe("A");
    expect(await pool.key("A")).toMatchObject({ status: "available", consecutive_failures: 0 });
  });
});
