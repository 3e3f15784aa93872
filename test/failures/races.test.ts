import {
  type AnswerEntry,
  chatChunks,
  type Exchange,
  type History,
  reply,
  type Reply,
  runGateway,
  type RunningGateway,
  violationsOf,
} from "@keywheel/testkit";
import { beforeAll, describe, expect, it } from "vitest";
import { Observer } from "../observer.ts";
import { eventually, poolOf, type PooledProvider, storedKey } from "../pooled-provider.ts";

let gateway: RunningGateway;
beforeAll(async () => {
  gateway = await runGateway();
  return () => gateway[Symbol.asyncDispose]();
});

const policy = { baseMs: 100, capMs: 400 };
const requests = 200;
const keysAtFirst = 8;

/** One way in which the provider answers: what it says of the key, and how. */
interface Scripted {
  readonly says: Omit<AnswerEntry, "at">;
  readonly answer: Reply;
  readonly share: number;
}

const chunks = chatChunks({ id: "chatcmpl-test", created: 1, model: "gpt-test" }, "one two three");
const success = { says: { kind: "success" }, answer: reply.json(200, {}, { choices: [{ message: {} }] }) } as const;
const stream = { says: { kind: "success" }, answer: reply.sse(chunks) } as const;
const failures: readonly Scripted[] = [
  { share: 12, says: { kind: "limited" }, answer: reply.status(429) },
  { share: 4, says: { kind: "limited" }, answer: reply.status(529) },
  { share: 6, says: { kind: "limited", hintMs: 250 }, answer: reply.status(429, { "retry-after-ms": "250" }) },
  { share: 5, says: { kind: "refused" }, answer: reply.status(401) },
  { share: 2, says: { kind: "refused" }, answer: reply.status(403) },
  { share: 4, says: { kind: "other" }, answer: reply.status(500) },
  { share: 4, says: { kind: "other" }, answer: reply.status(400) },
  { share: 4, says: { kind: "other" }, answer: reply.sse(chunks.slice(0, 3), { end: "rst" }) },
  {
    share: 5,
    says: { kind: "limited", isLate: true },
    answer: reply.sse([...chunks.slice(0, 3), { data: { error: { code: 429, message: "Slow down" } } }]),
  },
];

/** A request that the provider holds until its turn to be answered comes. */
interface Held {
  release(): Promise<void>;
}

/**
 * Plays 200 requests at once against a provider that answers them one by one in an order of its own, while an operator
 * changes the keys. Every choice falls as the dice of `seed` do; the order of arrival is the machine's.
 */
async function play(pool: PooledProvider, seed: number): Promise<History> {
  const random = randomOf(seed);
  const observer = new Observer({ gateways: [gateway], pool, policy, stored });
  const held: Held[] = [];
  pool.provider.on().always({
    readsBody: true,
    async play(exchange) {
      const answered = observer.arrived(exchange.request);
      const isStream = (exchange.request.json() as { stream: boolean }).stream;
      const { says, answer } = scriptedBy(random, isStream);
      await waitForTurn(held, exchange, async () => {
        answered(says);
        await answer.play(exchange);
      });
    },
  });
  const operator = new Operator(observer, pool, random);
  await observer.listen();

  const send = (at: number): Promise<unknown> =>
    observer.call(`c${at}`, { stream: at % 2 === 0, ...(at % 4 === 0 ? { session: `s${at % 20}` } : {}) });
  let running = requests;
  const calls = Array.from({ length: requests }, (_, at) => send(at).finally(() => running--));
  // Some are sent while others are answered, so that there are choices after every kind of failure.
  let sent = requests;
  while (running > 0 || sent < requests * 1.5) {
    const roll = random();
    if (roll < 0.1) await operator.act();
    else if (roll < 0.14) await observer.snapshot();
    else if (roll < 0.3 && sent < requests * 1.5) {
      running++;
      calls.push(send(sent++).finally(() => running--));
    } else if (held.length > 0) {
      const [next] = held.splice(Math.floor(random() * held.length), 1);
      await next?.release();
    }
    // Lets the gateway's side of things go on for a little, now less and now more.
    await new Promise((resolve) => setTimeout(resolve, random() * 4));
  }
  await Promise.all(calls);
  await observer.close();
  await atRest(pool);
  await observer.snapshot();
  return observer.history;
}

function stored(keyId: string): "on" | "off" | "gone" {
  try {
    return storedKey(gateway, keyId).enabled === 1 ? "on" : "off";
  } catch {
    // There is no row: the operator has deleted the key meanwhile.
    return "gone";
  }
}

/** Waits until the gateway has written down every request, which it does when all that follows from them is done. */
async function atRest(pool: PooledProvider): Promise<void> {
  const ended = async (): Promise<number> => {
    const { data } = await gateway.api<{ data: object[] }>("GET", `/requests?provider=${pool.record.id}&limit=1000`);
    return data.length;
  };
  await eventually(ended, (count) => count === requests * 1.5, { what: "every request to have ended" });
}

async function waitForTurn(held: Held[], exchange: Exchange, answer: () => Promise<void>): Promise<void> {
  const turn = Promise.withResolvers<void>();
  const done = Promise.withResolvers<void>();
  held.push({
    async release() {
      turn.resolve();
      // A stream that is broken off ends when it is; nothing waits for its client.
      await Promise.race([done.promise, exchange.request.ended]);
    },
  });
  await exchange.wait(turn.promise);
  try {
    await answer();
  } finally {
    done.resolve();
  }
}

function scriptedBy(random: () => number, isStream: boolean): Pick<Scripted, "says" | "answer"> {
  let roll = random() * 100;
  for (const failure of failures) {
    roll -= failure.share;
    if (roll < 0) return failure;
  }
  return isStream ? stream : success;
}

/** Changes keys as the dice fall, each way as often as the others; there are always some left to serve. */
class Operator {
  readonly #observer: Observer;
  readonly #pool: PooledProvider;
  readonly #random: () => number;
  readonly #ids: string[];
  #deck: ((id: string) => Promise<unknown>)[] = [];
  #made = 0;

  constructor(observer: Observer, pool: PooledProvider, random: () => number) {
    this.#observer = observer;
    this.#pool = pool;
    this.#random = random;
    this.#ids = pool.keys.map((key) => key.id);
  }

  async act(): Promise<void> {
    if (this.#deck.length === 0) this.#deck = this.#acts();
    const [next] = this.#deck.splice(this.#below(this.#deck.length), 1);
    await next?.(this.#ids[this.#below(this.#ids.length)] ?? "");
  }

  #acts(): ((id: string) => Promise<unknown>)[] {
    return [
      (id) => this.#patch("label", id, { label: `label ${this.#made++}` }),
      (id) => this.#patch("weight", id, { weight: 1 + this.#below(5) }),
      (id) => this.#order(id),
      (id) => this.#patch("value", id, { api_key: this.#newValue() }),
      (id) => this.#patch("disable", id, { enabled: false }),
      (id) => this.#patch("enable", id, { enabled: true }),
      () => this.#bringBack(),
      () => this.#bringBack(),
      (id) => this.#observer.change("reset", id, ["POST", `/keys/${id}/reset`]),
      (id) => this.#replace(id),
    ];
  }

  #below(limit: number): number {
    return Math.floor(this.#random() * limit);
  }

  #patch(kind: "label" | "weight" | "value" | "disable" | "enable", id: string, body: object): Promise<void> {
    return this.#observer.change(kind, id, ["PATCH", `/keys/${id}`, body]);
  }

  #order(id: string): Promise<void> {
    const ids = this.#ids.toSorted(() => this.#random() - 0.5);
    const path = `/providers/${this.#pool.record.id}/keys/order`;
    return this.#observer.change("order", id, ["PUT", path, { ids }]);
  }

  /** Switches on every key that is off, so that the pool does not run dry. */
  async #bringBack(): Promise<void> {
    const { keys } = await this.#observer.snapshot();
    for (const { id, status } of keys) if (status === "disabled") await this.#patch("enable", id, { enabled: true });
  }

  /** Deletes a key and adds another. */
  async #replace(id: string): Promise<void> {
    await this.#observer.change("delete", id, ["DELETE", `/keys/${id}`]);
    this.#ids.splice(this.#ids.indexOf(id), 1);
    this.#ids.push(await this.#observer.add(this.#newValue()));
  }

  #newValue(): string {
    const value = `sk-test-${this.#pool.record.slug}-made-${this.#made++}-0123456789abcdef`;
    this.#pool.provider.accept(value);
    return value;
  }
}

/** Mulberry32: the same row of numbers in every run. */
function randomOf(seed: number): () => number {
  let state = seed;
  return () => {
    state = (state + 0x6d2b79f5) | 0;
    let mixed = Math.imul(state ^ (state >>> 15), 1 | state);
    mixed = (mixed + Math.imul(mixed ^ (mixed >>> 7), 61 | mixed)) ^ mixed;
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 4_294_967_296;
  };
}

/** What a history must hold for its lack of violations to mean anything. */
function contentsOf({ calls, changes, events }: History): Record<string, number> {
  const attempts = calls.flatMap((call) => call.attempts);
  const answered = (kind: AnswerEntry["kind"]): number => attempts.filter(({ answer }) => answer.kind === kind).length;
  const changed = (kind: string): number => changes.filter((change) => change.kind === kind).length;
  return {
    calls: calls.length,
    retries: attempts.length - calls.filter((call) => call.attempts.length > 0).length,
    served: calls.filter((call) => call.status === 200).length,
    limited: answered("limited"),
    refused: answered("refused"),
    late: attempts.filter(({ answer }) => answer.isLate === true).length,
    checkedInDatabase: attempts.filter(({ previousStored }) => previousStored !== undefined).length,
    cooled: events.filter((event) => event.type === "key-cooled").length,
    values: changed("value"),
    disabled: changed("disable"),
    enabled: changed("enable"),
    resets: changed("reset"),
    deleted: changed("delete"),
  };
}

describe("200 requests at once, answered in an order of the provider's own, while an operator changes the keys", () => {
  it.each([1, 2, 3, 4])("break no rule of the wheel (dice %i)", async (seed) => {
    const settings = { cooldown: { base_ms: policy.baseMs, cap_ms: policy.capMs } };
    await using pool = await poolOf(gateway, { weights: Array.from({ length: keysAtFirst }, () => 1), settings });

    const history = await play(pool, seed);

    expect(violationsOf(history)).toEqual([]);
    const contents = contentsOf(history);
    expect(contents.calls).toBe(requests * 1.5);
    expect(Object.entries(contents).filter(([, count]) => count === 0)).toEqual([]);
    expect(contents.served).toBeGreaterThan(requests / 2);
  });
});
