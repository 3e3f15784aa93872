import { expect, it } from "vitest";
import type { Told } from "./outbox.ts";
import { type WatchedKey, WebhookWatch } from "./webhook-watch.ts";

const provider = { id: "prv_1", slug: "openai", name: "OpenAI" };
const at = 1_750_000_000_000;
const refused = { code: "authentication_failed", httpStatus: 401, message: null, at } as const;

function aWatch({ refusedKeys = [] as string[] } = {}) {
  const told: Told[] = [];
  const keys = new Map<string, WatchedKey>([
    [
      "key_1",
      {
        providerId: "prv_1",
        label: "first",
        enabled: true,
        disabledReason: null,
        updatedAt: at - 7,
        refusedFrom: at - 9,
      },
    ],
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
      mark: `key_1 ${at - 9}`,
    },
  ]);
});

it("tells of a key that serves again after a cooldown", () => {
  const { watch, told } = aWatch();

  watch.poolEvent({ type: "key-recovered", poolId: "prv_1", keyId: "key_1", at });

  expect(told).toMatchObject([{ type: "key.recovered", data: { key: { id: "key_1" }, after: "cooldown" } }]);
});

it("tells of a refused key that a person enables again, once", () => {
  const { told, change } = aWatch({ refusedKeys: ["key_1"] });

  change({ enabled: true });
  change({ label: "renamed" });

  expect(told).toMatchObject([{ type: "key.recovered", data: { after: "refusal" }, mark: `key_1 ${at - 7}` }]);
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
