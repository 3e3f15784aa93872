import { toBlocks } from "../../gateway/src/requests/request-blocks.ts";
import { type DisabledRecord, type HealthRecord, healthy, type Pin, Secret, type TouchedSession } from "@keywheel/pool";
import { afterEach, beforeEach, describe, expect, it } from "vitest";
// The store is no export of the gateway; only its types are needed here.
import type {
  AffinitySum,
  KeyPatch,
  KeyRecord,
  ProviderRecord,
  QueuedDelivery,
  Store,
  StoredRequest,
  TokenRecord,
  UsageSum,
  WebhookRecord,
} from "../../gateway/src/store/store.ts";

/** A store under test. */
export interface StoreFixture {
  readonly store: Store;
  /** Closes the store and opens another one over the same database, as a restart does. */
  reopen(): Promise<Store>;
  /** Closes whatever is open and removes the database. */
  dispose(): Promise<void>;
}

const createdAt = 1_750_000_000_123;

export function aProviderRecord(parts: Partial<ProviderRecord> = {}): ProviderRecord {
  return {
    id: "prv_1",
    slug: parts.id ?? "openai",
    name: "OpenAI",
    kind: "openai",
    preset: "openai",
    baseUrl: "https://api.openai.com/v1",
    apiKey: null,
    enabled: true,
    settings: {},
    createdAt,
    updatedAt: createdAt,
    ...parts,
  };
}

/** Its value is made from its id unless one is given, so that no two are alike. */
export function aKeyRecord(parts: Partial<KeyRecord> = {}): KeyRecord {
  const id = parts.id ?? "key_1";
  return {
    id,
    providerId: "prv_1",
    secret: { kind: "literal", value: new Secret(`sk-value-of-${id}-0123456789`) },
    secretVersion: 1,
    label: "",
    weight: 1,
    enabled: true,
    order: 0,
    group: "",
    disabledReason: null,
    createdAt,
    updatedAt: createdAt,
    ...parts,
  };
}

export function aWebhookRecord(parts: Partial<WebhookRecord> = {}): WebhookRecord {
  const id = parts.id ?? "whk_1";
  return {
    id,
    name: "pager",
    url: "https://hooks.example.com/keywheel?team=1",
    events: null,
    enabled: true,
    disabledReason: null,
    secret: {
      kind: "literal",
      value: new Secret(`whsec_${Buffer.from(`secret of ${id}`.padEnd(32)).toString("base64")}`),
    },
    formerSecrets: [],
    createdAt,
    updatedAt: createdAt,
    ...parts,
  };
}

export function aDelivery(parts: Partial<QueuedDelivery> = {}): QueuedDelivery {
  return {
    id: "msg_1",
    webhookId: "whk_1",
    type: "key.disabled",
    body: '{"type":"key.disabled"}',
    createdAt,
    ...parts,
  };
}

export function aTokenRecord(parts: Partial<TokenRecord> = {}): TokenRecord {
  const id = parts.id ?? "tok_1";
  return {
    id,
    name: "laptop",
    hash: `hash-of-${id}`,
    prefix: "kw_ab",
    providerIds: null,
    expiresAt: null,
    maxRequestsPerMinute: null,
    maxConcurrent: null,
    createdAt,
    lastUsedAt: null,
    ...parts,
  };
}

export function aHealthRecord(parts: Partial<HealthRecord> = {}): HealthRecord {
  return {
    poolId: "prv_1",
    keyId: "key_1",
    secretVersion: 1,
    model: "",
    health: {
      ...healthy,
      failures: 2,
      cooldowns: 3,
      failuresSeen: 4,
      cooledAt: createdAt,
      coolUntil: createdAt + 60_000,
    },
    reason: { code: "rate_limited", httpStatus: 429, message: "slow down", at: createdAt },
    ...parts,
  };
}

export function aDisabledRecord(parts: Partial<DisabledRecord> = {}): DisabledRecord {
  return {
    poolId: "prv_1",
    keyId: "key_1",
    secretVersion: 1,
    reason: { code: "authentication_failed", httpStatus: 401, message: "invalid api key", at: createdAt + 5 },
    ...parts,
  };
}

/** The n-th session of a client, bound at the instant `n`. */
export function aTouchedSession(n: number, parts: Partial<TouchedSession> = {}): TouchedSession {
  return {
    poolId: "prv_1",
    // 2^32 - 1 is the largest half of a fingerprint.
    session: { id: `chat-${n}`, valueHash: `hash-${n}`, carrier: "header", fingerprint: { high: 0xffffffff, low: n } },
    keyId: "key_1",
    boundAt: createdAt + n,
    lastUsedAt: createdAt + n,
    requests: 1,
    ...parts,
  };
}

/** What a provider with keys named `key_1`, `key_2` … of the given number looks like in a store. */
export async function fillStore(store: Store, keyCount = 1): Promise<void> {
  await store.insertProvider(aProviderRecord());
  await store.insertKeys(keysUpTo(keyCount));
}

function keysUpTo(count: number): KeyRecord[] {
  return Array.from({ length: count }, (_, index) => aKeyRecord({ id: `key_${index + 1}` }));
}

/** What every store must do, whatever database lies below. */
export function describeStore(name: string, make: () => Promise<StoreFixture>): void {
  describe(`store: ${name}`, () => {
    let fixture: StoreFixture;
    let store: Store;
    beforeEach(async () => {
      fixture = await make();
      store = fixture.store;
    });
    afterEach(() => fixture.dispose());

    describeProviders(
      () => store,
      () => fixture.reopen(),
    );
    describeKeys(
      () => store,
      () => fixture.reopen(),
    );
    describeOutcomes(() => store);
    describeTokens(
      () => store,
      () => fixture.reopen(),
    );
    describeWebhooks(
      () => store,
      () => fixture.reopen(),
    );
    describeSessions(() => store);
    describePages(() => store);
    describeEndedBindings(() => store);
    describePins(() => store);
    describeRequests(() => store);
    describeUsage(() => store);
    describeAffinity(() => store);
    describeMeta(() => store);
  });
}

type Current = () => Store;
type Reopen = () => Promise<Store>;

function describeProviders(current: Current, reopen: Reopen): void {
  describe("providers", () => {
    it("are read as they were written, in the order of their creation", async () => {
      const first = aProviderRecord({
        id: "prv_z",
        preset: null,
        enabled: false,
        settings: { cooldown: { base_ms: 100, scope: "model" }, name: "한국어 ' \" \0" },
        apiKey: { kind: "literal", value: new Secret("sk-provider-0123456789") },
      });
      const second = aProviderRecord({ id: "prv_a", apiKey: { kind: "reference", name: "OPENAI_KEY" } });
      await current().insertProvider(first);
      await current().insertProvider(second);

      const { providers } = await (await reopen()).load();

      expect(revealed(providers)).toEqual(revealed([first, second]));
    });

    it("come with keys, all or none", async () => {
      const mine = aProviderRecord({ id: "prv_2", slug: "mine" });
      const key = aKeyRecord({ id: "key_2", providerId: "prv_2" });
      await current().insertProvider(aProviderRecord());

      await expect(
        current().insertProvidersAndKeys([mine, aProviderRecord({ id: "prv_3", slug: "openai" })], [key]),
      ).rejects.toMatchObject({ code: "conflict" });
      expect((await current().load()).providers.map(({ id }) => id)).toEqual(["prv_1"]);
      await current().insertProvidersAndKeys([mine], [aKeyRecord(), key]);

      const { providers, keys } = await current().load();
      expect([providers, keys].map((records) => records.map(({ id }) => id))).toEqual([
        ["prv_1", "prv_2"],
        ["key_1", "key_2"],
      ]);
    });

    it("are changed together with keys, tokens and notes, all or none", async () => {
      const mine = aProviderRecord({ id: "prv_2", slug: "mine" });
      await current().insertProvidersAndKeys(
        [aProviderRecord(), mine],
        [aKeyRecord(), aKeyRecord({ id: "key_2", providerId: "prv_2" })],
      );
      const none = {
        deletedProviders: [],
        insertedProviders: [],
        updatedProviders: [],
        deletedKeys: [],
        insertedKeys: [],
        updatedKeys: [],
        deletedTokens: [],
        insertedTokens: [],
        updatedTokens: [],
        meta: {},
      };
      const token = aTokenRecord();

      await expect(
        current().changeConfiguration({
          ...none,
          deletedProviders: ["prv_1"],
          updatedKeys: [{ id: "key_gone", patch: { label: "x" } }],
          meta: { noted: "no" },
        }),
      ).rejects.toMatchObject({ code: "not_found" });
      expect((await current().load()).providers).toHaveLength(2);
      expect(await current().getMeta("noted")).toBeUndefined();

      // What goes makes room: the slug and the value are those of what is deleted.
      const next = aProviderRecord({ id: "prv_3" });
      await current().changeConfiguration({
        ...none,
        deletedProviders: ["prv_1"],
        insertedProviders: [next],
        updatedProviders: [{ id: "prv_2", patch: { name: "Other" } }],
        insertedKeys: [aKeyRecord({ id: "key_3", providerId: "prv_3" })],
        updatedKeys: [{ id: "key_2", patch: { weight: 7 } }],
        insertedTokens: [token],
        meta: { noted: "yes" },
      });

      const { providers, keys, tokens } = await current().load();
      expect(providers.map(({ id, name }) => [id, name])).toEqual([
        ["prv_2", "Other"],
        ["prv_3", next.name],
      ]);
      expect(keys.map(({ id, weight }) => [id, weight])).toEqual([
        ["key_2", 7],
        ["key_3", aKeyRecord().weight],
      ]);
      expect(tokens.map(({ id }) => id)).toEqual([token.id]);
      expect(await current().getMeta("noted")).toBe("yes");
      await current().changeConfiguration({ ...none, deletedTokens: [token.id], deletedKeys: ["key_3"] });
      expect(await current().load()).toMatchObject({ tokens: [], keys: [{ id: "key_2" }] });
    });

    it("refuses a slug that is taken", async () => {
      await current().insertProvider(aProviderRecord());

      await expect(current().insertProvider(aProviderRecord({ id: "prv_2", slug: "openai" }))).rejects.toMatchObject({
        code: "conflict",
        details: [{ path: "slug" }],
      });
    });

    it("are changed in the fields of the patch alone", async () => {
      const apiKey = { kind: "literal", value: new Secret("sk-provider-0123456789") } as const;
      await current().insertProvider(aProviderRecord({ apiKey }));

      await current().updateProvider("prv_1", { name: "Other", preset: null, updatedAt: createdAt + 1 });

      const { providers } = await current().load();
      const changed = aProviderRecord({ apiKey, name: "Other", preset: null, updatedAt: createdAt + 1 });
      expect(revealed(providers)).toEqual(revealed([changed]));
    });

    it("lose their own key when it is set to null", async () => {
      await current().insertProvider(aProviderRecord({ apiKey: { kind: "reference", name: "A" } }));

      await current().updateProvider("prv_1", { apiKey: null });

      expect((await current().load()).providers[0]?.apiKey).toBeNull();
    });

    it("cannot be changed when there is none", async () => {
      await expect(current().updateProvider("prv_9", { name: "x" })).rejects.toMatchObject({ code: "not_found" });
    });

    it("take their keys, healths and sessions with them", async () => {
      await fillStore(current());
      await current().saveOutcomes([{ kind: "health", record: aHealthRecord() }]);
      await current().saveSessions([aTouchedSession(1)]);

      await current().deleteProvider("prv_1");

      expect(await current().load()).toEqual({ providers: [], keys: [], tokens: [], webhooks: [], health: [] });
      expect((await current().listSessions({ limit: 10 })).sessions).toEqual([]);
    });
  });
}

function describeKeys(current: Current, reopen: Reopen): void {
  describe("keys", () => {
    it("are read as they were written", async () => {
      const keys = [
        aKeyRecord({ label: "한국어 ' \" 🔑", weight: 100, order: -3, group: "팀 A" }),
        aKeyRecord({
          id: "key_2",
          secret: { kind: "reference", name: "OPENAI_KEY_1" },
          secretVersion: 7,
          enabled: false,
          disabledReason: { code: "authentication_failed", httpStatus: 403, message: null, at: createdAt },
        }),
      ];
      await current().insertProvider(aProviderRecord());
      await current().insertKeys(keys);

      const loaded = await (await reopen()).load();

      expect(revealed(loaded.keys)).toEqual(revealed(keys));
    });

    it("come in wheel order: by order, then as they were added", async () => {
      await current().insertProvider(aProviderRecord());
      await current().insertKeys([
        aKeyRecord({ id: "z", order: 1 }),
        aKeyRecord({ id: "y", order: 0 }),
        aKeyRecord({ id: "x", order: 1 }),
        aKeyRecord({ id: "w", order: 0 }),
      ]);

      expect(await idsOf(current())).toEqual(["y", "w", "z", "x"]);
    });

    it("are added all or none, and the conflict names those that are held", async () => {
      await fillStore(current(), 2);
      const reference = { kind: "reference", name: "A" } as const;

      const adding = current().insertKeys([
        aKeyRecord({ id: "new_1" }),
        aKeyRecord({ id: "new_2", secret: aKeyRecord({ id: "key_2" }).secret }),
        aKeyRecord({ id: "new_3", secret: reference }),
        aKeyRecord({ id: "new_4", secret: reference }),
      ]);

      await expect(adding).rejects.toMatchObject({
        code: "conflict",
        details: [{ path: "keys.1" }, { path: "keys.3" }],
      });
      expect(await idsOf(current())).toEqual(["key_1", "key_2"]);
    });

    it("may have a value that another provider holds", async () => {
      await fillStore(current());
      await current().insertProvider(aProviderRecord({ id: "prv_2" }));

      await current().insertKeys([aKeyRecord({ id: "other", providerId: "prv_2", secret: aKeyRecord().secret })]);

      expect(await idsOf(current())).toEqual(["key_1", "other"]);
    });

    it("cannot be added to a provider that is gone", async () => {
      await expect(current().insertKeys([aKeyRecord()])).rejects.toMatchObject({ code: "not_found" });
    });

    it("are found by their value, opened or not, and by their reference", async () => {
      await fillStore(current(), 2);
      await current().insertKeys([aKeyRecord({ id: "key_3", secret: { kind: "reference", name: "A" } })]);

      const held = await current().findHeld("prv_1", [
        { kind: "literal", value: new Secret("sk-unheard-of-0123456789") },
        aKeyRecord({ id: "key_2" }).secret,
        { kind: "reference", name: "A" },
        { kind: "literal", value: new Secret("$A") },
      ]);

      expect(held).toEqual([undefined, "key_2", "key_3", undefined]);
      expect(await current().findHeld("prv_1", [])).toEqual([]);
    });

    it("are changed in the fields of the patch alone", async () => {
      await fillStore(current(), 2);

      await current().updateKeys([
        { id: "key_1", patch: { label: "first", weight: 5 } },
        { id: "key_2", patch: { enabled: false } },
        { id: "key_2", patch: {} },
      ]);

      const { keys } = await current().load();
      const changed = [aKeyRecord({ label: "first", weight: 5 }), aKeyRecord({ id: "key_2", enabled: false })];
      expect(revealed(keys)).toEqual(revealed(changed));
    });

    it("are changed all or none", async () => {
      await fillStore(current());

      const changing = current().updateKeys([
        { id: "key_1", patch: { label: "changed" } },
        { id: "key_9", patch: { label: "changed" } },
      ]);

      await expect(changing).rejects.toMatchObject({ code: "not_found" });
      expect((await current().load()).keys[0]?.label).toBe("");
    });

    it("lose what was learnt with their old value when they get a new one", async () => {
      await fillStore(current());
      await current().saveOutcomes([
        { kind: "health", record: aHealthRecord() },
        { kind: "health", record: aHealthRecord({ model: "gpt-5" }) },
      ]);
      const secret = { kind: "literal", value: new Secret("sk-new-value-0123456789") } as const;
      const patch: KeyPatch = { secret, secretVersion: 2 };

      await current().updateKeys([{ id: "key_1", patch }]);

      const { keys, health } = await current().load();
      expect(revealed(keys)).toEqual(revealed([aKeyRecord({ secret, secretVersion: 2 })]));
      expect(health).toEqual([]);
    });

    it("cannot take the value of another one", async () => {
      await fillStore(current(), 2);
      const patch: KeyPatch = { secret: aKeyRecord({ id: "key_2" }).secret, secretVersion: 2 };

      await expect(current().updateKeys([{ id: "key_1", patch }])).rejects.toMatchObject({
        code: "conflict",
        details: [{ path: "api_key" }],
      });
    });

    it("take their healths and sessions with them", async () => {
      await fillStore(current(), 2);
      await current().saveOutcomes([{ kind: "health", record: aHealthRecord() }]);
      await current().saveSessions([aTouchedSession(1), aTouchedSession(2, { keyId: "key_2" })]);

      await current().deleteKeys(["key_1", "key_9"]);

      expect(await idsOf(current())).toEqual(["key_2"]);
      expect((await current().load()).health).toEqual([]);
      expect(await sessionIdsOf(current())).toEqual(["chat-2"]);
    });

    it("are added, disabled, ordered and deleted 40,000 at a time", { timeout: 120_000 }, async () => {
      await current().insertProvider(aProviderRecord());
      const keys = keysUpTo(40_000).map((key): KeyRecord => ({ ...key, secret: { kind: "reference", name: key.id } }));
      const ids = keys.map(({ id }) => id);

      await current().insertKeys(keys);
      await current().updateKeys(ids.map((id, index) => ({ id, patch: { enabled: false, order: -index } })));

      const { keys: stored } = await current().load();
      expect(stored.length).toBe(40_000);
      expect(stored.every(({ enabled }) => !enabled)).toBe(true);
      expect(stored[0]?.id).toBe("key_40000");
      expect(
        await current().findHeld(
          "prv_1",
          keys.map(({ secret }) => secret),
        ),
      ).toEqual(ids);
      await current().clearHealth(ids);
      await current().deleteSessionsOfKeys(ids);
      await current().deleteKeys(ids);
      expect(await idsOf(current())).toEqual([]);
    });
  });
}

function describeOutcomes(current: Current): void {
  describe("outcomes", () => {
    it("keep the health of a key and of its models", async () => {
      await fillStore(current());
      const shared = {
        code: "rate_limited",
        httpStatus: 429,
        message: null,
        at: createdAt,
        sharedFrom: "key_1",
      } as const;
      const records = [
        aHealthRecord(),
        aHealthRecord({ model: "gpt-5", health: healthy, reason: undefined }),
        aHealthRecord({ model: "gpt-6", health: { ...healthy, cooldowns: 1, wait: "shared" }, reason: shared }),
      ];

      const took = await current().saveOutcomes(records.map((record) => ({ kind: "health", record })));

      expect(took).toEqual([true, true, true]);
      expect((await current().load()).health).toEqual(records);
    });

    it("keep the last of several healths of a key", async () => {
      await fillStore(current());
      const last = aHealthRecord({ health: { ...healthy, failures: 3, coolUntil: createdAt + 0.5, wait: "quota" } });

      await current().saveOutcomes([
        { kind: "health", record: aHealthRecord() },
        { kind: "health", record: last },
      ]);

      const health = { ...last.health, coolUntil: createdAt + 1 };
      expect((await current().load()).health).toEqual([{ ...last, health }]);
    });

    it("leave out what was learnt with an older value, or of a key that is gone", async () => {
      await fillStore(current());

      const took = await current().saveOutcomes([
        { kind: "health", record: aHealthRecord({ secretVersion: 0 }) },
        { kind: "health", record: aHealthRecord({ keyId: "key_9" }) },
        { kind: "disable", record: aDisabledRecord({ secretVersion: 0 }) },
        { kind: "disable", record: aDisabledRecord({ keyId: "key_9" }) },
      ]);

      expect(took).toEqual([false, false, false, false]);
      const { health, keys } = await current().load();
      expect(health).toEqual([]);
      expect(keys[0]?.enabled).toBe(true);
    });

    it("disable a key with its reason", async () => {
      await fillStore(current());
      const record = aDisabledRecord();

      expect(await current().saveOutcomes([{ kind: "disable", record }])).toEqual([true]);

      const [key] = (await current().load()).keys;
      expect(key).toMatchObject({ enabled: false, disabledReason: record.reason, updatedAt: record.reason.at });
    });

    it("give no reason to a key that a person switched off", async () => {
      await fillStore(current());
      await current().updateKeys([{ id: "key_1", patch: { enabled: false } }]);

      expect(await current().saveOutcomes([{ kind: "disable", record: aDisabledRecord() }])).toEqual([false]);

      expect((await current().load()).keys[0]?.disabledReason).toBeNull();
    });

    it("are cleared with all models of a key", async () => {
      await fillStore(current(), 2);
      const other = aHealthRecord({ keyId: "key_2" });
      const records = [aHealthRecord(), aHealthRecord({ model: "gpt-5" }), other];
      await current().saveOutcomes(records.map((record) => ({ kind: "health", record })));

      await current().clearHealth(["key_1"]);

      expect((await current().load()).health).toEqual([other]);
    });
  });
}

function describeTokens(current: Current, reopen: Reopen): void {
  describe("tokens", () => {
    it("are read as they were written", async () => {
      const tokens = [
        aTokenRecord({ providerIds: ["prv_1", "prv_gone"] }),
        aTokenRecord({ id: "tok_2", providerIds: [] }),
        aTokenRecord({ id: "tok_3", expiresAt: 1_900_000_000_000, maxRequestsPerMinute: 60, maxConcurrent: 4 }),
      ];
      for (const token of tokens) await current().insertToken(token);

      expect((await (await reopen()).load()).tokens).toEqual(tokens);
    });

    it("takes on new terms, and keeps what is not of them", async () => {
      const limited = aTokenRecord({ providerIds: ["prv_1"], expiresAt: 5, maxRequestsPerMinute: 1, lastUsedAt: 3 });
      const other = aTokenRecord({ id: "tok_2" });
      for (const token of [limited, other]) await current().insertToken(token);
      const terms = { name: "desk", providerIds: null, expiresAt: null, maxRequestsPerMinute: 7, maxConcurrent: 2 };

      await current().updateToken("tok_1", terms);
      await current().updateToken("tok_9", terms);

      expect((await current().load()).tokens).toEqual([{ ...limited, ...terms }, other]);
    });

    it("remember the latest use", async () => {
      await current().insertToken(aTokenRecord());

      await current().touchTokens([
        { id: "tok_1", at: 20 },
        { id: "tok_1", at: 10 },
        { id: "tok_9", at: 10 },
      ]);

      expect((await current().load()).tokens[0]?.lastUsedAt).toBe(20);
    });

    it("are gone once deleted", async () => {
      await current().insertToken(aTokenRecord());

      await current().deleteToken("tok_1");
      await current().deleteToken("tok_9");

      expect((await current().load()).tokens).toEqual([]);
    });
  });
}

function describeWebhooks(current: Current, reopen: Reopen): void {
  const at = createdAt;
  const take = (now: number, limit = 10) => current().takeDueDeliveries({ now, leaseUntil: now + 1_000, limit });
  const outcome = { attempts: 1, nextAt: null, delivered: true, lastStatus: 204, lastError: null, lastAt: at + 7 };

  describe("webhooks", () => {
    it("are read as they were written, their secrets too", async () => {
      const hooks = [
        aWebhookRecord(),
        aWebhookRecord({ id: "whk_2", name: "", events: ["key.disabled"], enabled: false }),
      ];
      for (const hook of hooks) await current().insertWebhook(hook);

      const { webhooks } = await (await reopen()).load();

      expect(webhooks).toEqual(hooks);
      expect(webhooks.map(({ secret }) => (secret.kind === "literal" ? secret.value.reveal() : ""))).toEqual(
        hooks.map(({ secret }) => (secret.kind === "literal" ? secret.value.reveal() : "")),
      );
    });

    it("take on what is changed, and keep the rest", async () => {
      const other = aWebhookRecord({ id: "whk_2" });
      for (const hook of [aWebhookRecord(), other]) await current().insertWebhook(hook);
      const patch = { events: ["key.disabled"], enabled: false, disabledReason: "gone", updatedAt: at + 1 } as const;

      await current().updateWebhook("whk_1", patch);

      expect((await current().load()).webhooks).toEqual([{ ...aWebhookRecord(), ...patch }, other]);
      await expect(current().updateWebhook("whk_9", patch)).rejects.toMatchObject({ code: "not_found" });
    });

    it("take on another secret, and keep the former ones for as long as they are said to", async () => {
      await current().insertWebhook(aWebhookRecord());
      const whsec = (of: string): Secret => new Secret(`whsec_${Buffer.alloc(32, of).toString("base64")}`);
      const patch = {
        secret: { kind: "literal", value: whsec("new") },
        formerSecrets: [
          { value: whsec("old"), until: at + 9_000 },
          { value: whsec("older"), until: at + 5_000 },
        ],
        updatedAt: at + 1,
      } as const;

      await current().updateWebhook("whk_1", patch);

      const next = await reopen();
      const [hook] = (await next.load()).webhooks;
      expect(hook?.secret.kind === "literal" && hook.secret.value.reveal()).toBe(whsec("new").reveal());
      expect(hook?.formerSecrets.map(({ value, until }) => [value.reveal(), until])).toEqual([
        [whsec("old").reveal(), at + 9_000],
        [whsec("older").reveal(), at + 5_000],
      ]);
      await next.updateWebhook("whk_1", { formerSecrets: [], updatedAt: at + 2 });
      expect((await next.load()).webhooks[0]?.formerSecrets).toEqual([]);
    });

    it("take what waits to be sent with them", async () => {
      await current().insertWebhook(aWebhookRecord());
      await current().insertDeliveries([aDelivery()], 10);

      await current().deleteWebhook("whk_1");
      await current().deleteWebhook("whk_1");

      expect((await current().load()).webhooks).toEqual([]);
      expect(await current().nextDeliveryAt()).toBeUndefined();
    });
  });

  describe("exhausted pools", () => {
    const turn = (isExhausted: boolean, providerId = "prv_1") => ({ providerId, isExhausted, at });
    const waiting = async (store = current()): Promise<string[]> =>
      (await store.listDeliveries("whk_1", 10)).map(({ id }) => id).sort();

    it("are told of once, with what is to be sent of it, until they have recovered", async () => {
      await current().insertProvider(aProviderRecord());
      await current().insertWebhook(aWebhookRecord());

      expect(await current().insertPoolTurn(turn(false), [aDelivery({ id: "msg_0" })], 10)).toBeUndefined();
      expect(await current().insertPoolTurn(turn(true), [aDelivery()], 10)).toBe(1);
      expect(await current().insertPoolTurn(turn(true), [aDelivery({ id: "msg_2" })], 10)).toBeUndefined();
      const next = await reopen();
      expect(await next.insertPoolTurn(turn(true), [aDelivery({ id: "msg_3" })], 10)).toBeUndefined();
      expect(await next.insertPoolTurn(turn(false), [aDelivery({ id: "msg_4" })], 10)).toBe(1);

      expect(await waiting(next)).toEqual(["msg_1", "msg_4"]);
    });

    it("are told of by one of several at the same time", async () => {
      await current().insertProvider(aProviderRecord());
      await current().insertWebhook(aWebhookRecord());
      const all = (isExhausted: boolean) =>
        Promise.all(
          Array.from({ length: 5 }, (_, number) =>
            current().insertPoolTurn(turn(isExhausted), [aDelivery({ id: `msg_${isExhausted}_${number}` })], 100),
          ),
        );

      const begun = await all(true);
      const over = await all(false);

      expect([begun, over].map((took) => took.filter((count) => count === 1).length)).toEqual([1, 1]);
      expect(await waiting()).toHaveLength(2);
    });

    it("are watched for by one, and taken over by one when nobody does any more", async () => {
      await current().insertProvider(aProviderRecord());
      await current().insertPoolTurn(turn(true), [], 10);

      await current().watchExhaustedPools(["prv_1", "prv_9"], at + 5_000);
      expect(await current().takeOverExhaustedPools({ unwatchedSince: at + 4_999, now: at + 6_000 })).toEqual([]);
      const takeOver = () => current().takeOverExhaustedPools({ unwatchedSince: at + 5_000, now: at + 20_000 });
      const taken = await Promise.all([takeOver(), takeOver(), takeOver()]);

      expect(taken.flat()).toEqual(["prv_1"]);
    });

    it("go with their provider", async () => {
      await current().insertProvider(aProviderRecord());
      await current().insertPoolTurn(turn(true), [], 10);

      await current().deleteProvider("prv_1");

      expect(await current().takeOverExhaustedPools({ unwatchedSince: at + 9_000, now: at + 9_000 })).toEqual([]);
      expect(await current().insertPoolTurn(turn(true), [], 10)).toBeUndefined();
    });
  });

  describe("deliveries", () => {
    it("are given to one who takes them, until the lease is over", async () => {
      await current().insertWebhook(aWebhookRecord());
      await current().insertDeliveries([aDelivery(), aDelivery({ id: "msg_2", createdAt: at + 5 })], 10);

      expect((await take(at)).map(({ id }) => id)).toEqual(["msg_1"]);
      expect((await take(at + 10)).map(({ id }) => id)).toEqual(["msg_2"]);
      expect(await take(at + 10)).toEqual([]);
      expect(await current().nextDeliveryAt()).toBe(at + 1_000);
      expect(
        await (await reopen()).takeDueDeliveries({ now: at + 1_000, leaseUntil: at + 9_000, limit: 9 }),
      ).toMatchObject([{ ...aDelivery(), attempts: 0, delivered: false, lastStatus: null }]);
    });

    it("are taken by one of several at the same time", async () => {
      await current().insertWebhook(aWebhookRecord());
      const ids = Array.from({ length: 30 }, (_, number) => `msg_${number}`);
      await current().insertDeliveries(
        ids.map((id) => aDelivery({ id })),
        100,
      );

      const taken = await Promise.all(Array.from({ length: 6 }, () => take(at, 10)));

      expect(
        taken
          .flat()
          .map(({ id }) => id)
          .sort(),
      ).toEqual([...ids].sort());
    });

    it("keep what became of them, and are due no more once they are settled", async () => {
      await current().insertWebhook(aWebhookRecord());
      await current().insertDeliveries([aDelivery(), aDelivery({ id: "msg_2" })], 10);
      const failed = {
        ...outcome,
        delivered: false,
        nextAt: at + 60_000,
        lastStatus: 500,
        lastError: "It answered 500.",
      };

      await current().saveDeliveryOutcome({ id: "msg_1", ...outcome });
      await current().saveDeliveryOutcome({ id: "msg_2", ...failed });
      await current().saveDeliveryOutcome({ id: "msg_9", ...outcome });

      expect(await current().listDeliveries("whk_1", 10)).toEqual([
        { ...aDelivery({ id: "msg_2" }), ...failed },
        { ...aDelivery(), ...outcome },
      ]);
      expect(await current().nextDeliveryAt()).toBe(at + 60_000);
    });

    it("are bounded: what is too much, known already or of nobody is left out", async () => {
      await current().insertWebhook(aWebhookRecord());
      await current().insertDeliveries([aDelivery()], 2);

      const many = [aDelivery(), aDelivery({ id: "msg_2" }), aDelivery({ id: "msg_3", webhookId: "whk_9" })];
      await current().insertDeliveries(many, 2);
      expect(await current().insertDeliveries([aDelivery({ id: "msg_4" })], 1)).toBe(0);

      expect((await current().listDeliveries("whk_1", 10)).map(({ id }) => id)).toEqual(["msg_1"]);
    });

    it("are let go of once they are settled and old, one webhook's apart from another's", async () => {
      for (const id of ["whk_1", "whk_2"]) await current().insertWebhook(aWebhookRecord({ id }));
      const all = ["msg_1", "msg_2", "msg_3", "msg_4"].map((id) => aDelivery({ id }));
      await current().insertDeliveries([...all, aDelivery({ id: "msg_5", webhookId: "whk_2" })], 10);
      for (const id of ["msg_2", "msg_3", "msg_4", "msg_5"]) await current().saveDeliveryOutcome({ id, ...outcome });

      await current().pruneDeliveries(1);

      expect((await current().listDeliveries("whk_1", 10)).map(({ id }) => id)).toEqual(["msg_4", "msg_1"]);
      expect((await current().listDeliveries("whk_2", 10)).map(({ id }) => id)).toEqual(["msg_5"]);
    });
  });
}

function describeSessions(current: Current): void {
  describe("sessions", () => {
    it("add up their requests, keep their first binding and move with their key", async () => {
      await fillStore(current(), 2);
      await current().saveSessions([aTouchedSession(1, { requests: 2 })]);

      await current().saveSessions([
        aTouchedSession(1, { requests: 3, lastUsedAt: createdAt + 9, boundAt: undefined }),
      ]);
      const used = await current().listSessions({ limit: 10 });
      await current().saveSessions([
        aTouchedSession(1, { keyId: "key_2", boundAt: createdAt + 20, lastUsedAt: createdAt + 20 }),
      ]);
      const moved = await current().listSessions({ limit: 10 });

      const session = { id: "chat-1", carrier: "header", providerId: "prv_1" };
      expect(used.sessions).toEqual([
        { ...session, keyId: "key_1", boundAt: createdAt + 1, lastUsedAt: createdAt + 9, requests: 5 },
      ]);
      expect(moved.sessions).toEqual([
        { ...session, keyId: "key_2", boundAt: createdAt + 20, lastUsedAt: createdAt + 20, requests: 6 },
      ]);
    });

    it("leave out those whose key is gone, and save the others", async () => {
      await fillStore(current());

      await current().saveSessions([aTouchedSession(1, { keyId: "key_9" }), aTouchedSession(2)]);

      expect(await sessionIdsOf(current())).toEqual(["chat-2"]);
    });

    it("are ended by their id or by the value that the client sent", async () => {
      await fillStore(current());
      await current().saveSessions([1, 2, 3].map((n) => aTouchedSession(n)));

      const taken = await current().takeSessions({ id: "chat-1", valueHash: "hash-3" });

      expect(taken.map(({ fingerprint }) => fingerprint.low).sort((a, b) => a - b)).toEqual([1, 3]);
      expect(taken[0]).toEqual({ providerId: "prv_1", fingerprint: { high: 0xffffffff, low: 1 } });
      expect(await sessionIdsOf(current())).toEqual(["chat-2"]);
      expect(await current().takeSessions({ id: "chat-1", valueHash: "hash-3" })).toEqual([]);
    });

    it("are deleted with the bindings of a key", async () => {
      await fillStore(current(), 2);
      await current().saveSessions([aTouchedSession(1), aTouchedSession(2, { keyId: "key_2" })]);

      await current().deleteSessionsOfKeys(["key_1"]);

      expect(await sessionIdsOf(current())).toEqual(["chat-2"]);
    });

    it("are deleted once idle, any number of them, in their provider alone", async () => {
      await fillStore(current());
      await current().insertProvider(aProviderRecord({ id: "prv_2" }));
      await current().insertKeys([aKeyRecord({ id: "other", providerId: "prv_2" })]);
      await current().saveSessions(Array.from({ length: 4500 }, (_, n) => aTouchedSession(n)));
      await current().saveSessions([aTouchedSession(1, { poolId: "prv_2", keyId: "other" })]);

      expect(await current().deleteSessionsIdleSince("prv_1", createdAt + 4499)).toBe(4499);

      expect(await sessionIdsOf(current())).toEqual(["chat-4499", "chat-1"]);
    });

    it("are read back as bindings, without those that were idle for too long", async () => {
      await fillStore(current());
      await current().saveSessions(Array.from({ length: 12_000 }, (_, n) => aTouchedSession(n)));

      const bindings = [];
      for await (const chunk of current().readBindings(() => createdAt + 10)) bindings.push(...chunk);

      expect(bindings.length).toBe(11_990);
      expect(bindings.find(({ fingerprint }) => fingerprint.low === 10)).toEqual({
        poolId: "prv_1",
        keyId: "key_1",
        fingerprint: { high: 0xffffffff, low: 10 },
        lastUsedAt: createdAt + 10,
      });
    });
  });
}

function describeEndedBindings(current: Current): void {
  describe("sessions of a key that has ended its bindings", () => {
    const cooled = aHealthRecord({
      health: { ...healthy, failures: 1, cooledAt: createdAt + 5, coolUntil: createdAt + 60 },
    });
    const refused = { ...aDisabledRecord().reason, at: createdAt + 5 };

    it.each<[string, (store: Store) => Promise<unknown>]>([
      ["with a cooldown", (store) => store.saveOutcomes([{ kind: "health", record: cooled }])],
      [
        "with a refusal",
        (store) => store.saveOutcomes([{ kind: "disable", record: aDisabledRecord({ reason: refused }) }]),
      ],
      [
        "with a switch",
        (store) => store.updateKeys([{ id: "key_1", patch: { enabled: false, updatedAt: createdAt + 5 } }]),
      ],
    ])("%s are listed and read no more, those bound since are", async (_, end) => {
      await fillStore(current());
      await current().saveSessions([aTouchedSession(1, { boundAt: createdAt + 4 })]);
      await current().savePins([aPin(1, { at: createdAt + 4 })]);

      await end(current());
      await current().saveSessions([aTouchedSession(1, { boundAt: undefined, lastUsedAt: createdAt + 6 })]);
      await current().saveSessions([aTouchedSession(2, { boundAt: createdAt + 7 })]);
      await current().savePins([aPin(2, { at: createdAt + 7 })]);

      expect(await sessionIdsOf(current())).toEqual(["chat-2"]);
      const bindings = [];
      for await (const chunk of current().readBindings(() => 0)) bindings.push(...chunk);
      expect(bindings.map(({ fingerprint }) => fingerprint.low)).toEqual([2]);
      expect((await current().readPins("conversation", 10)).map(({ fingerprint }) => fingerprint.low)).toEqual([2]);
    });
  });
}

function describePins(current: Current): void {
  describe("pins", () => {
    it("are read back by kind, the newest of them, oldest first; a later one takes the place of an earlier", async () => {
      await fillStore(current(), 2);
      await current().savePins([1, 2, 3].map((n) => aPin(n, { kind: "object" })));
      await current().savePins([aPin(9), aPin(1, { kind: "object", keyId: "key_2", at: createdAt + 50 })]);

      expect(await current().readPins("object", 2)).toEqual([
        aPin(3, { kind: "object" }),
        aPin(1, { kind: "object", keyId: "key_2", at: createdAt + 50 }),
      ]);
      expect(await current().readPins("conversation", 10)).toEqual([aPin(9)]);
    });

    it("go with their key, and are not kept for one that is gone", async () => {
      await fillStore(current());
      await current().savePins([aPin(1), aPin(2, { keyId: "key_9" })]);
      expect(await current().readPins("conversation", 10)).toEqual([aPin(1)]);

      await current().deleteKeys(["key_1"]);

      expect(await current().readPins("conversation", 10)).toEqual([]);
    });

    it("are pruned by age and by number, the oldest first", async () => {
      await fillStore(current());
      await current().savePins(Array.from({ length: 3000 }, (_, n) => aPin(n)));

      expect(await current().prunePins("conversation", { keep: 10_000, before: createdAt + 1000 })).toBe(1000);
      expect(await current().prunePins("conversation", { keep: 500, before: 0 })).toBeGreaterThanOrEqual(1499);

      const left = await current().readPins("conversation", 10_000);
      expect(left.length).toBeLessThanOrEqual(501);
      expect(left.at(-1)).toEqual(aPin(2999));
    });
  });
}

/** A pin of a conversation to the first key; n tells them apart and is its age. */
function aPin(n: number, parts: Partial<Pin> = {}): Pin {
  const fingerprint = { high: 0xffffffff, low: n };
  return { poolId: "prv_1", kind: "conversation", fingerprint, keyId: "key_1", at: createdAt + n, ...parts };
}

function describePages(current: Current): void {
  describe("pages of sessions", () => {
    /** Sessions 0 to 9, two at a time used in the same millisecond; the even ones belong to the second key. */
    beforeEach(async () => {
      await fillStore(current(), 2);
      await current().saveSessions(
        Array.from({ length: 10 }, (_, n) =>
          aTouchedSession(n, { keyId: n % 2 === 0 ? "key_2" : "key_1", lastUsedAt: createdAt + Math.floor(n / 2) }),
        ),
      );
    });

    it("come newest first, each session once, and end", async () => {
      const pages = await readPages(current(), 3);

      expect(pages.map((page) => page.join(" "))).toEqual([
        "chat-9 chat-8 chat-7",
        "chat-6 chat-5 chat-4",
        "chat-3 chat-2 chat-1",
        "chat-0",
      ]);
    });

    it("do not shift when sessions come and go between them", async () => {
      const first = await current().listSessions({ limit: 4 });
      await current().saveSessions([aTouchedSession(99, { lastUsedAt: createdAt + 99 })]);
      await current().takeSessions({ id: "chat-7", valueHash: "" });

      const second = await current().listSessions({
        limit: 4,
        ...(first.next !== undefined && { cursor: first.next }),
      });

      expect(second.sessions.map(({ id }) => id)).toEqual(["chat-5", "chat-4", "chat-3", "chat-2"]);
    });

    it("end exactly with the last session", async () => {
      expect((await current().listSessions({ limit: 10 })).next).toBeUndefined();
    });

    it("show one provider, one key, or what the search names", async () => {
      await current().insertProvider(aProviderRecord({ id: "prv_2" }));
      await current().insertKeys([aKeyRecord({ id: "other", providerId: "prv_2" })]);
      const session = { ...aTouchedSession(1).session, id: "100%_Ünï" };
      await current().saveSessions([aTouchedSession(1, { poolId: "prv_2", keyId: "other", session })]);

      expect((await current().listSessions({ limit: 20, providerId: "prv_2" })).sessions.length).toBe(1);
      expect((await current().listSessions({ limit: 20, keyId: "key_2" })).sessions.length).toBe(5);
      expect((await current().listSessions({ limit: 20, keyId: "key_9" })).sessions.length).toBe(0);
      expect((await current().listSessions({ limit: 20, search: "CHAT-3" })).sessions.length).toBe(1);
      expect((await current().listSessions({ limit: 20, search: "0%_" })).sessions.length).toBe(1);
      expect((await current().listSessions({ limit: 20, search: "_" })).sessions.length).toBe(1);
    });

    it("refuse a cursor that they did not make", async () => {
      await expect(current().listSessions({ limit: 3, cursor: "x" })).rejects.toMatchObject({
        code: "validation_failed",
        details: [{ path: "cursor" }],
      });
    });
  });
}

/** The n-th request, served at once by the first key. */
export function aStoredRequest(n: number, parts: Partial<StoredRequest> = {}): StoredRequest {
  return {
    seq: createdAt * 2048 + n,
    id: `req_${n}`,
    providerId: "prv_1",
    keyId: "key_1",
    otherKeyIds: [],
    sessionId: null,
    status: 200,
    failed: false,
    startedAt: createdAt + n,
    detail: `{"n":${n},"text":"한국어 ' \\" 🔑"}`,
    ...parts,
  };
}

/** Five hours into a day. */
const hour = 20_000 * 86_400_000 + 5 * 3_600_000;

export function aUsageSum(parts: Partial<UsageSum> = {}): UsageSum {
  return {
    span: "hour",
    at: hour,
    providerId: "prv_1",
    keyId: "key_1",
    label: "first",
    tokenId: "",
    model: "gpt-test",
    requests: 1,
    errors: 0,
    failovers: 0,
    inputTokens: 10,
    cacheReadTokens: 0,
    cacheWriteTokens: 0,
    outputTokens: 5,
    reasoningTokens: 0,
    ...parts,
  };
}

export function anAffinitySum(parts: Partial<AffinitySum> = {}): AffinitySum {
  return {
    at: hour,
    providerId: "prv_1",
    source: "session",
    fate: "kept",
    requests: 1,
    inputTokens: 10,
    cacheReadTokens: 30,
    cacheWriteTokens: 2,
    ...parts,
  };
}

const nothingElse = { requests: [], usage: [], totals: [] };

function describeRequests(current: Current): void {
  describe("requests", () => {
    const save = (...requests: readonly StoredRequest[]): Promise<void> =>
      current().saveActivity({ ...nothingElse, requests: toBlocks(requests) });
    const list = async (filter: Partial<Parameters<Store["listRequests"]>[0]> = {}): Promise<string> => {
      const requests = await current().listRequests({ limit: 100, ...filter });
      return requests.map(({ id }) => id.replace("req_", "")).join(" ");
    };

    it("come back as they were saved, newest first, and by id", async () => {
      await save(aStoredRequest(1), aStoredRequest(3, { providerId: null, keyId: null, status: 0 }), aStoredRequest(2));

      expect(await list()).toBe("3 2 1");
      expect(await list({ limit: 2 })).toBe("3 2");
      expect(await list({ beforeSeq: aStoredRequest(3).seq })).toBe("2 1");
      expect(await current().findRequest("req_3")).toEqual(
        aStoredRequest(3, { providerId: null, keyId: null, status: 0 }),
      );
      expect(await current().findRequest("req_9")).toBeUndefined();
    });

    it("keep every field as it was, whatever it holds", async () => {
      const odd = `한국어 ' " \\ \t\n {"a":[1]} %_ 🔑`;
      const detail = JSON.stringify({ path: `/${odd}\u0000\ud800`, at: null, deep: [{ durationMs: 0.1 + 0.2 }] });
      const requests = [
        aStoredRequest(4, {
          seq: Number.MAX_SAFE_INTEGER,
          id: odd,
          providerId: odd,
          keyId: odd,
          sessionId: odd,
          detail,
        }),
        aStoredRequest(3, { status: 599, failed: true, detail: JSON.stringify("x".repeat(100_000)) }),
        aStoredRequest(2, { providerId: "", keyId: "", sessionId: "" }),
        aStoredRequest(1, { seq: 0, providerId: null, keyId: null, sessionId: null, status: 0 }),
      ];

      await save(...requests.toReversed());

      expect(await current().listRequests({ limit: 100 })).toEqual(requests);
      expect(await current().findRequest(odd)).toEqual(requests[0]);
    });

    it("saved twice are there once", async () => {
      await save(aStoredRequest(1));
      await save(aStoredRequest(1, { otherKeyIds: ["key_2"] }), aStoredRequest(2));

      expect(await list()).toBe("2 1");
    });

    it("are found by provider, session, status, and by each key that was tried", async () => {
      await save(
        aStoredRequest(1, { otherKeyIds: ["key_2", "key_3"] }),
        aStoredRequest(2, { keyId: "key_2", sessionId: "chat" }),
        aStoredRequest(3, { keyId: null, otherKeyIds: ["key_2"], status: 429, failed: true }),
        aStoredRequest(4, { providerId: "prv_2", keyId: "key_9", status: 502, failed: true, sessionId: "chat" }),
      );

      expect(await list({ keyId: "key_2" })).toBe("3 2 1");
      expect(await list({ keyId: "key_2", limit: 1 })).toBe("3");
      expect(await list({ keyId: "key_2", beforeSeq: aStoredRequest(3).seq })).toBe("2 1");
      expect(await list({ keyId: "key_2", failed: true })).toBe("3");
      expect(await list({ keyId: "key_3" })).toBe("1");
      expect(await list({ providerId: "prv_2" })).toBe("4");
      expect(await list({ sessionId: "chat" })).toBe("4 2");
      expect(await list({ sessionId: "chat", providerId: "prv_1" })).toBe("2");
      expect(await list({ status: { from: 400, to: 499 } })).toBe("3");
      expect(await list({ failed: true })).toBe("4 3");
      expect(await list({ failed: false })).toBe("2 1");
      expect(await list({ failover: true })).toBe("3 1");
      expect(await list({ failover: true, limit: 1 })).toBe("3");
      expect(await list({ failover: true, beforeSeq: aStoredRequest(3).seq })).toBe("1");
      expect(await list({ failover: true, keyId: "key_1" })).toBe("1");
      expect(await list({ failover: true, keyId: "key_3" })).toBe("1");
      expect(await list({ failover: true, failed: true, keyId: "key_2" })).toBe("3");
    });

    it("outlive their key and provider", async () => {
      await fillStore(current());
      await save(aStoredRequest(1));
      await current().deleteProvider("prv_1");

      expect(await list({ keyId: "key_1" })).toBe("1");
    });

    it("are let go of by age and by number, the oldest first, by blocks: never too many", async () => {
      await save(...Array.from({ length: 2500 }, (_, n) => aStoredRequest(n, { otherKeyIds: ["key_2"] })));
      await save(aStoredRequest(2500), aStoredRequest(2501));
      await save(aStoredRequest(2502));

      expect(await current().pruneRequests({ keep: 10_000, beforeSeq: aStoredRequest(1200).seq })).toBe(1000);
      expect(await current().pruneRequests({ keep: 500, beforeSeq: 0 })).toBe(1000);
      expect(await current().listRequests({ limit: 1000 })).toHaveLength(503);
      expect(await current().pruneRequests({ keep: 2, beforeSeq: 0 })).toBe(500);
      expect(await current().pruneRequests({ keep: 2, beforeSeq: 0 })).toBe(0);

      expect(await list()).toBe("2502 2501 2500");
      expect(await list({ keyId: "key_2" })).toBe("");
      expect((await current().loadActivity()).lastSeq).toBe(aStoredRequest(2502).seq);
    });

    it("are found by ids that tell when they began, those that took long as well", async () => {
      const begun = (n: number, startedAt: number): StoredRequest => {
        const id = `req_${startedAt.toString(36)}000${n}`;
        return aStoredRequest(n, { id, startedAt, seq: (createdAt + 3_000_000 + n * 60_000) * 2048 });
      };
      const requests = [begun(1, createdAt), begun(2, createdAt + 1_200_000), begun(3, createdAt + 1_800_000)] as const;
      await save(requests[1]);
      await save(requests[0], requests[2]);

      for (const request of requests) expect(await current().findRequest(request.id)).toEqual(request);
      expect(await current().findRequest(requests[0].id.replace(/1$/, "9"))).toBeUndefined();
    });

    it("of gateways that write side by side come in one order, page by page", async () => {
      const numbers = (from: number): number[] => Array.from({ length: 300 }, (_, at) => from + at * 2);
      await save(...numbers(0).map((n) => aStoredRequest(n)));
      await save(...numbers(1).map((n) => aStoredRequest(n, { keyId: "key_2" })));
      await save(aStoredRequest(9_999, { seq: aStoredRequest(100_000_000).seq, id: "req_newest" }));

      const seen: number[] = [];
      for (let beforeSeq: number | undefined; ;) {
        const page = await current().listRequests({ limit: 70, ...(beforeSeq !== undefined && { beforeSeq }) });
        seen.push(...page.map(({ seq }) => seq));
        beforeSeq = page.at(-1)?.seq;
        if (page.length < 70) break;
      }

      expect(seen).toHaveLength(601);
      expect(seen).toEqual([...new Set(seen)].sort((one, other) => other - one));
      expect(await current().listRequests({ limit: 400, keyId: "key_2" })).toHaveLength(300);
    });
  });
}

function describeUsage(current: Current): void {
  describe("usage", () => {
    const save = (...usage: readonly UsageSum[]): Promise<void> => current().saveActivity({ ...nothingElse, usage });
    const read = (query: Partial<Parameters<Store["readUsage"]>[0]> = {}): Promise<readonly UsageSum[]> =>
      current().readUsage({ span: "hour", from: 0, to: hour * 2, by: [], limit: 1000, ...query });
    const lines = async (query: Parameters<typeof read>[0]): Promise<string[]> =>
      (await read(query)).map((sum) =>
        [sum.at, sum.providerId, sum.keyId, sum.label, sum.tokenId, sum.model, sum.requests].join("|"),
      );

    it("adds up", async () => {
      const counts = { errors: 2, failovers: 3, cacheReadTokens: 4, cacheWriteTokens: 5, reasoningTokens: 6 };
      await save(aUsageSum(counts), aUsageSum(counts));
      await save(aUsageSum({ model: "other" }));

      expect(await read()).toEqual([
        {
          ...aUsageSum({ at: 0, providerId: "", keyId: "", label: "", model: "", requests: 3 }),
          errors: 4,
          failovers: 6,
          inputTokens: 30,
          cacheReadTokens: 8,
          cacheWriteTokens: 10,
          outputTokens: 15,
          reasoningTokens: 12,
        },
      ]);
    });

    it("is told apart by what is asked for, in that order", async () => {
      await save(
        aUsageSum({ at: hour - 3_600_000 }),
        aUsageSum({ keyId: "key_2", label: "second", tokenId: "tok_1" }),
        aUsageSum({ at: hour + 86_400_000, model: "b" }),
        aUsageSum({ providerId: "prv_2", keyId: "", label: "" }),
        aUsageSum({ span: "minute", model: "", keyId: "" }),
      );
      const day = hour - (hour % 86_400_000);

      expect(await lines({ by: ["time"] })).toEqual([
        `${hour - 3_600_000}||||||1`,
        `${hour}||||||2`,
        `${hour + 86_400_000}||||||1`,
      ]);
      expect(await lines({ by: ["day", "provider"] })).toEqual([
        `${day}|prv_1|||||2`,
        `${day}|prv_2|||||1`,
        `${day + 86_400_000}|prv_1|||||1`,
      ]);
      expect(await lines({ by: ["key"] })).toEqual(["0||||||1", "0||key_1|first|||2", "0||key_2|second|||1"]);
      expect(await lines({ by: ["model", "token"] })).toEqual([
        "0|||||b|1",
        "0|||||gpt-test|2",
        "0||||tok_1|gpt-test|1",
      ]);
      expect(await lines({ by: ["label"], keyId: "key_2" })).toEqual(["0|||second|||1"]);
      expect(await lines({ by: ["provider"], providerId: "prv_2" })).toEqual(["0|prv_2|||||1"]);
      expect(await lines({ by: ["time"], from: hour, to: hour + 1 })).toEqual([`${hour}||||||2`]);
      expect(await lines({ by: ["time"], limit: 1 })).toHaveLength(1);
      expect(await lines({ span: "minute", by: ["provider"] })).toEqual(["0|prv_1|||||1"]);
    });

    it("is nothing where nothing was used", async () => {
      expect(await read()).toEqual([]);
      expect(await read({ by: ["key"] })).toEqual([]);
    });

    it("keeps the label of each hour, and the last one within it", async () => {
      await save(aUsageSum({ at: hour - 3_600_000, label: "before" }), aUsageSum({ label: "then" }));
      await save(aUsageSum({ label: "now" }));

      expect(await lines({ by: ["label"] })).toEqual(["0|||before|||1", "0|||now|||2"]);
    });

    it("outlives its key", async () => {
      await fillStore(current());
      await save(aUsageSum());
      await current().deleteKeys(["key_1"]);

      expect(await lines({ by: ["key"] })).toEqual(["0||key_1|first|||1"]);
    });

    it("is let go of by age, hours, minutes and details apart", async () => {
      const spans = [0, 1, 2].flatMap((n) => [
        aUsageSum({ at: hour + n * 3_600_000 }),
        aUsageSum({ span: "minute", at: hour + n * 60_000, keyId: "" }),
        aUsageSum({ span: "detail", at: hour + n * 60_000 }),
      ]);
      await save(...spans);

      expect(
        await current().pruneUsage({ hours: hour + 3_600_000, minutes: hour + 120_000, details: hour + 60_000 }),
      ).toBe(4);

      expect(await lines({ by: ["time"] })).toHaveLength(2);
      expect(await lines({ span: "minute", by: ["time"] })).toHaveLength(1);
      expect(await lines({ span: "detail", by: ["time"] })).toHaveLength(2);
    });

    it("adds up what was asked of a key, for as long as there is the key", async () => {
      await fillStore(current(), 2);
      const totals = ["key_1", "key_2", "key_9"].map((keyId, n) => ({
        keyId,
        requests: 3,
        successes: 2,
        failures: 1,
        lastUsedAt: createdAt + n,
      }));
      await current().saveActivity({ ...nothingElse, totals });
      await current().saveActivity({ ...nothingElse, totals });
      await current().deleteKeys(["key_2"]);

      const { totals: read } = await current().loadActivity();

      expect(read).toEqual([{ keyId: "key_1", requests: 6, successes: 4, failures: 2, lastUsedAt: createdAt }]);
    });
  });
}

function describeAffinity(current: Current): void {
  describe("affinity", () => {
    const save = (...affinity: readonly AffinitySum[]): Promise<void> =>
      current().saveActivity({ ...nothingElse, affinity });
    const read = (query: Partial<Parameters<Store["readAffinity"]>[0]> = {}): Promise<readonly AffinitySum[]> =>
      current().readAffinity({ from: 0, to: hour * 2, ...query });

    it("adds up within an hour and over hours, by provider, source and fate", async () => {
      await save(anAffinitySum(), anAffinitySum(), anAffinitySum({ at: hour + 3_600_000 }));
      await save(
        anAffinitySum(),
        anAffinitySum({ fate: "new" }),
        anAffinitySum({ source: "object" }),
        anAffinitySum({ providerId: "prv_2" }),
      );

      expect(await read()).toEqual([
        anAffinitySum({ at: 0, source: "object" }),
        anAffinitySum({ at: 0, requests: 4, inputTokens: 40, cacheReadTokens: 120, cacheWriteTokens: 8 }),
        anAffinitySum({ at: 0, fate: "new" }),
        anAffinitySum({ at: 0, providerId: "prv_2" }),
      ]);
      expect(await read({ providerId: "prv_2" })).toEqual([anAffinitySum({ at: 0, providerId: "prv_2" })]);
      expect(await read({ from: hour + 1, to: hour + 3_600_001 })).toEqual([anAffinitySum({ at: 0 })]);
      expect(await read({ to: hour })).toEqual([]);
    });

    it("is let go of by age", async () => {
      await save(anAffinitySum(), anAffinitySum({ at: hour + 3_600_000 }));

      expect(await current().pruneUsage({ hours: hour + 3_600_000, minutes: 0, details: 0 })).toBe(1);

      expect(await read()).toEqual([anAffinitySum({ at: 0 })]);
    });
  });
}

function describeMeta(current: Current): void {
  it("keeps what is set by name until it is unset", async () => {
    await current().setMeta("a", "1");
    await current().setMeta("a", "2");
    expect(await current().getMeta("a")).toBe("2");

    await current().setMeta("a", undefined);
    expect(await current().getMeta("a")).toBeUndefined();
  });

  it("may be closed twice", async () => {
    await current().close();
    await current().close();

    expect(current().trouble).toBeUndefined();
  });
}

/** Records with their secrets in the clear: two secrets that are not alike look alike to an assertion. */
function revealed(records: readonly (KeyRecord | ProviderRecord)[]): unknown {
  return records.map((record) => {
    const secret = "secret" in record ? record.secret : record.apiKey;
    return { ...record, secret: secret?.kind === "literal" ? secret.value.reveal() : secret, apiKey: undefined };
  });
}

async function idsOf(store: Store): Promise<string[]> {
  return (await store.load()).keys.map(({ id }) => id);
}

async function sessionIdsOf(store: Store): Promise<string[]> {
  return (await store.listSessions({ limit: 20 })).sessions.map(({ id }) => id);
}

async function readPages(store: Store, limit: number): Promise<string[][]> {
  const pages: string[][] = [];
  let cursor: string | undefined;
  do {
    const { sessions, next } = await store.listSessions({ limit, ...(cursor !== undefined && { cursor }) });
    pages.push(sessions.map(({ id }) => id));
    cursor = next;
  } while (cursor !== undefined);
  return pages;
}
