import type { ActivityEvent } from "../activity/events.ts";
import { expect, it } from "vitest";
import type { Told } from "./outbox.ts";
import { type WatchedKey, WebhookWatch } from "./webhook-watch.ts";

const provider = { id: "prv_1", slug: "openai", name: "OpenAI" };
const at = 1_750_000_000_000;
const refused = { code: "authentication_failed", httpStatus: 401, message: null, at } as const;

function aWatch({ refusedKeys = [] as { id: string; at: number }[] } = {}) {
  const told: Told[] = [];
  const keys = new Map<string, WatchedKey>([
    ["key_1", { providerId: "prv_1", label: "first", enabled: true, disabledReason: null }],
  ]);
  const watch = new WebhookWatch({
    tell: (event) => void told.push(event),
    provider: (id) => (id === "prv_1" ? provider : undefined),
    key: (id) => keys.get(id),
    refusedKeys,
    redact: (text) => text.replaceAll("sk-secret", "[redacted]"),
  });
  const change = (parts: Partial<WatchedKey>): void => {
    keys.set("key_1", { ...(keys.get("key_1") as WatchedKey), ...parts });
    watch.catalogEvent({ type: "key-changed", providerId: "prv_1", keyIds: ["key_1"], at });
  };
  return { watch, told, keys, change, types: () => told.map(({ type }) => type) };
}

type Notice = Extract<ActivityEvent, { readonly type: "notice" }>;

function aNotice(code: string, parts: Partial<Notice> = {}): Notice {
  const rest = { count: 1, resolvedAt: undefined, isDismissed: false, at };
  const facts = { resting: 2, total: 3 };
  return { type: "notice", noticeId: "ntc_1", code, providerId: "prv_1", message: "No key.", facts, ...rest, ...parts };
}

it("tells of a key that is disabled, without secrets", () => {
  const { watch, told } = aWatch();

  watch.poolEvent({
    type: "key-disabled",
    poolId: "prv_1",
    keyId: "key_1",
    reason: "authentication_failed",
    httpStatus: 401,
    message: "Incorrect API key provided: sk-secret",
    at,
  });

  expect(told).toEqual([
    {
      type: "key.disabled",
      data: {
        provider,
        key: { id: "key_1", label: "first" },
        reason: "authentication_failed",
        http_status: 401,
        message: "Incorrect API key provided: [redacted]",
      },
      at,
      mark: `key_1 ${at}`,
    },
  ]);
});

it("tells of a key that serves again after a cooldown", () => {
  const { watch, told } = aWatch();

  watch.poolEvent({ type: "key-recovered", poolId: "prv_1", keyId: "key_1", at });

  expect(told).toMatchObject([{ type: "key.recovered", data: { key: { id: "key_1" }, after: "cooldown" } }]);
});

it("tells of a refused key that a person enables again, once", () => {
  const { told, change } = aWatch({ refusedKeys: [{ id: "key_1", at }] });

  change({ enabled: true });
  change({ label: "renamed" });

  expect(told).toMatchObject([{ type: "key.recovered", data: { after: "refusal" }, mark: `key_1 ${at}` }]);
});

it("tells so too where another gateway had disabled it", () => {
  const { told, change } = aWatch();

  change({ enabled: false, disabledReason: refused });
  change({ enabled: true, disabledReason: null });

  expect(told).toMatchObject([{ type: "key.recovered", data: { after: "refusal" } }]);
});

it("does not tell of a key that a person switches off and on", () => {
  const { told, change } = aWatch();

  change({ enabled: false });
  change({ enabled: true });

  expect(told).toEqual([]);
});

it("tells once that a pool is exhausted, whatever is said of it, and once that it is not", () => {
  const { watch, types, told } = aWatch();

  watch.notice(aNotice("pool_exhausted"));
  watch.notice(aNotice("pool_exhausted", { count: 9 }));
  watch.notice(aNotice("no_usable_key"));
  expect(types()).toEqual(["pool.exhausted"]);
  expect(told[0]?.data).toEqual({
    provider,
    reason: "pool_exhausted",
    message: "No key.",
    keys: { total: 3, resting: 2 },
  });

  watch.notice(aNotice("pool_exhausted", { resolvedAt: at }));
  watch.notice(aNotice("no_usable_key", { resolvedAt: at }));
  expect(types()).toEqual(["pool.exhausted", "pool.recovered"]);
});

it("leaves out what is no pool's", () => {
  const { watch, told } = aWatch();

  watch.notice(aNotice("store_unavailable", { providerId: undefined }));
  watch.notice(aNotice("edge_block"));

  expect(told).toEqual([]);
});
