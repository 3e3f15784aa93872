import { createFakeClock, type Reply, reply } from "@keywheel/testkit";
import { beforeEach, describe, expect, it } from "vitest";
import type { TokenRecord } from "../catalog/catalog.ts";
import { type Bench, chat, comesToPass, failuresOf, openDataPlane } from "./data-plane.test-bench.ts";
import { TokenLimits } from "./token-limits.ts";

const clock = createFakeClock();
let limits: TokenLimits;

beforeEach(() => {
  limits = new TokenLimits(clock);
});

function aToken(parts: Partial<TokenRecord> = {}): TokenRecord {
  return { id: "tok", name: "laptop", maxRequestsPerMinute: null, maxConcurrent: null, ...parts } as TokenRecord;
}

/** Enters so often. @returns how many got in, and the waits of the others */
function enter(token: TokenRecord, times: number): { in: number; waits: (number | undefined)[] } {
  const entries = Array.from({ length: times }, () => limits.enter(token));
  const refused = entries.flatMap((entry) => ("code" in entry ? [entry] : []));
  return { in: times - refused.length, waits: refused.map(({ retryAfterMs }) => retryAfterMs) };
}

describe("requests a minute", () => {
  it("are as many as the limit says in any 60 seconds, not only in those of a calendar", () => {
    const token = aToken({ maxRequestsPerMinute: 3 });
    expect(enter(token, 1).in).toBe(1);
    clock.advance(59_000);
    expect(enter(token, 3).in).toBe(2);

    clock.advance(1_000);
    expect(enter(token, 3)).toEqual({ in: 1, waits: [59_000, 59_000] });
    clock.advance(58_999);
    expect(enter(token, 1)).toEqual({ in: 0, waits: [1] });
    clock.advance(1);
    expect(enter(token, 9).in).toBe(2);
  });

  it("are not used up by those that were refused", () => {
    const token = aToken({ maxRequestsPerMinute: 1 });
    enter(token, 1);
    clock.advance(30_000);
    enter(token, 100);

    clock.advance(30_000);

    expect(enter(token, 1).in).toBe(1);
  });

  it("follow a limit that was raised or lowered, with a wait that is long enough", () => {
    enter(aToken({ maxRequestsPerMinute: 4 }), 2);
    clock.advance(10_000);
    enter(aToken({ maxRequestsPerMinute: 4 }), 2);

    expect(enter(aToken({ maxRequestsPerMinute: 2 }), 1).waits).toEqual([60_000]);
    expect(enter(aToken({ maxRequestsPerMinute: 3 }), 1).waits).toEqual([50_000]);
    expect(enter(aToken({ maxRequestsPerMinute: 5 }), 2)).toEqual({ in: 1, waits: [50_000] });
  });

  it("stay exact, and are forgotten, over many of them", () => {
    const token = aToken({ maxRequestsPerMinute: 100 });
    let letIn = 0;
    for (let second = 0; second < 600; second++) {
      letIn += enter(token, 10).in;
      clock.advance(1_000);
    }

    expect(letIn).toBe(1_000);
  });
});

describe("requests at a time", () => {
  it("are as many as the limit says; leaving twice gives one place back", () => {
    const token = aToken({ maxConcurrent: 2 });
    const first = limits.enter(token);
    expect(enter(token, 3)).toEqual({ in: 1, waits: [1_000, 1_000] });

    if ("leave" in first) for (let times = 0; times < 2; times++) first.leave();

    expect(enter(token, 3).in).toBe(1);
  });

  it("count against the minute only if they get in", () => {
    const token = aToken({ maxConcurrent: 1, maxRequestsPerMinute: 2 });
    const first = limits.enter(token);
    enter(token, 50);
    if ("leave" in first) first.leave();

    expect(enter(token, 1).in).toBe(1);
  });
});

it("counts each token for itself, and none without a limit", () => {
  expect(enter(aToken({ id: "a", maxConcurrent: 1 }), 1).in + enter(aToken({ id: "b", maxConcurrent: 1 }), 1).in).toBe(
    2,
  );
  expect(enter(aToken({ id: "c" }), 1_000).in).toBe(1_000);
  expect("code" in limits.enter(undefined)).toBe(false);
});

it("forgets tokens that have gone quiet", () => {
  for (let n = 0; n < 50; n++) {
    const entry = limits.enter(aToken({ id: `tok_${n}`, maxRequestsPerMinute: 5 }));
    if ("leave" in entry) entry.leave();
  }
  enter(aToken({ id: "running", maxConcurrent: 1 }), 1);
  clock.advance(60_000);

  enter(aToken({ id: "next", maxConcurrent: 1 }), 1);

  expect(limits.size).toBe(2);
});

describe("a client whose token is limited", () => {
  const token = "kw_limited";
  const asClient = { ...chat, headers: { ...chat.headers, authorization: `Bearer ${token}` } };

  async function ask({ url }: Bench): Promise<Response> {
    const response = await fetch(`${url}/chat/completions`, asClient);
    await response.arrayBuffer();
    return response;
  }

  it("gets exactly as many answers as its limit says, of 200 requests at once", async () => {
    const bench = await openDataPlane({ token, terms: { maxRequestsPerMinute: 37 } });

    const answers = await Promise.all(Array.from({ length: 200 }, () => ask(bench)));

    expect(answers.filter(({ status }) => status === 200).length).toBe(37);
    expect(bench.provider.requests.length).toBe(37);
    const refused = answers.filter(({ status }) => status !== 200);
    expect(new Set(refused.map(({ status, headers }) => `${status} ${headers.get("x-keywheel-error")}`))).toEqual(
      new Set(["429 token_limited"]),
    );
    expect(refused.every(({ headers }) => /^([1-9]|[1-5]\d|60)$/.test(headers.get("retry-after") ?? ""))).toBe(true);
    expect(await failuresOf(bench)).toEqual([0, 0, 0]);
    expect(bench.records.every(({ tokenId }) => tokenId === "tok")).toBe(true);
  });

  it("has never more requests at the provider than its limit says, of 200 at once", async () => {
    const bench = await openDataPlane({ token, terms: { maxConcurrent: 5 } });
    let answers: Reply = reply.hang();
    bench.provider.on().always(reply.by(() => answers));
    const abort = new AbortController();
    let answered = 0;
    const asked = Array.from({ length: 200 }, () =>
      fetch(`${bench.url}/chat/completions`, { ...asClient, signal: abort.signal }).then(
        ({ status }) => {
          answered++;
          return status;
        },
        () => "left",
      ),
    );
    await bench.provider.arrived(5);
    await comesToPass(() => expect(answered).toBe(195));
    abort.abort();
    const outcomes = await Promise.all(asked);

    expect(outcomes.filter((outcome) => outcome === 429).length).toBe(195);
    expect(bench.provider.requests.length).toBe(5);
    // Those who left gave their places back.
    await comesToPass(() => expect(bench.running()).toBe(0));
    answers = reply.json(200, {}, {});
    expect((await ask(bench)).status).toBe(200);
  });

  it.each([
    ["openai", { error: { code: "token_limited", type: "rate_limit_error" } }],
    ["anthropic", { type: "error", error: { type: "rate_limit_error" } }],
    ["gemini", { error: { code: 429, status: "RESOURCE_EXHAUSTED" } }],
  ] as const)("reads it in the shape of its provider: %s", async (kind, shape) => {
    const bench = await openDataPlane({ kind, token, terms: { maxRequestsPerMinute: 1 } });
    await ask(bench);

    const response = await fetch(`${bench.url}/models`, { headers: { authorization: `Bearer ${token}` } });
    const text = await response.text();

    expect([response.status, response.headers.get("retry-after")]).toEqual([429, "60"]);
    expect(JSON.parse(text)).toMatchObject(shape);
    expect(text).toContain('The gateway token \\"laptop\\" allows 1 request a minute.');
  });

  it("holds its place until the end of a stream", async () => {
    const bench = await openDataPlane({ token, terms: { maxConcurrent: 1 } });
    const live = reply.live();
    bench.provider.on().next(live);
    void live.send({ data: { choices: [{ delta: { content: "Hello" } }] } });
    const streaming = await fetch(`${bench.url}/chat/completions`, asClient);
    expect(streaming.status).toBe(200);

    expect((await ask(bench)).status).toBe(429);
    await live.end();
    await streaming.text();

    expect((await ask(bench)).status).toBe(200);
  });
});

describe("a client whose token has expired", () => {
  const ask = ({ url }: Bench) => fetch(`${url}/models`, { headers: { authorization: "Bearer kw_old" } });

  it("gets 401 with words that say so", async () => {
    const bench = await openDataPlane({ token: "kw_old", terms: { expiresAt: Date.parse("2020-01-31T00:00:00Z") } });
    const response = await ask(bench);

    expect([response.status, response.headers.get("x-keywheel-error")]).toEqual([401, "unauthorized"]);
    expect(await response.text()).toContain("has expired (2020-01-31T00:00:00.000Z)");
    expect(bench.provider.requests).toEqual([]);
  });

  it("is served until then", async () => {
    const bench = await openDataPlane({ token: "kw_old", terms: { expiresAt: Date.now() + 60_000 } });

    expect((await ask(bench)).status).toBe(200);
  });
});
