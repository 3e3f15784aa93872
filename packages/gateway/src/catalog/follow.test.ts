import { randomBytes } from "node:crypto";
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { createFakeClock } from "@keywheel/testkit";
import { MemoryState, Pool } from "@keywheel/pool";
import { afterEach, beforeAll, beforeEach, expect, it } from "vitest";
import { createTestDatabase, queryPostgres } from "../../../testkit/src/postgres.ts";
import { StoreJournal } from "../store/journal.ts";
import { openStore } from "../store/open-store.ts";
import type { Store } from "../store/store.ts";
import { Catalog } from "./catalog.ts";
import { Environment } from "./environment.ts";

let databaseUrl: string;
let folder: string;
const closing: (() => Promise<void>)[] = [];
beforeAll(async () => {
  databaseUrl = await createTestDatabase();
});
beforeEach(async () => {
  folder = await mkdtemp(join(tmpdir(), "keywheel-catalog-"));
  await queryPostgres(databaseUrl, "drop schema public cascade; create schema public");
});
afterEach(async () => {
  for (const close of closing.splice(0)) await close();
  await rm(folder, { recursive: true });
});

/** The catalog of one gateway of several. @param around what its calls of the store go through */
async function aCatalog(around: (store: Store) => Store = (store) => store) {
  const masterKey = Buffer.alloc(32, 1).toString("base64");
  const opened = await openStore({ dataDir: join(folder, `data-${closing.length}`), databaseUrl, masterKey });
  closing.push(() => opened.close());
  const store = around(opened);
  const clock = createFakeClock();
  const state = new MemoryState({ clock });
  const journal = new StoreJournal({ store });
  const told: string[] = [];
  const catalog: Catalog = await Catalog.open({
    stored: await store.load(),
    store,
    state,
    createPool: (id) =>
      new Pool(id, { state, journal, clock, events: (event) => catalog.observe(event), redact: (text) => text }),
    clock,
    environment: new Environment({ variables: {}, pollMs: 0 }),
    events: ({ type }) => void told.push(type),
    random: (size) => randomBytes(size),
    writeOutcomes: () => journal.flush(),
    requireToken: false,
    boundToLoopback: true,
    allowPrivateMetadata: false,
  });
  return { catalog, state, journal, told };
}

/** Uses the key and has the provider refuse it. */
async function refuse(catalog: Catalog, provider: string): Promise<string> {
  const pool = catalog.providers.get(provider).pool;
  const choice = await pool.choose({});
  if (choice.kind !== "key") throw new Error("no key can serve");
  await pool.settle(choice.ticket, {
    key: { kind: "disable", reason: "authentication_failed" },
    request: "next-key",
    code: "invalid_api_key",
    message: undefined,
    httpStatus: 401,
  });
  return choice.keyId;
}

const openai = { base_url: "https://api.openai.com/v1", preset: "openai", kind: "openai" } as const;

it("takes up providers that have exchanged their slugs", async () => {
  const [one, other] = [await aCatalog(), await aCatalog()];
  await one.catalog.providers.add({ ...openai, slug: "a", name: "first" });
  await one.catalog.providers.add({ ...openai, slug: "b", name: "second" });
  await other.catalog.catchUp();

  await one.catalog.providers.change("a", { slug: "c" });
  await one.catalog.providers.change("b", { slug: "a" });
  await one.catalog.providers.change("c", { slug: "b" });
  await other.catalog.catchUp();

  const names = ["a", "b"].map((slug) => other.catalog.bySlug(slug)?.record.name);
  expect(names).toEqual(["second", "first"]);
  expect(other.catalog.bySlug("c")).toBeUndefined();
  expect(other.told).toEqual(["provider-created", "provider-created", "provider-changed", "provider-changed"]);
});

it("tells nothing, and leaves the wheel alone, where nothing has changed", async () => {
  const [one, other] = [await aCatalog(), await aCatalog()];
  await one.catalog.providers.add({ ...openai, slug: "a" });
  for (const at of [1, 2, 3]) await one.catalog.keys.add("a", { api_key: `sk-invented-${at}-0123456789` });
  await other.catalog.catchUp();
  const pool = other.catalog.providers.get("a").pool;
  await pool.choose({});
  const [before, told] = [await pool.preview(6), other.told.length];

  await other.catalog.catchUp();

  expect(await pool.preview(6)).toEqual(before);
  expect(other.told.length).toBe(told);
});

it("plans a change anew on what another gateway has left", async () => {
  const [one, other] = [await aCatalog(), await aCatalog()];
  const { record } = await one.catalog.providers.add({ ...openai, slug: "a" });
  await other.catalog.catchUp();

  await one.catalog.providers.change("a", { settings: { cooldown: { base_ms: 5000 } } });
  const changed = await other.catalog.providers.change("a", { settings: { retry: { provider_errors: 1 } } });
  const gone = one.catalog.providers.remove(record.id);
  await gone;

  expect(changed.record.settings).toEqual({ cooldown: { base_ms: 5000 }, retry: { provider_errors: 1 } });
  await expect(other.catalog.providers.change("a", { name: "x" })).rejects.toMatchObject({ code: "unknown_provider" });
});

it("does what is asked also where this gateway, which has not heard yet, takes it for done", async () => {
  const [one, other] = [await aCatalog(), await aCatalog()];
  await one.catalog.providers.add({ ...openai, slug: "a" });
  const { record } = await one.catalog.keys.add("a", { api_key: "sk-invented-1-0123456789", enabled: false });
  await other.catalog.catchUp();

  await one.catalog.keys.change(record.id, { enabled: true });
  const changed = await other.catalog.keys.change(record.id, { enabled: false });
  const added = await one.catalog.keys.add("a", { api_key: "sk-invented-2-0123456789" });
  await other.catalog.keys.reset(added.record.id);
  await one.catalog.catchUp();

  expect(changed.status).toBe("disabled");
  expect((await one.catalog.keys.get(record.id)).status).toBe("disabled");
});

it("is loaded again after it could not be taken up", async () => {
  let fails = false;
  const one = await aCatalog();
  const other = await aCatalog((store) => ({
    ...bound(store),
    load: async () => {
      const stored = await store.load();
      if (!fails) return stored;
      return { ...stored, providers: stored.providers.map((record) => ({ ...record, baseUrl: "no address" })) };
    },
  }));
  await one.catalog.providers.add({ ...openai, slug: "a" });
  fails = true;
  await expect(other.catalog.catchUp()).rejects.toMatchObject({ code: "ERR_INVALID_URL" });
  fails = false;

  // Whoever changes something first is planned on an older count, loads, and finds it.
  await other.catalog.providers.add({ ...openai, slug: "b" });

  expect(other.catalog.providers.list().map(({ record }) => record.slug)).toEqual(["a", "b"]);
});

/** The store as a plain object, so that one method can be laid over it. */
function bound(store: Store): Store {
  const names = Object.getOwnPropertyNames(Object.getPrototypeOf(store)) as (keyof Store)[];
  const methods = names.flatMap((name) => {
    const method: unknown = store[name];
    return typeof method === "function" ? [[name, method.bind(store) as unknown] as const] : [];
  });
  return { ...Object.fromEntries(methods), feed: store.feed, trouble: undefined } as unknown as Store;
}

it("keeps a refusal that comes while the stored state is being read", async () => {
  const reading = { between: async (): Promise<void> => {} };
  const one = await aCatalog();
  const other = await aCatalog((store) => ({
    ...bound(store),
    load: async () => {
      const stored = await store.load();
      await reading.between();
      return stored;
    },
  }));
  await one.catalog.providers.add({ ...openai, slug: "a" });
  await one.catalog.keys.add("a", { api_key: "sk-invented-refused-0123456789" });
  await other.catalog.catchUp();
  await one.catalog.keys.add("a", { api_key: "sk-invented-another-0123456789" });
  let refused = "";
  reading.between = async () => {
    refused = await refuse(other.catalog, "a");
  };

  await other.catalog.catchUp();
  reading.between = async () => {};

  expect((await other.catalog.keys.get(refused)).status).toBe("disabled");
  await one.catalog.catchUp();
  expect((await one.catalog.keys.get(refused)).status).toBe("disabled");
  await other.catalog.catchUp();
  expect((await other.catalog.keys.list("a")).map(({ status }) => status)).toEqual(["disabled", "available"]);
});
