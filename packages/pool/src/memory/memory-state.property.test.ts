import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { aPolicy, aSession, createFakeClock } from "@keywheel/testkit";
import type { Choice, KeyEntry, Ticket } from "../ports/shared-state.ts";
import { MemoryState } from "./packed-state.ts";
import { PlainState } from "./plain-state.ts";
import type { FakeClock } from "@keywheel/testkit";

const idleTtlMs = 10_000_000;
const policy = aPolicy({ affinity: { enabled: true, idleTtlMs } });
const reason = { code: "rate_limited", httpStatus: 429, message: null } as const;
const refusal = { code: "authentication_failed", httpStatus: 401, message: null } as const;

interface TwinKey {
  entry: KeyEntry;
  failures: number;
  coolUntil: number;
  /** Instants are not enough to order events within a millisecond: a count of everything that happened is. */
  cooledAt: number;
  lastFailureAt: number;
  clearedAt: number;
  refused: boolean;
  /** While one request finds out whether it serves again. */
  trialUntil: number;
}

interface TwinTicket {
  readonly keyId: string;
  readonly secretVersion: number;
  /** When, in events, the attempt chose its key. */
  readonly chosenAt: number;
}

/** The pool written down as plainly as can be: linear searches, an event count instead of tickets with marks. */
class Twin {
  keys: TwinKey[] = [];
  now = 0;
  #events = 0;
  #turned = false;
  #current: string | undefined;
  #used = 0;
  readonly #sessions = new Map<string, string>();

  configure(entries: readonly KeyEntry[]): void {
    this.#events++;
    const before = this.keys;
    this.keys = entries.map((entry) => {
      const known = before.find((key) => key.entry.id === entry.id);
      if (known === undefined) return freshKey(entry);
      if (known.entry.enabled && !entry.enabled) this.#endSessionsOf(entry.id);
      if (known.entry.secretVersion !== entry.secretVersion) this.#clear(known);
      known.entry = entry;
      return known;
    });
    for (const [session, keyId] of this.#sessions) if (this.#key(keyId) === undefined) this.#sessions.delete(session);
    if (this.#key(this.#current ?? "") !== undefined || before.length === 0) return;
    // The key whose turn it was is gone: on with the next one that is still there.
    const at = before.findIndex((key) => key.entry.id === this.#current);
    const rest = [...before.slice(at + 1), ...before.slice(0, at)];
    this.#current = rest.find((key) => this.keys.includes(key))?.entry.id;
    this.#used = 0;
  }

  choose(session: string | undefined): { key: string | undefined; ticket: TwinTicket | undefined } {
    this.#events++;
    const bound = session === undefined ? undefined : this.#key(this.#sessions.get(session) ?? "");
    const key = bound !== undefined && this.#canServe(bound) ? bound : this.#turn();
    if (key === undefined) return { key: undefined, ticket: undefined };
    if (session !== undefined) this.#sessions.set(session, key.entry.id);
    if (key.failures > 0 && key.trialUntil <= this.now) key.trialUntil = this.now + 2_000;
    const { id, secretVersion } = key.entry;
    return { key: id, ticket: { keyId: id, secretVersion, chosenAt: this.#events } };
  }

  fail(ticket: TwinTicket, hintMs: number | undefined): void {
    this.#events++;
    const key = this.#of(ticket);
    if (key === undefined) return;
    key.trialUntil = 0;
    const isSameBurst = key.cooledAt > ticket.chosenAt;
    if (!isSameBurst) key.failures++;
    const ladderMs = isSameBurst ? 0 : Math.min(60_000 * 2 ** (key.failures - 1), 900_000);
    key.coolUntil = Math.max(key.coolUntil, this.now + Math.max(ladderMs, Math.min(hintMs ?? 0, 900_000)));
    if (!isSameBurst) {
      key.cooledAt = this.#events;
      this.#endSessionsOf(key.entry.id);
    }
    key.lastFailureAt = this.#events;
  }

  succeed(ticket: TwinTicket): void {
    this.#events++;
    const key = this.#of(ticket);
    if (key === undefined) return;
    key.trialUntil = 0;
    if (key.lastFailureAt < ticket.chosenAt) key.failures = 0;
  }

  disable(ticket: TwinTicket): void {
    this.#events++;
    const key = this.#of(ticket);
    if (key === undefined || !key.entry.enabled || key.refused) return;
    key.trialUntil = 0;
    key.refused = true;
    this.#endSessionsOf(key.entry.id);
  }

  reset(keyId: string): void {
    this.#events++;
    const key = this.#key(keyId);
    if (key !== undefined) this.#clear(key);
  }

  endSession(session: string): void {
    this.#events++;
    this.#sessions.delete(session);
  }

  #turn(): TwinKey | undefined {
    const at = this.#turned
      ? Math.max(
          0,
          this.keys.findIndex((key) => key.entry.id === this.#current),
        )
      : 0;
    this.#turned = true;
    for (let step = 0; step <= this.keys.length; step++) {
      const key = this.keys[(at + step) % this.keys.length];
      if (key === undefined || !this.#canServe(key) || key.trialUntil > this.now) continue;
      const used = step === 0 && this.#current === key.entry.id ? this.#used : 0;
      if (used >= key.entry.weight && step === 0) continue;
      const isDone = used + 1 >= key.entry.weight;
      // A key that has had its turns hands on at once: what becomes of its weight later is for its next round.
      const next = isDone ? this.keys[(at + step + 1) % this.keys.length] : key;
      this.#current = next?.entry.id;
      this.#used = isDone ? 0 : used + 1;
      return key;
    }
    return undefined;
  }

  #canServe(key: TwinKey): boolean {
    return key.entry.enabled && key.entry.resolved && !key.refused && key.coolUntil <= this.now;
  }

  #key(keyId: string): TwinKey | undefined {
    return this.keys.find((key) => key.entry.id === keyId);
  }

  #of(ticket: TwinTicket): TwinKey | undefined {
    const key = this.#key(ticket.keyId);
    const isOld =
      key === undefined || key.entry.secretVersion !== ticket.secretVersion || key.clearedAt > ticket.chosenAt;
    return isOld ? undefined : key;
  }

  #clear(key: TwinKey): void {
    Object.assign(key, { failures: 0, coolUntil: 0, refused: false, clearedAt: this.#events, trialUntil: 0 });
  }

  #endSessionsOf(keyId: string): void {
    for (const [session, bound] of this.#sessions) if (bound === keyId) this.#sessions.delete(session);
  }
}

function freshKey(entry: KeyEntry): TwinKey {
  return {
    entry,
    failures: 0,
    coolUntil: 0,
    cooledAt: 0,
    lastFailureAt: 0,
    clearedAt: 0,
    refused: false,
    trialUntil: 0,
  };
}

const keyIds = ["A", "B", "C", "D"] as const;
const keyId = fc.constantFrom(...keyIds);
const command = fc.oneof(
  { weight: 8, arbitrary: fc.record({ do: fc.constant("choose" as const), session: fc.option(fc.nat(5)) }) },
  {
    weight: 4,
    arbitrary: fc.record({
      do: fc.constant("fail" as const),
      ticket: fc.nat(60),
      hintMs: fc.option(fc.nat(1_000_000)),
    }),
  },
  { weight: 3, arbitrary: fc.record({ do: fc.constant("succeed" as const), ticket: fc.nat(60) }) },
  { weight: 1, arbitrary: fc.record({ do: fc.constant("disable" as const), ticket: fc.nat(60) }) },
  { weight: 1, arbitrary: fc.record({ do: fc.constant("reset" as const), keyId }) },
  {
    weight: 3,
    arbitrary: fc.record({ do: fc.constant("advance" as const), ms: fc.constantFrom(0, 1, 59_999, 60_000, 300_000) }),
  },
  { weight: 1, arbitrary: fc.record({ do: fc.constant("end" as const), session: fc.nat(5) }) },
  { weight: 1, arbitrary: fc.record({ do: fc.constant("toggle" as const), keyId }) },
  {
    weight: 1,
    arbitrary: fc.record({ do: fc.constant("weigh" as const), keyId, weight: fc.integer({ min: 1, max: 4 }) }),
  },
  { weight: 1, arbitrary: fc.record({ do: fc.constant("replace" as const), keyId }) },
  { weight: 1, arbitrary: fc.record({ do: fc.constant("remove" as const), keyId }) },
  { weight: 1, arbitrary: fc.record({ do: fc.constant("add" as const), keyId }) },
  { weight: 1, arbitrary: fc.record({ do: fc.constant("reverse" as const) }) },
);
type Command = typeof command extends fc.Arbitrary<infer T> ? T : never;
type Change = Extract<Command, { do: "toggle" | "weigh" | "replace" | "remove" | "add" | "reverse" }>;

function changed(entries: readonly KeyEntry[], step: Change): readonly KeyEntry[] {
  const change = (parts: (entry: KeyEntry) => Partial<KeyEntry>): readonly KeyEntry[] =>
    entries.map((entry) => ("keyId" in step && entry.id === step.keyId ? { ...entry, ...parts(entry) } : entry));
  switch (step.do) {
    case "toggle":
      return change(({ enabled }) => ({ enabled: !enabled }));
    case "weigh":
      return change(() => ({ weight: step.weight }));
    case "replace":
      return change(({ secretVersion }) => ({ secretVersion: secretVersion + 1 }));
    case "remove":
      return entries.filter((entry) => entry.id !== step.keyId);
    case "add":
      return entries.some((entry) => entry.id === step.keyId) ? entries : [...entries, entryOf(step.keyId)];
    case "reverse":
      return [...entries].reverse();
  }
}

let versions = 0;

/** A key that is added again is another one: its id may be the same, what was learnt of the old one is not. */
function entryOf(id: string): KeyEntry {
  versions += 1_000;
  return { id, weight: 2, enabled: true, resolved: true, secretVersion: versions };
}

type OwnState = MemoryState | PlainState;

const states: readonly (readonly [name: string, open: (clock: FakeClock) => OwnState])[] = [
  ["of very many keys", (clock) => new MemoryState({ clock })],
  ["of a program's own pool", (clock) => new PlainState({ clock, maxBindings: 100 })],
];

describe.each(states)("the shared state %s", (_, open) => {
  it("does under any commands what a naive twin does: picks, failures, deadlines", async () => {
    await fc.assert(
      fc.asyncProperty(fc.array(command, { maxLength: 120 }), async (commands) => {
        const clock = createFakeClock();
        const state = open(clock);
        const twin = new Twin();
        twin.now = clock.now();
        let entries: readonly KeyEntry[] = keyIds
          .slice(0, 3)
          .map((id, index) => ({ ...entryOf(id), weight: 3 - index }));
        await state.configure("p", entries, policy);
        twin.configure(entries);
        const tickets: { real: Ticket; twin: TwinTicket }[] = [];

        let picked: { real: string | undefined; twin: string | undefined } = { real: undefined, twin: undefined };

        const attempt = async (session: number | null): Promise<void> => {
          const ref = session === null ? undefined : aSession(`s${session}`);
          const real: Choice = state.choose("p", ref === undefined ? {} : { session: ref });
          const naive = twin.choose(ref?.id);
          picked = { real: real.kind === "key" ? real.keyId : undefined, twin: naive.key };
          if (real.kind === "key" && naive.ticket !== undefined)
            tickets.push({ real: real.ticket, twin: naive.ticket });
        };
        const answer = async (step: Extract<Command, { ticket: number }>): Promise<void> => {
          const chosen = tickets[step.ticket % Math.max(1, tickets.length)];
          if (chosen === undefined) return;
          if (step.do === "fail") {
            const hint = step.hintMs === null ? {} : { hintMs: step.hintMs };
            await state.fail(chosen.real, { rest: "ladder", ...hint }, reason, "key");
            twin.fail(chosen.twin, step.hintMs ?? undefined);
          } else if (step.do === "succeed") {
            state.succeed(chosen.real);
            twin.succeed(chosen.twin);
          } else {
            await state.disable(chosen.real, refusal);
            twin.disable(chosen.twin);
          }
        };

        for (const step of commands) {
          if (step.do === "choose") await attempt(step.session);
          else if ("ticket" in step) await answer(step);
          else if (step.do === "advance") {
            clock.advance(step.ms);
            twin.now = clock.now();
          } else if (step.do === "reset") {
            await state.reset("p", step.keyId);
            twin.reset(step.keyId);
          } else if (step.do === "end") {
            await state.endSession("p", aSession(`s${step.session}`).fingerprint);
            twin.endSession(`s${step.session}`);
          } else {
            entries = changed(entries, step);
            await state.configure("p", entries, policy);
            twin.configure(entries);
          }
          expect(picked.real).toBe(picked.twin);
          const seen = (await state.snapshot("p")).map(({ keyId, health }) => [
            keyId,
            health.failures,
            health.coolUntil,
          ]);
          expect(seen).toEqual(twin.keys.map(({ entry, failures, coolUntil }) => [entry.id, failures, coolUntil]));
        }
      }),
      { numRuns: 2_000 },
    );
  });

  it("blames a parallel burst once, on the key that earned it, in whatever order the answers come", async () => {
    const answers = fc.array(fc.constantFrom("fail" as const, "succeed" as const), { minLength: 1, maxLength: 60 });
    await fc.assert(
      fc.asyncProperty(answers, fc.infiniteStream(fc.nat(1_000)), async (answers, order) => {
        const clock = createFakeClock();
        const state = open(clock);
        await state.configure(
          "p",
          keyIds.map((id) => entryOf(id)),
          policy,
        );
        const attempts: { ticket: Ticket; answer: "fail" | "succeed"; at: number }[] = [];
        for (const answer of answers) {
          const choice = state.choose("p", {});
          if (choice.kind === "key") attempts.push({ ticket: choice.ticket, answer, at: order.next().value ?? 0 });
        }
        attempts.sort((a, b) => a.at - b.at);

        await Promise.all(
          attempts.map(async ({ ticket, answer }) =>
            answer === "fail" ? state.fail(ticket, { rest: "ladder" }, reason, "key") : state.succeed(ticket),
          ),
        );

        for (const { keyId, health } of await state.snapshot("p")) {
          const failed = attempts.some(({ ticket, answer }) => ticket.keyId === keyId && answer === "fail");
          expect(health.failures).toBe(failed ? 1 : 0);
          expect(health.coolUntil).toBe(failed ? clock.now() + 60_000 : 0);
        }
      }),
      { numRuns: 200 },
    );
  });
});
