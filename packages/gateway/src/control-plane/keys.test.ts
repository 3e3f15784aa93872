import type { Choice, KeyEffect, Secret } from "@keywheel/pool";
import { afterAll, beforeAll, beforeEach, describe, expect, it } from "vitest";
import { type ControlBench, openControlBench } from "./control-plane.test-bench.ts";

let bench: ControlBench;
let provider: string;
const variables: Record<string, string | undefined> = {};
beforeAll(async () => {
  bench = await openControlBench({ variables });
});
beforeEach(async () => {
  for (const name of Object.keys(variables)) delete variables[name];
  await bench.clean();
  provider = await bench.addProvider({ slug: "mine", settings: { cooldown: { base_ms: 60_000 } } });
});
afterAll(() => bench.close());

const keys = "/api/providers/mine/keys";

async function everything(): Promise<unknown> {
  const stored = await bench.store.load();
  return { stored, shown: (await bench.call("GET", keys)).body, told: [...bench.told], preview: await preview() };
}

async function preview(n = 12): Promise<string[]> {
  return (await bench.call("GET", `/api/providers/mine/preview?n=${n}`)).body.data;
}

/** What an upstream would receive. */
function sent(keyId: string): string | undefined {
  return bench.catalog.bySlug("mine")?.secretOf(keyId)?.reveal();
}

/** Lets the provider's answer to a request take effect. */
async function settle(choice: Choice, key: KeyEffect, httpStatus: number): Promise<void> {
  if (choice.kind !== "key") throw new Error(`no key: ${choice.kind}`);
  const said = { request: "next-key", code: "said", message: "said the provider" } as const;
  await bench.pool(provider).settle(choice.ticket, { key, httpStatus, ...said });
}

const effects: Readonly<Record<number, KeyEffect>> = {
  200: { kind: "succeeded" },
  401: { kind: "disable", reason: "authentication_failed" },
  429: { kind: "cool", reason: "rate_limited", failure: { rest: "ladder" }, scope: "key" },
};

/** Lets the provider answer a request with this key. */
async function answer(status: 200 | 401 | 429, keyId: string): Promise<void> {
  const choice = await bench.pool(provider).choose({ pinnedTo: keyId });
  await settle(choice, effects[status]!, status);
}

async function shown(keyId: string) {
  return (await bench.call("GET", `/api/keys/${keyId}`)).body;
}

describe("adding a key", () => {
  it("answers it complete and masked, and it serves at once", async () => {
    const { status, body, headers } = await bench.call("POST", keys, {
      api_key: " sk-proj-0123456789 ",
      label: "  Production ",
      weight: 3,
    });

    expect(status).toBe(201);
    expect(body).toEqual({
      id: expect.stringMatching(/^key_[a-z2-7]{20}$/),
      provider_id: provider,
      api_key: "sk-…6789",
      label: "Production",
      weight: 3,
      enabled: true,
      order: 0,
      group: "",
      organization: null,
      project: null,
      status: "available",
      status_reason: null,
      cooldown_until: null,
      consecutive_failures: 0,
      bound_sessions: 0,
      stats: { requests: 0, successes: 0, failures: 0, last_used_at: null },
      managed_by: null,
      created_at: "2026-01-01T00:00:00.000Z",
      updated_at: "2026-01-01T00:00:00.000Z",
    });
    expect(headers.get("location")).toBe(`/api/keys/${body.id}`);
    expect(await shown(body.id)).toEqual(body);
    expect(sent(body.id)).toBe("sk-proj-0123456789");
    expect(await preview(3)).toEqual([body.id, body.id, body.id]);
    expect(bench.told.at(-1)).toBe("key-created");
  });

  it("takes a disabled one, which does not serve", async () => {
    const key = await bench.addKey("mine", { enabled: false });

    expect([key.status, key.status_reason?.code]).toEqual(["disabled", "disabled_by_operator"]);
    expect(await preview()).toEqual([]);
  });

  it("puts it where its order says", async () => {
    const [a, b] = [await bench.addKey("mine", { order: 5 }), await bench.addKey("mine", { order: 5 })];
    const c = await bench.addKey("mine", { order: -1 });

    const { body } = await bench.call("GET", keys);

    expect(body.data.map((key: { id: string }) => key.id)).toEqual([c.id, a.id, b.id]);
  });

  it.each(["sk-same-value-123", "$SAME"])("refuses what the provider holds already: %s", async (api_key) => {
    const held = await bench.addKey("mine", { api_key, label: "first" });
    const before = await everything();

    const { status, body } = await bench.call("POST", keys, { api_key: ` ${api_key}\n` });

    expect([status, body.code]).toEqual([409, "conflict"]);
    expect(body.detail).toBe(`The provider holds this key already, as ${held.id} (first)`);
    expect(await everything()).toEqual(before);
  });

  it("takes for one provider what another one holds", async () => {
    await bench.addProvider({ slug: "other" });
    await bench.addKey("mine", { api_key: "sk-same-value-123" });

    expect((await bench.addKey("other", { api_key: "sk-same-value-123" })).status).toBe("available");
  });

  it("takes a value again once its key is deleted or has another value", async () => {
    const one = await bench.addKey("mine", { api_key: "sk-value-one-111" });
    const two = await bench.addKey("mine", { api_key: "sk-value-two-222" });
    await bench.call("DELETE", `/api/keys/${one.id}`);
    await bench.call("PATCH", `/api/keys/${two.id}`, { api_key: "sk-value-new-333" });

    const again = [
      await bench.addKey("mine", { api_key: "sk-value-one-111" }),
      await bench.addKey("mine", { api_key: "sk-value-two-222" }),
    ];

    expect(again.map((key) => key.status)).toEqual(["available", "available"]);
  });

  it("lets only one of two calls with the same value through", async () => {
    const answers = await Promise.all([1, 2].map(() => bench.call("POST", keys, { api_key: "sk-same-value-123" })));

    expect(answers.map(({ status }) => `${status}`).sort()).toEqual(["201", "409"]);
  });
});

describe("changing a key", () => {
  it("takes effect with the answer", async () => {
    const a = await bench.addKey("mine");
    const b = await bench.addKey("mine");

    await bench.call("PATCH", `/api/keys/${a.id}`, { weight: 2, order: 1 });

    expect(await preview(6)).toEqual([b.id, a.id, a.id, b.id, a.id, a.id]);
  });

  it("keeps the key when the object comes back as GET showed it, but for its mask", async () => {
    const key = await bench.addKey("mine", { api_key: "sk-proj-0123456789", label: "one" });

    const whole = await bench.call("PATCH", `/api/keys/${key.id}`, key);
    const { api_key: _, ...rest } = await shown(key.id);
    const without = await bench.call("PATCH", `/api/keys/${key.id}`, { ...rest, label: "two" });

    expect([whole.status, whole.body.errors[0].path]).toEqual([422, "api_key"]);
    expect(whole.body.detail).toMatch(/mask of the stored key: leave `api_key` out/);
    expect([without.status, without.body.label]).toEqual([200, "two"]);
    expect(sent(key.id)).toBe("sk-proj-0123456789");
  });

  it("takes the whole object back where the key is a reference", async () => {
    variables["NAME"] = "sk-from-environment";
    const key = await bench.addKey("mine", { api_key: "$NAME" });

    expect((await bench.call("PATCH", `/api/keys/${key.id}`, key)).status).toBe(200);
    expect(sent(key.id)).toBe("sk-from-environment");
    expect((await bench.store.load()).keys[0]?.secretVersion).toBe(1);
  });

  it("refuses to set what can only be read, and passes over what changes by itself", async () => {
    const key = await bench.addKey("mine");
    const other = { id: "key_other", provider_id: "prv_other", created_at: "x", status: "disabled" };

    const refused = await bench.call("PATCH", `/api/keys/${key.id}`, other);
    const passed = await bench.call("PATCH", `/api/keys/${key.id}`, { stats: {}, bound_sessions: 9, updated_at: "x" });

    expect(refused.body.errors.map((error: { path: string }) => error.path)).toEqual(Object.keys(other));
    expect(passed.body).toEqual(key);
  });

  it("writes and tells nothing when nothing changes", async () => {
    const key = await bench.addKey("mine");
    const told = bench.told.length;
    bench.breakStore("updateKeys");

    expect((await bench.call("PATCH", `/api/keys/${key.id}`, { weight: 1, label: "", enabled: true })).status).toBe(
      200,
    );
    expect(bench.told).toHaveLength(told);
  });

  it("refuses the value of another key", async () => {
    await bench.addKey("mine", { api_key: "sk-held-value-1" });
    const key = await bench.addKey("mine", { api_key: "sk-own-value-22" });

    expect((await bench.call("PATCH", `/api/keys/${key.id}`, { api_key: "sk-held-value-1" })).status).toBe(409);
    expect(sent(key.id)).toBe("sk-own-value-22");
  });

  it("applies two changes that were made at once", async () => {
    const key = await bench.addKey("mine");

    await Promise.all(
      [{ label: "new" }, { weight: 5 }].map((body) => bench.call("PATCH", `/api/keys/${key.id}`, body)),
    );

    expect(await shown(key.id)).toMatchObject({ label: "new", weight: 5 });
  });

  it("answers 404 for an unknown key", async () => {
    for (const [method, path] of [
      ["GET", ""],
      ["PATCH", ""],
      ["DELETE", ""],
      ["POST", "/reset"],
      ["POST", "/test"],
    ] as const) {
      const answer = await bench.call(method, `/api/keys/key_none${path}`, method === "PATCH" ? {} : undefined);
      expect([answer.status, answer.body.code]).toEqual([404, "not_found"]);
    }
  });
});

describe("a key that the provider refused", () => {
  it("is disabled with the time, the status and what was said", async () => {
    const key = await bench.addKey("mine");
    bench.clock.advance(5_000);

    await answer(401, key.id);

    expect(await shown(key.id)).toMatchObject({
      enabled: false,
      status: "disabled",
      status_reason: {
        code: "authentication_failed",
        http_status: 401,
        message: "said the provider",
        at: "2026-01-01T00:00:05.000Z",
        wait: null,
      },
    });
    expect((await bench.store.load()).keys[0]).toMatchObject({ enabled: false });
  });

  it("stays disabled over other changes, a reset, and a restart", async () => {
    const key = await bench.addKey("mine");
    await answer(401, key.id);

    await bench.call("PATCH", `/api/keys/${key.id}`, { label: "x", weight: 5 });
    await bench.call("POST", `/api/keys/${key.id}/reset`);
    const other = await bench.addKey("mine");
    expect(await preview(2)).toEqual([other.id, other.id]);
    await bench.restart();

    expect(await shown(key.id)).toMatchObject({ status: "disabled", status_reason: { code: "authentication_failed" } });
    expect(await preview(2)).toEqual([other.id, other.id]);
  });

  it("comes back with `enabled`, without count, cooldown and reason", async () => {
    const key = await bench.addKey("mine");
    await answer(429, key.id);
    bench.clock.advance(60_000);
    await answer(401, key.id);

    const { body } = await bench.call("PATCH", `/api/keys/${key.id}`, { enabled: true });

    expect(body).toMatchObject({
      status: "available",
      status_reason: null,
      consecutive_failures: 0,
      cooldown_until: null,
    });
    expect(await preview(1)).toEqual([key.id]);
    await bench.restart();
    expect(await shown(key.id)).toMatchObject({ status: "available", consecutive_failures: 0, status_reason: null });
  });

  it("comes back with a new value, unless the same call disables it", async () => {
    const key = await bench.addKey("mine");
    await answer(401, key.id);

    const off = await bench.call("PATCH", `/api/keys/${key.id}`, { api_key: "sk-new-value-111", enabled: false });
    expect(off.body).toMatchObject({ status: "disabled", status_reason: { code: "disabled_by_operator" } });
    await bench.call("PATCH", `/api/keys/${key.id}`, { enabled: true });
    await answer(401, key.id);
    const on = await bench.call("PATCH", `/api/keys/${key.id}`, { api_key: "sk-new-value-222" });

    expect(on.body).toMatchObject({ status: "available", status_reason: null });
    expect(sent(key.id)).toBe("sk-new-value-222");
  });

  it("is not disabled by a late answer to its old value", async () => {
    const key = await bench.addKey("mine");
    const late = await bench.pool(provider).choose({ pinnedTo: key.id });
    await bench.call("PATCH", `/api/keys/${key.id}`, { api_key: "sk-new-value-111" });

    await settle(late, { kind: "disable", reason: "authentication_failed" }, 401);

    expect(await shown(key.id)).toMatchObject({ enabled: true, status: "available" });
    expect((await bench.store.load()).keys[0]).toMatchObject({ enabled: true, secretVersion: 2 });
  });

  it("keeps a refusal that arrives while the store writes something else", async () => {
    const key = await bench.addKey("mine");

    await Promise.all([bench.call("PATCH", `/api/keys/${key.id}`, { weight: 7 }), answer(401, key.id)]);

    expect(await shown(key.id)).toMatchObject({ weight: 7, status: "disabled" });
    expect(await preview()).toEqual([]);
  });
});

describe("a key that a person switched off", () => {
  it("says so, and since when, whatever else is changed later", async () => {
    const key = await bench.addKey("mine");
    await bench.call("PATCH", `/api/keys/${key.id}`, { enabled: false });
    bench.clock.advance(60_000);

    const { body } = await bench.call("PATCH", `/api/keys/${key.id}`, { label: "later" });

    const reason = {
      code: "disabled_by_operator",
      http_status: null,
      message: null,
      at: "2026-01-01T00:00:00.000Z",
      wait: null,
      shared_from: null,
    };
    expect([body.status, body.status_reason]).toEqual(["disabled", reason]);
  });

  it("stays off with a new value, and for a late success", async () => {
    const key = await bench.addKey("mine");
    const running = await bench.pool(provider).choose({ pinnedTo: key.id });
    await bench.call("PATCH", `/api/keys/${key.id}`, { enabled: false });

    await settle(running, { kind: "succeeded" }, 200);
    const { body } = await bench.call("PATCH", `/api/keys/${key.id}`, { api_key: "sk-new-value-111" });

    expect([body.status, await preview()]).toEqual(["disabled", []]);
  });

  it("keeps its cooldown while it is off and on again", async () => {
    const key = await bench.addKey("mine");
    await answer(429, key.id);
    await bench.call("PATCH", `/api/keys/${key.id}`, { enabled: false });

    const { body } = await bench.call("PATCH", `/api/keys/${key.id}`, { enabled: true });

    expect(body).toMatchObject({ status: "cooling_down", consecutive_failures: 1 });
  });
});

describe("a key that cools down", () => {
  it("tells why and until when, and keeps the last failure afterwards", async () => {
    const key = await bench.addKey("mine");
    await answer(429, key.id);

    const cooling = await shown(key.id);
    bench.clock.advance(60_000);
    const rested = await shown(key.id);

    expect(cooling).toMatchObject({
      status: "cooling_down",
      cooldown_until: "2026-01-01T00:01:00.000Z",
      consecutive_failures: 1,
      status_reason: { code: "rate_limited", http_status: 429, wait: "ladder" },
    });
    expect(rested).toMatchObject({
      status: "available",
      cooldown_until: null,
      consecutive_failures: 1,
      status_reason: { code: "rate_limited" },
    });
    await answer(200, key.id);
    expect(await shown(key.id)).toMatchObject({ consecutive_failures: 0, status_reason: null });
  });

  it("is cleared by a reset, also in the store", async () => {
    const key = await bench.addKey("mine");
    await answer(429, key.id);

    const { status, body } = await bench.call("POST", `/api/keys/${key.id}/reset`);

    expect([status, body.status, body.status_reason, body.consecutive_failures]).toEqual([200, "available", null, 0]);
    await bench.restart();
    expect(await shown(key.id)).toMatchObject({ status: "available", consecutive_failures: 0 });
  });

  it("still cools after a restart", async () => {
    const key = await bench.addKey("mine");
    await answer(429, key.id);
    const before = await shown(key.id);

    await bench.restart();

    expect(await shown(key.id)).toEqual(before);
  });
});

describe("a key in the environment", () => {
  it("is unresolved while its variable is unset or empty, and says so", async () => {
    variables["EMPTY"] = "";
    const [unset, empty] = [
      await bench.addKey("mine", { api_key: "$UNSET" }),
      await bench.addKey("mine", { api_key: "$EMPTY" }),
    ];
    const good = await bench.addKey("mine");

    expect(unset).toMatchObject({ api_key: "$UNSET", status: "unresolved", enabled: true });
    expect(unset.status_reason).toMatchObject({
      code: "unresolved",
      message: "The environment variable UNSET is not set",
    });
    expect(empty.status_reason?.message).toBe("The environment variable EMPTY is empty");
    expect(await preview(3)).toEqual([good.id, good.id, good.id]);
    expect(sent(unset.id)).toBeUndefined();
  });

  it("serves as soon as its variable is set, and stops when it is not", async () => {
    const key = await bench.addKey("mine", { api_key: "$NAME" });
    variables["NAME"] = "sk-from-environment";
    bench.environment.check();
    await bench.call("GET", "/api/status");

    expect([await shown(key.id), sent(key.id)]).toMatchObject([{ status: "available" }, "sk-from-environment"]);
    expect(await preview(1)).toEqual([key.id]);

    delete variables["NAME"];
    bench.environment.check();
    expect(await shown(key.id)).toMatchObject({ status: "unresolved" });
    expect(await preview(1)).toEqual([]);
  });

  it("counts another value of the variable as a new value of the key", async () => {
    variables["NAME"] = "sk-first-value";
    const key = await bench.addKey("mine", { api_key: "$NAME" });
    await answer(401, key.id);

    variables["NAME"] = "sk-second-value";
    bench.environment.check();
    await bench.call("PATCH", `/api/keys/${key.id}`, { label: "waits for its turn" });

    expect(await shown(key.id)).toMatchObject({ status: "available", enabled: true, status_reason: null });
    expect((await bench.store.load()).keys[0]).toMatchObject({ secretVersion: 2, enabled: true });
  });

  it("is not revived by a variable that comes back as it was", async () => {
    variables["NAME"] = "sk-first-value";
    const key = await bench.addKey("mine", { api_key: "$NAME" });
    await answer(401, key.id);

    for (const value of ["", "sk-first-value"]) {
      variables["NAME"] = value;
      bench.environment.check();
    }
    await bench.call("PATCH", `/api/keys/${key.id}`, { label: "waits for its turn" });

    expect(await shown(key.id)).toMatchObject({ status: "disabled" });
  });

  it("notices a new value also while something else is changed", async () => {
    variables["NAME"] = "sk-first-value";
    const key = await bench.addKey("mine", { api_key: "$NAME" });
    await answer(401, key.id);

    variables["NAME"] = "sk-second-value";
    const change = bench.call("PATCH", `/api/keys/${key.id}`, { weight: 2 });
    bench.environment.check();
    await change;
    await bench.call("PATCH", `/api/keys/${key.id}`, { label: "waits for its turn" });

    expect(await shown(key.id)).toMatchObject({ status: "available", weight: 2 });
  });

  it("takes up what was set a moment before the key was added", async () => {
    await bench.addKey("mine", { api_key: "$LATE" });
    variables["LATE"] = "sk-late-value";

    await bench.addProvider({ slug: "other" });

    expect(await bench.addKey("other", { api_key: "$LATE" })).toMatchObject({ status: "available" });
  });

  it("is disabled before it is unresolved", async () => {
    expect(await bench.addKey("mine", { api_key: "$UNSET", enabled: false })).toMatchObject({ status: "disabled" });
  });
});

describe("importing a list", () => {
  it("adds what it can and tells of the rest", async () => {
    await bench.addKey("mine", { api_key: "sk-held-value-1", label: "held" });

    const { status, body } = await bench.call("POST", `${keys}/import`, {
      text: "sk-new-value-11,Production,3\nsk-held-value-1\n$REF\nsk-new-value-11\nbad key\nk1,k2\n",
    });

    expect(status).toBe(200);
    expect(
      body.added.map((key: { api_key: string; label: string; weight: number }) => [key.api_key, key.label, key.weight]),
    ).toEqual([
      ["sk-…e-11", "Production", 3],
      ["$REF", "", 1],
      ["…", "", 1],
      ["…", "", 1],
    ]);
    expect(body.skipped).toEqual([
      {
        line: 2,
        code: "held",
        reason: expect.stringMatching(/holds it already, as key_\w+ \(held\)/),
        fault: "key_held",
        masked: "sk-…ue-1",
      },
      {
        line: 4,
        code: "repeated",
        reason: "It is on line 1 already",
        fault: "repeated_line",
        params: { line: 1 },
        masked: "sk-…e-11",
      },
      {
        line: 5,
        code: "refused",
        reason: expect.stringMatching(/white space/),
        fault: "key_white_space",
        params: { at: 4 },
        masked: "…",
      },
    ]);
    expect((await bench.call("GET", keys)).body.data).toHaveLength(5);
    expect(bench.told.filter((type) => type === "key-created")).toHaveLength(2);
  });

  it("changes nothing in a dry run, and tells what it understood", async () => {
    const before = await everything();

    const { body } = await bench.call("POST", `${keys}/import`, { text: "k1,k2\nk3,prod,4\nk1", dry_run: true });

    expect(body.added).toEqual([]);
    expect(body.understood).toEqual([
      { line: 1, api_key: "…", label: "", weight: 1 },
      { line: 1, api_key: "…", label: "", weight: 1 },
      { line: 2, api_key: "…", label: "prod", weight: 4 },
    ]);
    expect(body.skipped).toHaveLength(1);
    expect(await everything()).toEqual(before);
  });

  it.each([[{}], [{ text: 1 }], [{ text: "k", dry_run: "yes" }], [{ text: "k", more: 1 }]])(
    "refuses %j",
    async (body) => {
      const before = await everything();

      expect((await bench.call("POST", `${keys}/import`, body)).status).toBe(422);
      expect(await everything()).toEqual(before);
    },
  );

  it("refuses more keys than one call may bring", async () => {
    const text = Array.from({ length: 50_001 }, (_, n) => `k${n}`).join("\n");

    const { status, body } = await bench.call("POST", `${keys}/import`, { text });

    expect([status, body.errors[0].path]).toEqual([422, "text"]);
    expect((await bench.call("GET", keys)).body.data).toEqual([]);
  });

  it("adds none when the store fails", async () => {
    const before = await everything();
    bench.breakStore("insertKeys");

    expect((await bench.call("POST", `${keys}/import`, { text: "k1\nk2" })).status).toBe(503);
    bench.breakStore(undefined);
    expect(await everything()).toEqual(before);
  });
});

describe("the order of keys", () => {
  it("is written as 0, 1, 2 … and turns the wheel", async () => {
    const [a, b, c] = [await bench.addKey("mine"), await bench.addKey("mine"), await bench.addKey("mine")];

    const { status, body } = await bench.call("PUT", `${keys}/order`, { ids: [c.id, a.id, b.id] });

    expect(status).toBe(200);
    expect(body.data.map((key: { id: string; order: number }) => [key.id, key.order])).toEqual([
      [c.id, 0],
      [a.id, 1],
      [b.id, 2],
    ]);
    expect(await preview(3)).toEqual([c.id, a.id, b.id]);
    expect(bench.told.at(-1)).toBe("key-order-changed");
    await bench.restart();
    expect(await preview(3)).toEqual([c.id, a.id, b.id]);
  });

  it("lets keys that are not named follow as they stand", async () => {
    const [a, b, c] = [await bench.addKey("mine"), await bench.addKey("mine"), await bench.addKey("mine")];

    const { body } = await bench.call("PUT", `${keys}/order`, { ids: [c.id] });

    expect(body.data.map((key: { id: string }) => key.id)).toEqual([c.id, a.id, b.id]);
  });

  it.each([
    ["an unknown key", (id: string) => [id, "key_none"], "ids.1"],
    ["a key twice", (id: string) => [id, id], "ids.1"],
    ["what is no list", (id: string) => id, "ids"],
    ["what is no id", (id: string) => [id, 5], "ids.1"],
  ])("refuses %s", async (_, ids, path) => {
    const a = await bench.addKey("mine");
    await bench.addKey("mine");
    const before = await everything();

    const { status, body } = await bench.call("PUT", `${keys}/order`, { ids: ids(a.id) });

    expect([status, body.errors[0].path]).toEqual([422, path]);
    expect(await everything()).toEqual(before);
  });
});

describe("many keys at once", () => {
  it("brings back all that were refused for the same reason", async () => {
    const [a, b, c] = [await bench.addKey("mine"), await bench.addKey("mine"), await bench.addKey("mine")];
    await answer(401, a.id);
    await answer(401, b.id);
    await bench.call("PATCH", `/api/keys/${c.id}`, { enabled: false });

    const { status, body } = await bench.call("POST", `${keys}/bulk`, {
      action: "enable",
      where: { reason: "authentication_failed" },
    });

    expect([status, body]).toEqual([200, { ids: [a.id, b.id] }]);
    expect(await preview(4)).toEqual([a.id, b.id, a.id, b.id]);
    expect((await shown(c.id)).status).toBe("disabled");
  });

  it("disables, resets and deletes by id and by status", async () => {
    const [a, b] = [await bench.addKey("mine"), await bench.addKey("mine")];
    await answer(429, a.id);

    await bench.call("POST", `${keys}/bulk`, { action: "reset", where: { status: "cooling_down" } });
    expect((await shown(a.id)).status).toBe("available");
    await bench.call("POST", `${keys}/bulk`, { action: "disable", ids: [a.id] });
    expect(await preview(2)).toEqual([b.id, b.id]);
    const { body } = await bench.call("POST", `${keys}/bulk`, { action: "delete", where: { status: "disabled" } });
    expect(body.ids).toEqual([a.id]);

    expect((await bench.call("GET", keys)).body.data.map((key: { id: string }) => key.id)).toEqual([b.id]);
  });

  it("tests those that are meant, and changes nothing", async () => {
    const [a, b, c] = [await bench.addKey("mine"), await bench.addKey("mine"), await bench.addKey("mine")];
    await answer(429, b.id);
    await bench.call("PATCH", `/api/keys/${c.id}`, { enabled: false });
    const before = await everything();

    const named = await bench.call("POST", `${keys}/bulk`, { action: "test", ids: [c.id, a.id] });
    const resting = await bench.call("POST", `${keys}/bulk`, { action: "test", where: { status: "cooling_down" } });

    const result = { ok: true, http_status: 200, code: "ok", message: null, duration_ms: 1 };
    const results = [
      { id: c.id, ...result },
      { id: a.id, ...result },
    ];
    expect([named.status, named.body]).toEqual([200, { ids: [c.id, a.id], results }]);
    expect(resting.body.ids).toEqual([b.id]);
    expect(await everything()).toEqual(before);
  });

  it.each([
    [{ action: "test" }, "ids"],
    [{ action: "test", ids: ["key_none"] }, "ids.0"],
    [{ action: "enable" }, "ids"],
    [{ action: "enable", ids: [], where: { status: "disabled" } }, "ids"],
    [{ action: "enable", where: {} }, "where"],
    [{ action: "explode", ids: [] }, "action"],
    [{ action: "delete", ids: ["key_none"] }, "ids.0"],
    [{ action: "delete", where: { status: "gone" } }, "where.status"],
  ])("refuses %j", async (body, path) => {
    await bench.addKey("mine");
    const before = await everything();

    const answered = await bench.call("POST", `${keys}/bulk`, body);

    expect([answered.status, answered.body.errors[0].path]).toEqual([422, path]);
    expect(await everything()).toEqual(before);
  });
});

describe("deleting a key", () => {
  it("takes it off the wheel and out of the store", async () => {
    const [a, b] = [await bench.addKey("mine"), await bench.addKey("mine")];

    expect((await bench.call("DELETE", `/api/keys/${a.id}`)).status).toBe(204);

    expect(await preview(2)).toEqual([b.id, b.id]);
    expect((await bench.store.load()).keys.map((key) => key.id)).toEqual([b.id]);
    expect((await bench.call("DELETE", `/api/keys/${a.id}`)).status).toBe(404);
  });
});

it.each(["0", "1001", "x", "1.5", ""])("refuses a preview of %j turns", async (n) => {
  expect((await bench.call("GET", `/api/providers/mine/preview?n=${n}`)).status).toBe(422);
});

it("tests a key through what it was given, whatever the key's state", async () => {
  const key = await bench.addKey("mine", { enabled: false });

  const { status, body } = await bench.call("POST", `/api/keys/${key.id}/test`);

  expect([status, body.ok]).toEqual([200, true]);
  expect((await shown(key.id)).status).toBe("disabled");
});

it.each([
  ["updateKeys", "PATCH", "", { weight: 9 }],
  ["updateKeys", "PATCH", "", { api_key: "sk-new-value-111" }],
  ["deleteKeys", "DELETE", "", undefined],
  ["clearHealth", "POST", "/reset", undefined],
] as const)("leaves everything as it was when the store fails: %s", async (method, verb, path, body) => {
  const key = await bench.addKey("mine");
  await bench.addKey("mine");
  const before = [await everything(), sent(key.id)];
  bench.breakStore(method);

  const answered = await bench.call(verb, `/api/keys/${key.id}${path}`, body);

  expect([answered.status, answered.body.code]).toEqual([503, "store_unavailable"]);
  bench.breakStore(undefined);
  expect([await everything(), sent(key.id)]).toEqual(before);
});

it("counts attempts", async () => {
  const key = await bench.addKey("mine");
  const attempt = { keyId: key.id, why: "turn", passedOver: [], startedAt: bench.clock.now(), durationMs: 5 } as const;
  for (const [status, outcome] of [
    [200, "succeeded"],
    [529, "overloaded"],
    [429, "rate_limited"],
    [undefined, "upstream_unreachable"],
    [200, "client_gone"],
  ] as const) {
    bench.catalog.observe({
      type: "attempt-ended",
      poolId: provider,
      requestId: "r",
      attempt: { ...attempt, status, outcome },
    });
  }

  expect((await shown(key.id)).stats).toEqual({
    requests: 5,
    successes: 1,
    failures: 3,
    last_used_at: "2026-01-01T00:00:00.000Z",
  });
});

it("knows every value that must not be shown", async () => {
  variables["NAME"] = "sk-from-environment";
  await bench.addKey("mine", { api_key: "$NAME" });
  await bench.addKey("mine", { api_key: "sk-literal-value" });
  await bench.call("PATCH", "/api/providers/mine", { api_key: "sk-provider-level" });

  const values = [...bench.catalog.secrets()].map((secret: Secret) => secret.reveal()).sort();

  expect(values).toEqual(["sk-from-environment", "sk-literal-value", "sk-provider-level"]);
});

it("edits one of 10,000 keys in a moment", async () => {
  const text = Array.from({ length: 10_000 }, (_, n) => `sk-many-${n}-value`).join("\n");
  const { body } = await bench.call("POST", `${keys}/import`, { text });
  const started = performance.now();

  for (let n = 0; n < 5; n++) await bench.call("PATCH", `/api/keys/${body.added[n * 1000].id}`, { weight: 2 });

  // Well below half a second each; a quadratic step would take many seconds.
  expect((performance.now() - started) / 5).toBeLessThan(500);
}, 30_000);
