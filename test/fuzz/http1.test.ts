import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { framedAnswer } from "./framed-answers.ts";
import { malformedAnswer } from "./malformed-answers.ts";
import type { RawMessage } from "./raw-socket.ts";
import { type Client, ownClient, type Reading, turn, undiciClient } from "./twin-clients.ts";

/** How many answers to have read by both: seconds, unless told more. */
const runs = Number(process.env["KEYWHEEL_FUZZ_RUNS"] ?? 10_000);
/** Told in the title below, so that a run can be had again. */
const seed = Number(process.env["KEYWHEEL_FUZZ_SEED"] ?? Date.now() % 2 ** 31);
const timeout = Math.max(120_000, runs * 5);

const answers = fc.record({
  method: fc.constantFrom("GET", "GET", "GET", "POST", "HEAD"),
  answer: fc.oneof({ weight: 19, arbitrary: framedAnswer }, malformedAnswer),
});

interface Course {
  readonly first: Reading;
  /** Of the call behind it, on the same connection if that was kept. */
  readonly second: Reading;
  readonly wasKept: boolean;
}

const mark = "the answer of the second call";
const wellAnswer: RawMessage = {
  pieces: [`HTTP/1.1 200 OK\r\nContent-Length: ${mark.length}\r\n\r\n`, mark],
  end: "wait",
};

async function play(client: Client, method: string, { pieces, end }: RawMessage): Promise<Course> {
  let isSettled = false;
  // A reset loses what was not read yet, as it happens; neither client is to blame for that.
  const asked = client.ask(method, { pieces, end: end === "wait" ? end : "fin" });
  void asked.then(() => (isSettled = true));
  for (let turns = 0; turns < pieces.length + 6; turns++) await turn();
  if (!isSettled) client.hangUp();
  const first = await asked;
  const before = client.connectionsMade;
  const second = await client.ask("GET", wellAnswer);
  return { first, second, wasKept: client.connectionsMade === before };
}

/** What is wrong with our client's reading, if undici's is taken for what the provider said. */
function problemOf(own: Course, reference: Course): string | undefined {
  const [ours, theirs] = [own.first, reference.first];
  if (own.second.end !== "whole" || own.second.body.toString() !== mark) return "the next call got another answer";
  if (ours.end === "whole" && theirs.end === "whole") return differenceOf(ours, theirs);
  if (ours.end === "whole" && !isUndicisOwn(theirs)) return "taken for whole, though it is not";
  if (ours.end !== "whole" && !ours.error.startsWith("Http1Error")) return `refused for another reason: ${ours.error}`;
  if (ours.end !== "whole" && own.wasKept) return "the connection of a refused answer was kept";
  if (ours.end !== "refused" && theirs.end !== "refused" && !agreeSoFar(ours.body, theirs.body)) return "another body";
  return undefined;
}

/**
 * What undici alone finds fault with: an interim answer of 100, which ours passes over; and a space behind a length, which it
 * reads as a digit (RFC 9110 §5.5: it is no part of the value).
 */
function isUndicisOwn({ error, headers }: Reading): boolean {
  const hasLength = headers.some((name, index) => index % 2 === 0 && /^content-length$/i.test(name));
  return /bad response/.test(error) || (hasLength && error.startsWith("ResponseContentLengthMismatchError"));
}

function differenceOf(ours: Reading, theirs: Reading): string | undefined {
  const parts = ["status", "headers", "trailers"] as const;
  const other = parts.find((part) => JSON.stringify(ours[part]) !== JSON.stringify(theirs[part]));
  if (other !== undefined) return `other ${other}`;
  return ours.body.equals(theirs.body) ? undefined : "another body";
}

function agreeSoFar(one: Buffer, other: Buffer): boolean {
  const length = Math.min(one.length, other.length);
  return one.subarray(0, length).equals(other.subarray(0, length));
}

describe(`of ${runs} answers (seed ${seed}), our HTTP client reads no other than undici`, () => {
  it("or refuses it and lets the connection go", { timeout }, async () => {
    const clients = { own: ownClient(), undici: undiciClient() };
    const seen = { alike: 0, stricter: 0, kept: 0 };
    const outcome = await fc.check(
      fc.asyncProperty(answers, async ({ method, answer }) => {
        const own = await play(clients.own, method, answer);
        const reference = await play(clients.undici, method, answer);
        if (own.first.end === "whole" && reference.first.end === "whole") seen.alike++;
        if (own.first.end !== "whole" && reference.first.end === "whole") seen.stricter++;
        if (own.wasKept) seen.kept++;
        const problem = problemOf(own, reference);
        if (problem !== undefined) throw new Error(`${problem}: ${describeBoth(own.first, reference.first)}`);
      }),
      { numRuns: runs, seed, endOnFailure: true },
    );
    clients.own.close();
    clients.undici.close();

    expect(outcome.failed ? `${String(outcome.errorInstance)} for ${JSON.stringify(outcome.counterexample)}` : "").toBe(
      "",
    );
    // Else nothing was compared.
    expect(seen.alike).toBeGreaterThan(runs / 10);
    expect(seen.kept).toBeGreaterThan(runs / 200);
    expect(seen.stricter).toBeLessThan(runs / 4);
  });
});

function describeBoth(ours: Reading, theirs: Reading): string {
  const show = (reading: Reading): string => JSON.stringify({ ...reading, body: reading.body.toString("latin1") });
  return `${show(ours).slice(0, 2_000)} and ${show(theirs).slice(0, 2_000)}`;
}
