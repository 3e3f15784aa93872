import { afterAll, beforeAll, beforeEach, describe, expect, it } from "vitest";
import { type ControlBench, openControlBench } from "./control-plane.test-bench.ts";

let bench: ControlBench;
let provider: string;
beforeAll(async () => {
  bench = await openControlBench();
});
beforeEach(async () => {
  await bench.clean();
  provider = await bench.addProvider({ slug: "mine" });
});
afterAll(() => bench.close());

async function shown(id: string) {
  return (await bench.call("GET", `/api/keys/${id}`)).body;
}

function tell(keyId: string, organization: string, project?: string): void {
  const told = { organization, ...(project === undefined ? {} : { project }) };
  bench.catalog.observe({ type: "organization-seen", poolId: provider, keyId, ...told, at: bench.clock.now() });
}

async function ownerNotice(): Promise<string | undefined> {
  bench.room.notices.check();
  const { data } = (await bench.call("GET", "/api/notices")).body;
  const notices = data as { code: string; message: string; resolved_at: string | null }[];
  return notices.find(({ code, resolved_at: over }) => code === "one_owner" && over === null)?.message;
}

describe("the group of a key", () => {
  it("is set as it is added, changed, taken away, and outlives a restart", async () => {
    const key = await bench.addKey(provider, { group: "  team a " });
    expect(key.group).toBe("team a");
    expect((await bench.addKey(provider)).group).toBe("");

    expect((await bench.call("PATCH", `/api/keys/${key.id}`, { group: "팀 B" })).body.group).toBe("팀 B");
    await bench.restart();
    expect((await shown(key.id)).group).toBe("팀 B");
    expect((await bench.call("PATCH", `/api/keys/${key.id}`, { group: "" })).body.group).toBe("");
  });

  it("is that of all keys of a pasted list, where one is named", async () => {
    const text = "sk-test-group-0000000001\nsk-test-group-0000000002,second,2";

    const { body } = await bench.call("POST", "/api/providers/mine/keys/import", { text, group: "project" });

    expect(body.added.map(({ group, label }: Record<string, string>) => `${label}/${group}`)).toEqual([
      "/project",
      "second/project",
    ]);
  });

  it.each([["x".repeat(101)], ["two\nlines"], [7]])("is refused as %j", async (group) => {
    const { status, body } = await bench.call("POST", "/api/providers/mine/keys", {
      api_key: "sk-test-0123456789",
      group,
    });

    expect([status, body.errors?.[0]?.path]).toEqual([422, "group"]);
  });

  it("leaves the gateway with an export, and comes in with it; where it differs, that is said", async () => {
    const key = await bench.addKey(provider, { api_key: "$GROUPED_KEY", group: "project" });
    await bench.addKey(provider, { api_key: "$LONE_KEY" });
    const { body: document } = await bench.call("POST", "/api/export", {});
    expect(document.providers[0].keys).toMatchObject([{ group: "project" }, { api_key: "$LONE_KEY" }]);
    expect(document.providers[0].keys[1]).not.toHaveProperty("group");

    await bench.call("PATCH", `/api/keys/${key.id}`, { group: "another" });
    const differs = await bench.call("POST", "/api/import", { document, dry_run: true });
    expect(differs.body.entries).toMatchObject([{ outcome: "conflict", reason: "It is here with another group" }]);
    await bench.call("DELETE", `/api/providers/${provider}`);
    await bench.call("POST", "/api/import", { document });

    const { data } = (await bench.call("GET", "/api/providers/mine/keys")).body;
    expect(data.map(({ group }: { group: string }) => group)).toEqual(["project", ""]);
  });
});

describe("the organization of a key", () => {
  it("is what the provider has told, until it has another value", async () => {
    const key = await bench.addKey(provider);
    expect(key.organization).toBeNull();

    tell(key.id, "acme");
    tell(key.id, "acme");

    expect((await shown(key.id)).organization).toBe("acme");
    expect(bench.told.filter((type) => type === "key-changed")).toHaveLength(1);
    await bench.call("PATCH", `/api/keys/${key.id}`, { api_key: "sk-test-another-0123456789" });
    expect((await shown(key.id)).organization).toBeNull();
  });

  it("comes with its project, where that is told", async () => {
    const key = await bench.addKey(provider);

    tell(key.id, "acme", "proj_1");
    expect(await shown(key.id)).toMatchObject({ organization: "acme", project: "proj_1" });
    tell(key.id, "acme", "proj_2");
    expect((await shown(key.id)).project).toBe("proj_2");
    tell(key.id, "acme");
    expect((await shown(key.id)).project).toBeNull();
  });

  it("cannot be set, and may come back as it was read", async () => {
    const key = await bench.addKey(provider);
    const { status } = await bench.call("PATCH", `/api/keys/${key.id}`, {
      ...(await shown(key.id)),
      api_key: undefined,
    });

    expect(status).toBe(200);
    expect((await bench.call("POST", "/api/providers/mine/keys", { api_key: "$X", organization: "a" })).status).toBe(
      422,
    );
  });
});

describe("a limit that a group shares", () => {
  it("rests the other keys, says whose limit it was, outlives a restart, and is over with the rest", async () => {
    const [a, b, c] = [
      await bench.addKey(provider, { label: "first", group: "g" }),
      await bench.addKey(provider, { group: "g" }),
      await bench.addKey(provider),
    ];
    const choice = await bench.pool(provider).choose({ pinnedTo: a.id });
    if (choice.kind !== "key") throw new Error("no key");
    const key = { kind: "cool", reason: "rate_limited", failure: { rest: "ladder" }, scope: "key" } as const;
    const said = { request: "next-key", code: "rate_limited", message: "slow down", httpStatus: 429 } as const;
    await bench.pool(provider).settle(choice.ticket, { key, ...said });

    const resting = {
      status: "cooling_down",
      consecutive_failures: 0,
      status_reason: { code: "rate_limited", wait: "shared", shared_from: { key_id: a.id, label: "first" } },
    };
    expect(await shown(b.id)).toMatchObject(resting);
    expect(await shown(a.id)).toMatchObject({ consecutive_failures: 1, status_reason: { shared_from: null } });
    expect((await shown(c.id)).status).toBe("available");
    await bench.restart();
    expect(await shown(b.id)).toMatchObject(resting);
    bench.clock.advance(60_000);
    expect(await shown(b.id)).toMatchObject({ status: "available", status_reason: null });
  });

  it("is shared from the moment at which a key joins", async () => {
    const [a, b] = [await bench.addKey(provider), await bench.addKey(provider)];
    await bench.call("PATCH", `/api/keys/${a.id}`, { group: "g" });
    await bench.call("PATCH", `/api/keys/${b.id}`, { group: "g" });
    const choice = await bench.pool(provider).choose({ pinnedTo: a.id });
    if (choice.kind !== "key") throw new Error("no key");
    const key = { kind: "cool", reason: "quota_exhausted", failure: { rest: "at-cap" }, scope: "key" } as const;
    await bench.pool(provider).settle(choice.ticket, {
      key,
      request: "next-key",
      code: "quota_exhausted",
      message: undefined,
      httpStatus: 429,
    });

    expect((await shown(b.id)).status).toBe("cooling_down");
  });
});

describe("the notice about a pool of one owner", () => {
  it("comes with the last key's organization, and goes with a key of another", async () => {
    const [one, two] = [await bench.addKey(provider), await bench.addKey(provider)];
    tell(one.id, "acme");
    expect(await ownerNotice()).toBeUndefined();

    // Projects may have limits of their own, but share those of their organization.
    tell(two.id, "acme", "proj_2");

    expect(await ownerNotice()).toBe("All 2 keys of mine seem to be of one organization, acme.");
    const third = await bench.addKey(provider);
    expect(await ownerNotice()).toBeUndefined();
    await bench.call("PATCH", `/api/keys/${third.id}`, { enabled: false });
    expect(await ownerNotice()).toBeDefined();
  });

  it("follows what the operator says, also against the provider", async () => {
    const [one, two] = [await bench.addKey(provider, { group: "a" }), await bench.addKey(provider, { group: "a" })];
    expect(await ownerNotice()).toBe("All 2 keys of mine are of the group a.");
    tell(one.id, "acme");
    tell(two.id, "acme");

    await bench.call("PATCH", `/api/keys/${two.id}`, { group: "b" });

    expect(await ownerNotice()).toBeUndefined();
  });

  it("does not come back once it was dismissed, as long as it tells the same", async () => {
    await bench.addKey(provider, { group: "a" });
    await bench.addKey(provider, { group: "a" });
    await ownerNotice();
    const { data } = (await bench.call("GET", "/api/notices")).body;
    await bench.call("DELETE", `/api/notices/${data[0].id}`);

    expect(await ownerNotice()).toBeUndefined();
    await bench.addKey(provider, { group: "a" });
    expect(await ownerNotice()).toBe("All 3 keys of mine are of the group a.");
  });
});
