import { createFakeClock } from "@keywheel/testkit";
import { describe, expect, it } from "vitest";
import { EventHub, type GatewayEvent } from "./event-hub.ts";
import { eventStream, type EventStreamOptions } from "./event-stream.ts";

const change = (providerId: string): GatewayEvent => ({ type: "provider-changed", providerId, at: 1_000 });

function aHub(capacity?: number) {
  const clock = createFakeClock();
  return new EventHub({ clock, ...(capacity === undefined ? {} : { capacity }) });
}

function open(hub: EventHub, options: Partial<EventStreamOptions> = {}) {
  const stream = eventStream(hub, {
    lastEventId: undefined,
    signal: new AbortController().signal,
    isStillAllowed: () => true,
    keepAliveMs: 60_000,
    ...options,
  });
  const reader = stream.getReader();
  const decoder = new TextDecoder();
  return {
    reader,
    next: async () => {
      const { done, value } = await reader.read();
      return done ? "end" : decoder.decode(value);
    },
  };
}

function idsIn(text: string): string[] {
  return [...text.matchAll(/^id: (.*)$/gm)].map((match) => match[1] ?? "");
}

describe("the event stream", () => {
  it("sends what happens from now on, each with an id, a name and JSON", async () => {
    const hub = aHub();
    hub.publish(change("before"));
    const { next } = open(hub);
    expect(await next()).toBe("retry: 2000\n: hello\n\n");

    hub.publish(change("prv_1"));

    expect(await next()).toMatch(
      /^id: \w+-2\nevent: provider-changed\ndata: {"id":"\w+-2","at":"1970-01-01T00:00:01.000Z","type":"provider-changed","provider_id":"prv_1"}\n\n$/,
    );
  });

  it("ends at once for who may not listen any more, and for nobody else", async () => {
    const hub = aHub();
    let isAllowed = true;
    const [one, other] = [open(hub, { isStillAllowed: () => isAllowed }), open(hub)];
    await Promise.all([one.next(), other.next()]);

    hub.recheck();
    hub.publish(change("prv_1"));
    expect(await one.next()).toContain("prv_1");
    isAllowed = false;
    hub.recheck();
    hub.publish(change("prv_2"));

    expect(await one.next()).toBe("end");
    expect(await other.next()).toContain("prv_1");
    expect(await other.next()).toContain("prv_2");
  });

  it("speaks snake_case and RFC 3339, whatever is nested", async () => {
    const hub = aHub();
    const { next } = open(hub);
    await next();

    hub.publish({
      type: "attempt-ended",
      poolId: "prv_1",
      requestId: "r1",
      attempt: {
        keyId: "k",
        why: "turn",
        passedOver: [{ keyId: "x", because: "rate_limited" }],
        startedAt: 0,
        durationMs: 3,
        status: undefined,
        outcome: "client_gone",
      },
    });

    const data = JSON.parse(/^data: (.*)$/m.exec(await next())?.[1] ?? "{}");
    expect(data).toMatchObject({
      at: "2026-01-01T00:00:00.000Z",
      provider_id: "prv_1",
      request_id: "r1",
      attempt: {
        key_id: "k",
        passed_over: [{ key_id: "x" }],
        started_at: "1970-01-01T00:00:00.000Z",
        duration_ms: 3,
        status: null,
      },
    });
  });

  it("goes on after the last event that was seen", async () => {
    const hub = aHub();
    const first = open(hub);
    await first.next();
    hub.publish(change("a"));
    const [seen = ""] = idsIn(await first.next());
    await first.reader.cancel();
    hub.publish(change("b"));
    hub.publish(change("c"));

    const second = open(hub, { lastEventId: seen });

    const missed = await second.next();
    expect(missed).toMatch(/"provider_id":"b"[^]*"provider_id":"c"/);
    hub.publish(change("d"));
    expect(await second.next()).toContain('"provider_id":"d"');
  });

  it.each([
    [
      "more was missed than is kept",
      (hub: EventHub) => {
        for (const id of "abcdef") hub.publish(change(id));
      },
      (id: string) => id,
    ],
    ["it was another process's", () => undefined, () => "other-1"],
    ["it makes no sense", () => undefined, () => "nonsense"],
  ])("tells to load anew when %s", async (_, publish, named) => {
    const hub = aHub(3);
    const first = open(hub);
    await first.next();
    hub.publish(change("a"));
    const [seen = ""] = idsIn(await first.next());
    publish(hub);

    expect(await open(hub, { lastEventId: named(seen) }).next()).toContain("event: resync\n");
  });

  it("has no gap when everything since is still there", async () => {
    const hub = aHub(3);
    const first = open(hub);
    await first.next();
    hub.publish(change("a"));
    const [seen = ""] = idsIn(await first.next());
    for (const id of "bcd") hub.publish(change(id));

    expect(idsIn(await open(hub, { lastEventId: seen }).next())).toHaveLength(3);
  });

  it("cuts off a reader that is too slow, and nobody else", async () => {
    const hub = aHub();
    let cuts = 0;
    const slow = open(hub, { queueLimit: 5, cutOff: () => cuts++ });
    const other = open(hub);

    for (let n = 0; n < 20; n++) hub.publish(change(`p${n}`));

    expect([cuts, hub.subscribers]).toEqual([1, 1]);
    const waiting = [];
    for (let text = await slow.next(); text !== "end"; text = await slow.next()) waiting.push(text);
    expect(waiting).toHaveLength(5);
    await other.next();
    expect(await other.next()).toContain('"p0"');
  });

  it("gives signs of life, and ends when the browser has signed out", async () => {
    const hub = aHub();
    let isAllowed = true;
    const { next } = open(hub, { keepAliveMs: 5, isStillAllowed: () => isAllowed });
    await next();
    expect(await next()).toBe(": still here\n\n");

    isAllowed = false;

    let last = "";
    while (last !== "end") last = await next();
    expect(hub.subscribers).toBe(0);
  });

  it("lets go of whoever leaves", async () => {
    const hub = aHub();
    const gone = new AbortController();
    const [one, other] = [open(hub), open(hub, { signal: gone.signal })];
    expect(hub.subscribers).toBe(2);

    await one.reader.cancel();
    gone.abort();

    expect(hub.subscribers).toBe(0);
    expect(other.reader).toBeDefined();
  });

  it("ends with the hub", async () => {
    const hub = aHub();
    const { next } = open(hub);
    await next();

    hub.close();

    expect(await next()).toBe("end");
  });

  it("tells of a large import in a few words", async () => {
    const hub = aHub();
    const { next } = open(hub);
    await next();

    hub.publish({
      type: "key-created",
      providerId: "p",
      keyIds: Array.from({ length: 5_000 }, (_, n) => `k${n}`),
      at: 0,
    });

    expect((await next()).length).toBeLessThan(2_000);
  });
});

describe("what happened lately", () => {
  it("is what a person would want to read: not what comes with every request, nor a notice told again", () => {
    const hub = aHub();
    const notice = {
      type: "notice",
      noticeId: "n",
      code: "pool_exhausted",
      providerId: "prv_1",
      message: "m",
      facts: {},
      isDismissed: false,
      at: 1,
    } as const;
    hub.publish(change("prv_1"));
    hub.publish({ ...notice, count: 1, resolvedAt: undefined });
    for (let n = 0; n < 2_000; n++) {
      hub.publish({ type: "pool-exhausted", poolId: "prv_1", choice: noKey, at: 1 });
      hub.publish({ ...notice, count: n + 2, resolvedAt: undefined });
    }
    hub.publish({ ...notice, count: 2_001, resolvedAt: 2 });

    expect(hub.recent(10).map(({ event }) => event)).toMatchObject([
      { type: "notice", resolvedAt: 2 },
      { type: "notice", count: 1 },
      { type: "provider-changed" },
    ]);
  });

  it("holds the newest, newest first", () => {
    const hub = aHub();
    for (let n = 0; n < 1_000; n++) hub.publish(change(`prv_${n}`));

    expect(hub.recent(2).map(({ event }) => event)).toMatchObject([
      { providerId: "prv_999" },
      { providerId: "prv_998" },
    ]);
    expect(hub.recent(200)).toHaveLength(200);
  });
});

const noKey = {
  kind: "none-usable",
  standing: { total: 0, resting: 0, disabled: 0, unresolved: 0, tried: 0 },
} as const;
