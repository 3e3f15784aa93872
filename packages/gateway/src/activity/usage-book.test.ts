import { describe, expect, it } from "vitest";
import type { RequestRecord } from "../data-plane/request-record.ts";
import { hourMs, minuteMs, UsageBook } from "./usage-book.ts";

function aBook() {
  const labels = { current: "first" };
  const book = new UsageBook({ labelOf: () => labels.current, redact: (text) => text, mostSums: 3 });
  const add = (parts: Partial<RequestRecord> = {}, endedAt = hourMs): void => {
    const record: RequestRecord = {
      requestId: "req_1",
      providerId: "prv_1",
      keyId: "key_1",
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
    book.add({ seq: 1, endedAt, record });
  };
  return { book, labels, add };
}

/** Of each sum: what it is told apart by, and how many requests and failovers it counts. */
function take({ book }: ReturnType<typeof aBook>): string[] {
  return book
    .takeSums(100)
    .map(({ span, at, keyId, label, tokenId, model, requests, failovers }) =>
      [span, at / minuteMs, keyId, label, tokenId, model, requests, failovers].join(" "),
    );
}

describe("usage", () => {
  it("is told apart by key, token and model, in the hour and the minute", () => {
    const bench = aBook();
    bench.add();
    bench.add();
    bench.add({ tokenId: "tok_1", model: "m" });

    expect(take(bench)).toEqual([
      "minute 60     3 0",
      "hour 60 key_1 first   2 0",
      "detail 60 key_1 first   2 0",
      "hour 60 key_1 first tok_1 m 1 0",
      "detail 60 key_1 first tok_1 m 1 0",
    ]);
  });

  it("is counted once, whenever it is taken out to be written", () => {
    const bench = aBook();
    bench.add();
    expect(take(bench)).toHaveLength(3);
    bench.add();

    expect(take(bench)).toEqual(["minute 60     1 0", "hour 60 key_1 first   1 0", "detail 60 key_1 first   1 0"]);
    expect(take(bench)).toEqual([]);
  });

  it("is added up again when it could not be written, with what came meanwhile", () => {
    const bench = aBook();
    bench.add();
    const taken = bench.book.takeSums(100);
    bench.add();
    bench.book.giveBack(taken, []);
    bench.add();

    expect(take(bench)).toEqual(["minute 60     3 0", "hour 60 key_1 first   3 0", "detail 60 key_1 first   3 0"]);
  });

  it("begins anew with each minute and each hour", () => {
    const bench = aBook();
    bench.add();
    bench.add({}, hourMs + minuteMs);
    bench.add({}, 2 * hourMs);

    expect(take(bench)).toEqual([
      "minute 60     1 0",
      "hour 60 key_1 first   2 0",
      "detail 60 key_1 first   1 0",
      "minute 61     1 0",
      "detail 61 key_1 first   1 0",
      "minute 120     1 0",
      "hour 120 key_1 first   1 0",
      "detail 120 key_1 first   1 0",
    ]);
  });

  it("has the label that the key had last", () => {
    const bench = aBook();
    bench.add();
    bench.labels.current = "second";
    bench.add();

    expect(take(bench)).toEqual(["minute 60     2 0", "hour 60 key_1 second   2 0", "detail 60 key_1 second   2 0"]);
  });

  it("counts a failover where it happened", () => {
    const bench = aBook();
    const attempt = { why: "turn", passedOver: [], startedAt: 0, durationMs: 1 } as const;
    bench.add({
      attempts: [
        { ...attempt, keyId: "key_2", status: 429, outcome: "rate_limited" },
        { ...attempt, keyId: "key_1", status: 200, outcome: "success" },
      ],
    });

    expect(take(bench)).toEqual([
      "minute 60     1 1",
      "hour 60 key_1 first   1 0",
      "detail 60 key_1 first   1 0",
      "hour 60 key_2 first   0 1",
      "detail 60 key_2 first   0 1",
    ]);
    expect(bench.book.takeTotals(9)).toMatchObject([
      { keyId: "key_2", requests: 1, failures: 1 },
      { keyId: "key_1", requests: 1, successes: 1 },
    ]);
  });

  it("puts models together that are too many to be told apart", () => {
    const bench = aBook();
    for (const model of ["a", "b", "c", "d", "e", "d"]) bench.add({ model });

    expect(take(bench).filter((sum) => sum.startsWith("hour"))).toEqual([
      "hour 60 key_1 first  a 1 0",
      "hour 60 key_1 first  b 1 0",
      "hour 60 key_1 first  c 1 0",
      "hour 60 key_1 first  other 3 0",
    ]);
  });
});
