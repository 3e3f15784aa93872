import { KeywheelError } from "@keywheel/pool";
import { createFakeClock } from "@keywheel/testkit";
import { describe, expect, it } from "vitest";
import type { RequestRecord } from "../data-plane/request-record.ts";
import type { ActivityBatch, StoredRequest } from "../store/store.ts";
import { readBlock, toBlocks } from "../requests/request-blocks.ts";
import { fromDetail } from "./request-detail.ts";
import { Activity } from "./activity.ts";

/** A store that remembers what was saved, and can be broken. */
function anActivity() {
  const clock = createFakeClock();
  const saved: StoredRequest[] = [];
  const models: string[] = [];
  const troubles: unknown[] = [];
  const store = {
    error: undefined as Error | undefined,
    saveActivity: async ({ requests, usage }: ActivityBatch): Promise<void> => {
      if (store.error !== undefined) throw store.error;
      saved.push(...requests.flatMap(({ data }) => readBlock(data)));
      models.push(...usage.filter(({ span }) => span === "hour").map(({ model }) => model));
    },
    listRequests: async (): Promise<readonly StoredRequest[]> => [],
    findRequest: async () => undefined,
    claim: async () => true,
    pruneRequests: async () => 0,
    readUsage: async () => [],
    readAffinity: async () => [],
    pruneUsage: async () => 0,
  };
  const activity = new Activity({
    store,
    clock,
    lastSeq: 0,
    labelOf: () => "",
    redact: (text) => text.replaceAll("s3cret", "[redacted]"),
    onTrouble: (error) => troubles.push(error),
  });
  return { activity, clock, store, saved, models, troubles };
}

function aRecord(requestId: string, parts: Partial<RequestRecord> = {}): RequestRecord {
  return {
    requestId,
    providerId: "prv_1",
    slug: "llm",
    method: "POST",
    path: "/v1/x",
    startedAt: 0,
    durationMs: 1,
    status: 200,
    attempts: [],
    ending: "completed",
    requestBytes: 0,
    ...parts,
  };
}

const idsOf = (requests: readonly StoredRequest[]): string => requests.map(({ id }) => id).join(" ");

describe("activity", () => {
  it("is written once, in the order in which requests ended", async () => {
    const { activity, saved } = anActivity();
    for (let n = 0; n < 1_200; n++) activity.record(aRecord(`r${n}`));

    await Promise.all([activity.flush(), activity.flush()]);
    activity.record(aRecord("last"));
    await activity.flush();

    expect(saved).toHaveLength(1_201);
    expect(saved.map(({ seq }) => seq)).toEqual(saved.map(({ seq }) => seq).sort((one, other) => one - other));
    expect(new Set(saved.map(({ seq }) => seq)).size).toBe(1_201);
    expect(saved.at(-1)?.id).toBe("last");
  });

  it("never gives a place twice, also when the clock is set back", () => {
    const { activity, clock } = anActivity();
    const before = activity.record(aRecord("one"));
    clock.set(clock.now() - 60_000);

    expect(activity.record(aRecord("two")).seq).toBeGreaterThan(before.seq);
  });

  it("waits for a database that cannot be written, and tells once when that begins and ends", async () => {
    const { activity, store, saved, troubles } = anActivity();
    store.error = new KeywheelError("store_unavailable");
    activity.record(aRecord("one"));
    for (let n = 0; n < 20; n++) expect(await activity.flush()).toBe(false);
    activity.record(aRecord("two"));
    store.error = undefined;

    expect(await activity.flush()).toBe(true);

    expect(idsOf(saved)).toBe("one two");
    expect(troubles).toEqual([expect.any(KeywheelError), undefined]);
  });

  it("lets go of what the database will never take, so that it takes what follows", async () => {
    const { activity, store, saved } = anActivity();
    store.error = new Error("no such column");
    activity.record(aRecord("one"));
    for (let n = 0; n < 5; n++) await activity.flush();
    store.error = undefined;
    activity.record(aRecord("two"));
    await activity.flush();

    expect(idsOf(saved)).toBe("two");
  });

  it("passes over what a damaged disk has left unreadable, in what it is found by and in what is told of it", async () => {
    const { activity, saved } = anActivity();
    for (const id of ["one", "two", "three"]) activity.record(aRecord(id));
    await activity.flush();
    const lines = toBlocks(saved)[0]?.data.toString() ?? "";
    const damaged = lines.replace('"one"', '"o\u0000').replace(/(?<="two".*\t)\[/, "{");
    const fresh = anActivity();
    fresh.store.listRequests = async () => readBlock(Buffer.from(damaged)).toReversed();

    const { requests } = await fresh.activity.requests({ limit: 10 });

    expect(requests.map(({ record }) => record.requestId)).toEqual(["three"]);
  });

  it("holds a bounded number of requests for a database that stays away, the newest", async () => {
    const { activity, store, saved } = anActivity();
    store.error = new KeywheelError("store_unavailable");
    for (let n = 0; n < 41_000; n++) activity.record(aRecord(`r${n}`));
    store.error = undefined;
    await activity.flush();

    expect(saved.length).toBeLessThanOrEqual(40_000);
    expect(saved.at(-1)?.id).toBe("r40999");
  });

  it("lists whatever waits, beyond what is shown from memory otherwise", async () => {
    const { activity } = anActivity();
    for (let n = 0; n < 5_000; n++) activity.record(aRecord(`r${n}`));

    const { requests, next } = await activity.requests({ limit: 1_000 });
    const second = await activity.requests({ limit: 4_000, beforeSeq: next ?? 0 });

    expect(requests[0]?.record.requestId).toBe("r4999");
    expect(second.requests.at(-1)?.record.requestId).toBe("r0");
    expect(second.next).toBeUndefined();
  });

  it("is written with everything that the record tells and when it ended, without secrets", async () => {
    const { activity, clock, saved } = anActivity();
    const attempt = {
      why: "turn",
      passedOver: [],
      startedAt: 5,
      durationMs: 1.5,
      outcome: "success",
      status: 200,
    } as const;
    const record = aRecord("one", {
      slug: "s3cret",
      path: '/v1/s3cret/"\\\u0000\ud800한국어',
      model: "gpt-s3cret",
      sessionId: "ses_1",
      keyId: "key_2",
      attempts: ["key_1", "key_2", "key_1"].map((keyId) => ({ ...attempt, keyId })),
    });
    activity.record(record);
    activity.record(aRecord("two", { providerId: undefined, status: 503, attempts: [{ ...attempt, keyId: "key_1" }] }));
    activity.record(aRecord("three", { keyId: "key_1", attempts: [{ ...attempt, keyId: "key_1" }] }));
    await activity.flush();

    const [one, two, three] = saved;
    const shown = { slug: "[redacted]", path: '/v1/[redacted]/"\\\u0000\ud800한국어', model: "gpt-[redacted]" };
    expect(one && fromDetail(one)).toEqual({ record: { ...record, ...shown }, endedAt: clock.now() });
    expect(saved.map(({ detail }) => detail).join()).not.toContain("s3cret");
    expect(one).toMatchObject({ providerId: "prv_1", keyId: "key_2", otherKeyIds: ["key_1"], sessionId: "ses_1" });
    expect(two).toMatchObject({ providerId: null, keyId: null, otherKeyIds: ["key_1"], sessionId: null, failed: true });
    expect(three).toMatchObject({ keyId: "key_1", otherKeyIds: [], failed: false });
    expect((await activity.request("one"))?.record).toEqual({ ...record, ...shown });
  });

  it("puts no control character into the name of a model", async () => {
    const { activity, models } = anActivity();
    activity.record(aRecord("one", { model: "a\u0000b\n" }));
    await activity.flush();

    expect(models).toEqual(["a?b?"]);
  });
});
