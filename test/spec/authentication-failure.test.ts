import { openAiError, reply, runGateway, type RunningGateway } from "@keywheel/testkit";
import { beforeAll, describe, expect, it } from "vitest";
import { poolOf, storedKey } from "../pooled-provider.ts";

let gateway: RunningGateway;
beforeAll(async () => {
  gateway = await runGateway();
  return () => gateway[Symbol.asyncDispose]();
});

const refusals = [
  [
    401,
    openAiError(401, {
      message: "Incorrect API key provided.",
      type: "invalid_request_error",
      code: "invalid_api_key",
    }),
  ],
  [403, reply.json(403, {}, {})],
] as const;

describe.each(refusals)("spec: Authentication Failure, HTTP %i", (status, refusal) => {
  it('"1. The key is permanently disabled (marked as disabled in the database)"', async () => {
    await using pool = await poolOf(gateway);
    pool.provider.forKey(pool.valueOf("A")).next(refusal);
    const id = pool.keys[0]?.id ?? "";
    const before = storedKey(gateway, id);

    await (await pool.send()).arrayBuffer();

    expect(before.enabled).toBe(1);
    expect(storedKey(gateway, id)).toMatchObject({ enabled: 0, disabled_http_status: status });
  });

  it("is in the database before the retry is sent", async () => {
    await using pool = await poolOf(gateway);
    pool.provider.forKey(pool.valueOf("A")).next(refusal);
    const id = pool.keys[0]?.id ?? "";
    let whenRetried: number | undefined;
    pool.provider.forKey(pool.valueOf("B")).next(
      reply.by(() => {
        whenRetried = storedKey(gateway, id).enabled;
        return reply.json(200, {}, {});
      }),
    );

    await (await pool.send()).arrayBuffer();

    expect(whenRetried).toBe(0);
  });

  it('"2. The system automatically switches to the next available key"', async () => {
    await using pool = await poolOf(gateway);
    pool.provider.forKey(pool.valueOf("A")).always(refusal);

    const responses = [await pool.send(), await pool.send(), await pool.send()];

    expect(responses.map((response) => response.status)).toEqual([200, 200, 200]);
    expect(pool.provider.picks()).toBe("ABBB");
  });

  it('"3. In the settings UI, the key is shown as disabled"', async () => {
    await using pool = await poolOf(gateway);
    pool.provider.forKey(pool.valueOf("A")).next(refusal);

    await (await pool.send()).arrayBuffer();

    expect(await pool.key("A")).toMatchObject({
      enabled: false,
      status: "disabled",
      status_reason: { code: "authentication_failed", http_status: status },
    });
  });

  it('"unlikely to recover by waiting": a restart does not bring it back, nor does time', async () => {
    await using own = await runGateway();
    await using pool = await poolOf(own, { settings: { cooldown: { base_ms: 100, cap_ms: 100 } } });
    pool.provider.forKey(pool.valueOf("A")).next(refusal);
    await pool.turns(1);

    await own.kill("SIGKILL");
    await own.restart();

    expect(await pool.key("A")).toMatchObject({ status: "disabled", enabled: false });
    expect(await pool.turns(2)).toBe("BB");
  });
});

describe("spec: Authentication Failure", () => {
  it("disables with the provider's real refusal of a revoked key, whatever the kind", async () => {
    await using openai = await poolOf(gateway);
    await using anthropic = await poolOf(gateway, { kind: "anthropic" });
    await using azure = await poolOf(gateway, { kind: "azure-openai" });
    await using gemini = await poolOf(gateway, { kind: "gemini" });

    for (const pool of [openai, anthropic, azure, gemini]) {
      pool.provider.revoke(pool.valueOf("A"));

      const response = await pool.send();
      await response.arrayBuffer();

      expect(response.status).toBe(200);
      expect(pool.provider.picks()).toBe("AB");
      expect((await pool.key("A")).status).toBe("disabled");
    }
  });

  it("blames the key that was used: a burst of one session that meets a dead key goes over to the next, which stays", async () => {
    await using pool = await poolOf(gateway);
    pool.provider.revoke(pool.valueOf("A"));

    const responses = await Promise.all(Array.from({ length: 20 }, () => pool.send({ session: "all-one" })));

    expect(new Set(responses.map((response) => response.status))).toEqual(new Set([200]));
    expect((await pool.key("B")).status).toBe("available");
    const after = await pool.turns(3);
    expect(after).toBe("BBB");
  });

  it("lets a late success of a disabled key change nothing", async () => {
    await using pool = await poolOf(gateway);
    const gate = Promise.withResolvers<void>();
    pool.provider.forKey(pool.valueOf("A")).next(reply.after(gate.promise, reply.json(200, {}, { ok: true })));
    const late = pool.send();
    await pool.provider.arrived(1);
    await gateway.api("PATCH", `/keys/${pool.keys[0]?.id}`, { enabled: false });

    gate.resolve();
    const response = await late;
    await response.arrayBuffer();

    expect(response.status).toBe(200);
    // A request later, the outcome of this one is noted.
    expect(await pool.turns(1)).toBe("B");
    expect(await pool.key("A")).toMatchObject({ enabled: false, status: "disabled" });
  });
});
