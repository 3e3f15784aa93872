import { describe, expect, it } from "vitest";
import type { RequestRecord } from "../data-plane/request-record.ts";
import { AffinityBook, affinityOf, groupAffinity } from "./affinity-book.ts";

type Attempt = RequestRecord["attempts"][number];

/** What ties a request to its key. */
type Tie = "session" | NonNullable<RequestRecord["tie"]>;

const hourMs = 3_600_000;
const usage = { inputTokens: 10, cacheReadTokens: 30, cacheWriteTokens: 2, outputTokens: 5, reasoningTokens: 0 };

function anAttempt(keyId: string, why: Attempt["why"], parts: Partial<Attempt> = {}): Attempt {
  return { keyId, why, passedOver: [], startedAt: 0, durationMs: 1, status: 200, outcome: "succeeded", ...parts };
}

function aRequest(attempts: readonly Attempt[], tie?: Tie): RequestRecord {
  const keyId = attempts.at(-1)?.keyId;
  return {
    requestId: "req",
    providerId: "prv_1",
    slug: "llm",
    method: "POST",
    path: "/v1/x",
    startedAt: 0,
    durationMs: 1,
    status: 200,
    attempts,
    ending: "completed",
    requestBytes: 0,
    usage,
    ...(keyId === undefined ? {} : { keyId }),
    ...(tie === "session" ? { sessionId: "chat" } : tie === undefined ? {} : { tie }),
  };
}

const limited = { status: 429, outcome: "rate_limited" } as const;
const leftA = { left: { keyId: "A", because: "quota_exhausted" } } as const;

describe("the affinity of a request", () => {
  it.each<[string, string, readonly Attempt[], Tie | undefined]>([
    ["a session on its key", "session kept", [anAttempt("A", "session")], "session"],
    ["a conversation on its key", "conversation kept", [anAttempt("A", "continuation")], "conversation"],
    ["an object at its maker", "object kept", [anAttempt("A", "pin")], undefined],
    ["an object named in a session", "object kept", [anAttempt("A", "pin")], "session"],
    ["a list, which always comes from the first key", "none none", [anAttempt("A", "pin")], "first"],
    ["a session's first request", "session new", [anAttempt("A", "turn")], "session"],
    ["a conversation's first request", "conversation new", [anAttempt("A", "turn")], "conversation"],
    ["one that nothing ties", "none none", [anAttempt("A", "turn"), anAttempt("B", "turn")], undefined],
    [
      "a new session whose first key was limited",
      "session new",
      [anAttempt("A", "turn", limited), anAttempt("B", "turn", { left: { keyId: "A", because: "tried" } })],
      "session",
    ],
    [
      "a session whose key was limited just then",
      "session rate_limited A",
      [anAttempt("A", "session", limited), anAttempt("B", "turn", { left: { keyId: "A", because: "rate_limited" } })],
      "session",
    ],
    [
      "a session whose key rests for its model",
      "session rate_limited A",
      [
        anAttempt("A", "session", { status: 429, outcome: "model_rate_limited" }),
        anAttempt("B", "turn", { left: { keyId: "A", because: "tried" } }),
      ],
      "session",
    ],
    [
      "a session whose key was refused",
      "session authentication_failed A",
      [
        anAttempt("A", "session", { status: 401, outcome: "key_refused" }),
        anAttempt("B", "turn", { left: { keyId: "A", because: "authentication_failed" } }),
      ],
      "session",
    ],
    [
      "a session whose key was tried twice before another",
      "session unreachable A",
      [
        anAttempt("A", "session", { outcome: "timeout" }),
        anAttempt("A", "session", { outcome: "unreachable" }),
        anAttempt("B", "turn"),
      ],
      "session",
    ],
    [
      "a session whose key had begun to rest before it",
      "session quota_exhausted A",
      [anAttempt("B", "turn", leftA)],
      "session",
    ],
    [
      "a conversation whose key had begun to rest before it",
      "conversation quota_exhausted A",
      [anAttempt("B", "turn", limited), anAttempt("C", "turn", leftA)].map((one, at) =>
        at === 0 ? { ...one, ...leftA } : one,
      ),
      "conversation",
    ],
    ["one that the wheel gave back to its key", "session kept", [anAttempt("A", "turn", leftA)], "session"],
    [
      "one whose only key failed, so that it had none to go to",
      "session kept",
      [anAttempt("A", "session", limited)],
      "session",
    ],
  ])("%s: %s", (_, told, attempts, tie) => {
    const { source, fate, leftKeyId } = affinityOf(aRequest(attempts, tie)) ?? {};

    expect([source, fate, leftKeyId].filter((word) => word !== undefined).join(" ")).toBe(told);
  });

  it("is none where no key of a pool was asked", () => {
    expect(affinityOf(aRequest([]))).toBeUndefined();
  });
});

describe("the book of affinity", () => {
  const all = { from: 0, to: Infinity };
  const add = (book: AffinityBook, endedAt: number, request = aRequest([anAttempt("A", "session")], "session")): void =>
    book.add({ seq: 1, endedAt, record: request });

  it("sums up by hour, and gives each sum once", () => {
    const book = new AffinityBook();
    add(book, hourMs + 1);
    add(book, hourMs + 2);
    add(book, 2 * hourMs);

    const taken = book.take();

    const counts = { inputTokens: 20, cacheReadTokens: 60, cacheWriteTokens: 4 };
    const place = { providerId: "prv_1", source: "session", fate: "kept" };
    expect(taken).toHaveLength(2);
    expect(taken[0]).toEqual({ at: hourMs, ...place, requests: 2, ...counts });
    expect(taken[1]).toMatchObject({ at: 2 * hourMs, requests: 1 });
    expect(book.take()).toEqual([]);
    add(book, 2 * hourMs + 5);
    expect(book.take()).toMatchObject([{ at: 2 * hourMs, requests: 1 }]);
  });

  it("keeps what could not be written, and does not grow while it waits", () => {
    const book = new AffinityBook();
    for (let round = 0; round < 50; round++) {
      add(book, hourMs + round);
      book.giveBack(book.take());
    }

    expect(book.pending()).toHaveLength(1);
    expect(book.take()).toMatchObject([{ at: hourMs, requests: 50, cacheReadTokens: 1_500 }]);
  });

  it("goes on counting for the metrics, whatever is written or could not be", () => {
    const book = new AffinityBook();
    add(book, hourMs);
    book.giveBack(book.take());
    add(book, 2 * hourMs);
    book.take();
    add(book, 2 * hourMs + 1);
    add(book, 2 * hourMs + 1, aRequest([anAttempt("A", "turn")], "session"));

    const told = book
      .totals()
      .map(({ source, fate, requests, cacheReadTokens }) => [`${source} ${fate}`, requests, cacheReadTokens]);

    expect(told).toEqual([
      ["session kept", 3, 90],
      ["session new", 1, 30],
    ]);
  });

  it("counts a request without usage, and none that no pool served", () => {
    const book = new AffinityBook();
    const { usage: _, ...silent } = aRequest([anAttempt("A", "session")], "session");
    add(book, 1, silent);
    add(book, 1, aRequest([]));
    add(book, 1, { ...aRequest([anAttempt("A", "turn")]), providerId: undefined });

    expect(book.take()).toMatchObject([{ requests: 1, inputTokens: 0, cacheReadTokens: 0 }]);
  });

  it("is narrowed to a time and a provider", () => {
    const book = new AffinityBook();
    add(book, hourMs);
    add(book, 3 * hourMs, { ...aRequest([anAttempt("A", "session")], "session"), providerId: "prv_2" });

    const within = (query: object): string[] =>
      groupAffinity(book.pending(), { ...all, ...query }).map(({ at, providerId }) => `${at} ${providerId}`);

    expect(within({})).toEqual(["0 prv_1", "0 prv_2"]);
    expect(within({ from: hourMs + 1 })).toEqual(["0 prv_2"]);
    expect(within({ to: 3 * hourMs })).toEqual(["0 prv_1"]);
    expect(within({ providerId: "prv_2" })).toEqual(["0 prv_2"]);
  });
});
