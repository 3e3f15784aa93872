import { mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { fileURLToPath } from "node:url";
import { gunzipSync, gzipSync } from "node:zlib";
import { Secret } from "@keywheel/pool";
import {
  aDelivery,
  aDisabledRecord,
  anAffinitySum,
  aHealthRecord,
  aKeyRecord,
  aProviderRecord,
  aStoredRequest,
  aTokenRecord,
  aTouchedSession,
  aUsageSum,
  aWebhookRecord,
} from "../../../testkit/src/store-suite.ts";
import { toBlocks } from "../requests/request-blocks.ts";
import { migrations } from "./migrations.ts";
import { openStore } from "./open-store.ts";
import type { OpenedStore, StoredRequest } from "./store.ts";

const folder = join(dirname(fileURLToPath(import.meta.url)), "fixtures");
/** Invented: it opens nothing but these files. */
export const keptMasterKey = Buffer.alloc(32, "kept").toString("base64");

/** A database as the version with this migration as its last one left it, and what was in it. */
export function readKept(migration: string): { readonly bytes: Buffer; readonly contents: unknown } {
  const bytes = gunzipSync(readFileSync(join(folder, `${migration}.db.gz`)));
  return { bytes, contents: JSON.parse(readFileSync(join(folder, `${migration}.json`), "utf8")) };
}

/** Makes the two files of the newest migration: once, before it is released. `npm run keep-schema` */
export async function keepSchema(): Promise<string> {
  const name = migrations.at(-1)?.name ?? "";
  const dataDir = mkdtempSync(join(tmpdir(), "keywheel-kept-"));
  try {
    const store = await openStore({ dataDir, masterKey: keptMasterKey });
    await fill(store);
    const contents = await contentsOf(store);
    await store.close();
    writeFileSync(join(folder, `${name}.db.gz`), gzipSync(readFileSync(join(dataDir, "keywheel.db")), { level: 9 }));
    writeFileSync(join(folder, `${name}.json`), `${JSON.stringify(contents, undefined, 2)}\n`);
    return name;
  } finally {
    rmSync(dataDir, { recursive: true, force: true });
  }
}

const sharedReason = {
  code: "rate_limited",
  httpStatus: 429,
  message: null,
  at: 1_750_000_000_123,
  sharedFrom: "key_1",
} as const;

/** Something in every table. */
async function fill(store: OpenedStore): Promise<void> {
  const apiKey = { kind: "literal", value: new Secret("sk-kept-provider-0123456789abcdef") } as const;
  await store.insertProvider(aProviderRecord({ apiKey }));
  await store.insertKeys([
    aKeyRecord({ id: "key_1", weight: 7, label: "first 한국어", group: "kept team" }),
    aKeyRecord({ id: "key_2", secret: { kind: "reference", name: "KEPT_KEY" } }),
    aKeyRecord({ id: "key_3" }),
  ]);
  await store.insertToken(aTokenRecord());
  await store.insertWebhook(aWebhookRecord());
  await store.insertDeliveries([aDelivery(), aDelivery({ id: "msg_2" })], 10);
  await store.updateWebhook("whk_1", {
    formerSecrets: [{ value: new Secret(`whsec_${Buffer.alloc(32, "former").toString("base64")}`), until: 8 }],
    updatedAt: 7,
  });
  await store.insertPoolTurn({ providerId: "prv_1", isExhausted: true, at: 9 }, [], 10);
  await store.saveOutcomes([
    { kind: "health", record: aHealthRecord() },
    { kind: "health", record: aHealthRecord({ model: "gpt-test" }) },
    { kind: "health", record: aHealthRecord({ keyId: "key_2", reason: sharedReason }) },
    { kind: "disable", record: aDisabledRecord({ keyId: "key_3" }) },
  ]);
  await store.saveSessions([aTouchedSession(1), aTouchedSession(2)]);
  await store.savePins([
    { poolId: "prv_1", kind: "object", fingerprint: { high: 1, low: 2 }, keyId: "key_1", at: 3 },
    { poolId: "prv_1", kind: "conversation", fingerprint: { high: 4, low: 5 }, keyId: "key_2", at: 6 },
  ]);
  await store.saveActivity({
    requests: toBlocks([aStoredRequest(1), aStoredRequest(2, { otherKeyIds: ["key_2"] })]),
    usage: [aUsageSum(), aUsageSum({ span: "minute", keyId: "", label: "" })],
    totals: [{ keyId: "key_1", requests: 3, successes: 2, failures: 1, lastUsedAt: 9 }],
    affinity: [anAffinitySum(), anAffinitySum({ fate: "rate_limited" })],
  });
  await store.setMeta("admin_token_sha256", "0".repeat(64));
}

/** Everything that can be read, as JSON: secrets opened. */
export async function contentsOf(store: OpenedStore): Promise<unknown> {
  const { webhooks, ...state } = await store.load();
  const bindings: unknown[] = [];
  for await (const page of store.readBindings(() => 0)) bindings.push(...page);
  // The lane is this process's own, not of what is stored.
  const { lane: _, ...activity } = await store.loadActivity();
  // The instant that they have already.
  const exhaustedPools = await store.takeOverExhaustedPools({ unwatchedSince: 9, now: 9 });
  const contents = {
    masterKeyMatches: store.masterKeyMatches,
    ...state,
    // Databases from before there were any are compared as they were described then.
    ...(webhooks.length > 0 && {
      webhooks: webhooks.map(({ formerSecrets, ...hook }) =>
        formerSecrets.length === 0 ? hook : { ...hook, formerSecrets },
      ),
      deliveries: await store.listDeliveries(webhooks[0]?.id ?? "", 10),
    }),
    ...(exhaustedPools.length > 0 && { exhaustedPools }),
    sessions: (await store.listSessions({ limit: 10 })).sessions,
    bindings,
    pins: [...(await store.readPins("object", 10)), ...(await store.readPins("conversation", 10))],
    requests: (await store.listRequests({ limit: 10 })).map(asDescribed),
    triedWithKey2: (await store.listRequests({ limit: 10, keyId: "key_2" })).map(asDescribed),
    hours: await store.readUsage({ span: "hour", from: 0, to: Number.MAX_SAFE_INTEGER, by: [], limit: 100 }),
    affinity: await store.readAffinity({ from: 0, to: Number.MAX_SAFE_INTEGER }),
    activity,
    adminToken: await store.getMeta("admin_token_sha256"),
  };
  const plain = (_: string, value: unknown): unknown => (value instanceof Map ? [...value] : value);
  return JSON.parse(JSON.stringify(withOpened(contents), plain));
}

/** As requests came back from the first databases, which are described so. */
function asDescribed({ startedAt: _startedAt, ...request }: StoredRequest): object {
  return { ...request, otherKeyIds: [] };
}

/** A `Secret` prints masked: here what it holds is what counts. */
function withOpened(value: unknown): unknown {
  if (value instanceof Secret) return value.reveal();
  if (Array.isArray(value)) return value.map(withOpened);
  if (value === null || typeof value !== "object" || value instanceof Map) return value;
  return Object.fromEntries(Object.entries(value).map(([name, inner]) => [name, withOpened(inner)]));
}
