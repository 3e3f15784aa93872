import type { AttemptRecord } from "./ports/events.ts";
import type { Choice, Question, Ticket } from "./ports/shared-state.ts";
import type { Pool } from "./pool.ts";
import type { DurationMs, EpochMs } from "./rules/time.ts";
import type { JudgedAnswer, Verdict } from "./rules/verdict.ts";

/** An answer of the provider whose head is here and whose body is not yet on its way to anybody. */
export interface UpstreamAnswer {
  readonly status: number;
  readonly receivedAt: EpochMs;
  /** A header's value by its lower-case name; repeated headers joined with ", ". */
  header(name: string): string | undefined;
  /** Whether the whole body has arrived. */
  readonly isComplete: boolean;
  /**
   * The beginning of the body, content encoding undone on a copy. Settles when the body has ended, `limitBytes` have come
   * or `waitMs` are over; the bytes stay for delivery.
   */
  readText(limitBytes: number, waitMs: DurationMs): Promise<Beginning>;
  /**
   * Watches the beginning of a successful body until it shows content or an error, or until a bounded time or size is
   * reached. The bytes stay for delivery.
   *
   * @returns no promise where what is here already decides
   */
  opening(): Opening | Promise<Opening>;
  /** Lets go of it without delivering: drained if little is left, else its connection is closed. May be called twice. */
  discard(): void;
}

export interface Beginning {
  readonly text: string;
  /** Whether it broke off, or the time was over, before there was all that was asked for. */
  readonly isCut: boolean;
}

/** What the beginning of a successful answer shows. */
export type Opening =
  /** Content, or nothing that forbids to deliver it. */
  | { readonly kind: "clear" }
  /** An error told inside the success. */
  | { readonly kind: "error"; readonly answer: JudgedAnswer }
  /** It ended or broke before there was anything to deliver. */
  | { readonly kind: "void"; readonly message: string };

/** What came of sending a request once. */
export type Delivery<A extends UpstreamAnswer> =
  | { readonly kind: "answer"; readonly answer: A }
  | {
      readonly kind: "broken";
      readonly fault: "unreachable" | "timeout";
      /** Whether the provider cannot have begun to work on it, so that sending it again is safe. */
      readonly repeatable: boolean;
      /** For people; without secrets. */
      readonly message: string;
    }
  /** The client left. */
  | { readonly kind: "gone" };

/** Methods that change nothing: sending them again does no harm. @see RFC 9110 §9.2.1 */
export const safeMethods: ReadonlySet<string> = new Set(["GET", "HEAD", "OPTIONS"]);

/** Sends one request with one key. The dispatcher calls it again with other keys, never twice at a time. */
export type Transport<A extends UpstreamAnswer> = (keyId: string) => Promise<Delivery<A>>;

export interface DispatchOptions<A extends UpstreamAnswer> {
  readonly requestId: string;
  readonly pool: Pool;
  readonly question: Question;
  readonly transport: Transport<A>;
  readonly judge: (answer: JudgedAnswer) => Verdict;
  /** Whether the body can be sent a second time. */
  readonly replayable: boolean;
  /** `settings.retry.provider_errors`: how often a fault of the provider may be tried again; 0 to give it back. */
  readonly providerRetries: number;
  /** Whether the client has left: then there is nothing to wait for. */
  readonly isClientGone: () => boolean;
  readonly pause: (ms: DurationMs) => Promise<void>;
  readonly now: () => EpochMs;
  readonly monotonic: () => number;
  readonly onAttempt: (attempt: AttemptRecord) => void;
  readonly onNotice: (verdict: Verdict) => void;
}

/** How the delivery of an answer to the client ended. */
export type Ending =
  /** To its last byte, with the end that its dialect demands. */
  | { readonly kind: "completed" }
  /** The provider's connection broke, or the body ended short of its dialect's end. */
  | { readonly kind: "truncated" }
  /** An error was told inside the body after content had gone out. */
  | { readonly kind: "failed"; readonly answer: JudgedAnswer }
  /** The client left. */
  | { readonly kind: "gone" };

/** What the client is to be given. */
export type DispatchOutcome<A extends UpstreamAnswer> =
  | {
      readonly kind: "answer";
      readonly answer: A;
      readonly keyId: string;
      readonly attempts: number;
      /**
       * Must be called once, when the delivery has ended; the key's success or failure counts from then.
       *
       * @returns what settles when it is durable, where anything has to be
       */
      finish(ending: Ending): Promise<void> | undefined;
    }
  /** No key was left; `last` is what the provider said to the last attempt, if there was one. */
  | {
      readonly kind: "refused";
      readonly choice: Exclude<Choice, { kind: "key" }>;
      readonly last: { readonly status: number; readonly message: string | undefined } | undefined;
      readonly attempts: number;
    }
  | {
      readonly kind: "broken";
      readonly fault: "unreachable" | "timeout";
      readonly message: string;
      readonly keyId: string;
      readonly attempts: number;
    }
  | { readonly kind: "gone"; readonly attempts: number };

/** How much of a refusal is read to judge it, and how long it may take to come. */
const refusalBytes = 65_536;
/** Between two looks at a key that another request is trying; the trial itself is bounded by the state. */
const trialPauseMs = 25;
const refusalWaitMs = 1_000;
/** What would disable a key is waited for longer: the words that say it is not the key's fault are in the body. */
const disablingWaitMs = 10_000;
const disabling = new Set([401, 403]);
/** Statuses that are the key's fault unless the body tells otherwise: nobody else may get the key meanwhile. */
const blaming = new Set([401, 402, 403, 429, 529]);

type ChosenKey = Extract<Choice, { kind: "key" }>;

interface Timing {
  readonly startedAt: EpochMs;
  readonly durationMs: DurationMs;
}

/** One attempt after it was judged. */
interface Judged<A extends UpstreamAnswer> {
  readonly delivery: Delivery<A>;
  readonly verdict: Verdict;
}

/** What a request has been through so far. */
interface Course<A extends UpstreamAnswer> {
  /** By id; twice, if asked again. No sets: most requests have one try, and need none. */
  readonly tried: string[];
  /** Of the tried ones, those that failed for the provider's fault: with nobody else left they may be asked again. */
  faulted: string[];
  attempts: number;
  /** Keys given up without blame ("does not fit"): one other at the most. */
  detours: number;
  providerRetries: number;
  last: { readonly status: number; readonly message: string | undefined } | undefined;
  /** What blames no key is kept, to be given back if no other key does better. */
  kept: Kept<A> | undefined;
}

interface Kept<A extends UpstreamAnswer> {
  readonly delivery: Exclude<Delivery<A>, { kind: "gone" }>;
  readonly chosen: ChosenKey;
  readonly verdict: Verdict;
}

/**
 * Serves one request with the keys of a pool: plan, attempt, judge, record, next.
 *
 * A key is tried once at the most; its failure is recorded durably before the next one is asked; nothing has gone to the
 * client when this settles, so that a retry is invisible.
 *
 * @see spec "Failover Flow Chart", contract §4 rules 4 to 9
 */
export async function dispatch<A extends UpstreamAnswer>(options: DispatchOptions<A>): Promise<DispatchOutcome<A>> {
  const course: Course<A> = {
    tried: [],
    faulted: [],
    attempts: 0,
    detours: 0,
    providerRetries: 0,
    last: undefined,
    kept: undefined,
  };
  for (;;) {
    const planned = plan(options, course);
    // Not awaited where nobody else was asked: that would cost every request a turn.
    const choice = planned instanceof Promise ? await planned : planned;
    if (choice.kind !== "key") return giveUp(options, course, choice);
    course.tried.push(choice.keyId);
    let timing = begin(options, course);
    let delivery = await options.transport(choice.keyId);
    if (delivery.kind === "broken" && delivery.repeatable && options.replayable) {
      tell(options, choice, { delivery, verdict: verdictWithoutAnswer(delivery) }, timing());
      timing = begin(options, course);
      delivery = await options.transport(choice.keyId);
    }
    const examined = examine(options, choice, delivery);
    const judged = examined instanceof Promise ? await examined : examined;
    const recorded = record(options, choice, judged, timing());
    if (recorded !== undefined) await recorded;
    const outcome = next(options, course, choice, judged);
    if (outcome !== undefined) return outcome;
  }
}

function plan<A extends UpstreamAnswer>(options: DispatchOptions<A>, course: Course<A>): Choice | Promise<Choice> {
  const choice = course.attempts === 0 ? options.pool.choose(options.question) : chooseNext(options, course);
  if (choice instanceof Promise) return choice.then((made) => waitForTrial(options, course, made));
  return isBeingTried(options, choice) ? waitForTrial(options, course, choice) : choice;
}

function isBeingTried<A extends UpstreamAnswer>(options: DispatchOptions<A>, choice: Choice): boolean {
  return choice.kind === "exhausted" && choice.isBeingTried && !options.isClientGone();
}

async function waitForTrial<A extends UpstreamAnswer>(
  options: DispatchOptions<A>,
  course: Course<A>,
  choice: Choice,
): Promise<Choice> {
  if (!isBeingTried(options, choice)) return choice;
  await options.pause(trialPauseMs);
  return plan(options, course);
}

async function chooseNext<A extends UpstreamAnswer>(options: DispatchOptions<A>, course: Course<A>): Promise<Choice> {
  const { pool, question } = options;
  // A detour is no fault of the bound key: the session stays where it is.
  const bind = course.detours === 0 && course.providerRetries === 0;
  const choice = await pool.choose({ ...question, tried: new Set(course.tried), bind });
  if (choice.kind === "key" || course.faulted.length === 0) return choice;
  const tried = new Set(course.tried.filter((keyId) => !course.faulted.includes(keyId)));
  course.faulted = [];
  return pool.choose({ ...question, tried, bind });
}

/** @returns tells how long it has taken by then */
function begin<A extends UpstreamAnswer>(options: DispatchOptions<A>, course: Course<A>): () => Timing {
  course.attempts++;
  const startedAt = options.now();
  const startedMono = options.monotonic();
  return () => ({ startedAt, durationMs: options.monotonic() - startedMono });
}

function examine<A extends UpstreamAnswer>(
  options: DispatchOptions<A>,
  chosen: ChosenKey,
  delivery: Delivery<A>,
): Judged<A> | Promise<Judged<A>> {
  if (delivery.kind !== "answer") return { delivery, verdict: verdictWithoutAnswer(delivery) };
  const { answer } = delivery;
  if (answer.status >= 400) return examineRefusal(options, chosen, answer);
  const opening = answer.opening();
  return opening instanceof Promise
    ? opening.then((shown) => examineOpening(options, answer, shown))
    : examineOpening(options, answer, opening);
}

function examineOpening<A extends UpstreamAnswer>(options: DispatchOptions<A>, answer: A, opening: Opening): Judged<A> {
  if (opening.kind === "void") return options.isClientGone() ? left(answer) : examineVoid(answer, opening.message);
  const verdict = options.judge(opening.kind === "error" ? opening.answer : factsOf(answer, ""));
  return { delivery: { kind: "answer", answer }, verdict };
}

async function examineRefusal<A extends UpstreamAnswer>(
  options: DispatchOptions<A>,
  chosen: ChosenKey,
  answer: A,
): Promise<Judged<A>> {
  const waitMs = disabling.has(answer.status) ? disablingWaitMs : refusalWaitMs;
  if (blaming.has(answer.status) && !answer.isComplete) options.pool.hold(chosen.ticket, waitMs + refusalWaitMs);
  const { text, isCut } = await answer.readText(refusalBytes, waitMs);
  // It broke off because the client has left: no key is blamed for what was not said (contract §4 rule 9).
  if (isCut && options.isClientGone()) return left(answer);
  return { delivery: { kind: "answer", answer }, verdict: options.judge({ ...factsOf(answer, text), isCut }) };
}

function left<A extends UpstreamAnswer>(answer: A): Judged<A> {
  answer.discard();
  const delivery = { kind: "gone" } as const;
  return { delivery, verdict: verdictWithoutAnswer(delivery) };
}

/** An answer that came to nothing is no answer: the provider's fault, and it may have been worked on. */
function examineVoid<A extends UpstreamAnswer>(answer: A, message: string): Judged<A> {
  answer.discard();
  const delivery = { kind: "broken", fault: "unreachable", repeatable: false, message } as const;
  return { delivery, verdict: verdictWithoutAnswer(delivery) };
}

function factsOf(answer: UpstreamAnswer, bodyText: string): JudgedAnswer {
  return { status: answer.status, header: (name) => answer.header(name), bodyText, receivedAt: answer.receivedAt };
}

function verdictWithoutAnswer(delivery: Exclude<Delivery<UpstreamAnswer>, { kind: "answer" }>): Verdict {
  const none = { key: { kind: "none" }, httpStatus: 0 } as const;
  if (delivery.kind === "gone") return { ...none, request: "give-back", code: "client_gone", message: undefined };
  return { ...none, request: "provider-retry", code: delivery.fault, message: delivery.message };
}

function tell<A extends UpstreamAnswer>(
  options: DispatchOptions<A>,
  chosen: ChosenKey,
  { delivery, verdict }: Judged<A>,
  timing: Timing,
): void {
  const { keyId, why, passedOver } = chosen;
  const left = chosen.left === undefined ? {} : { left: chosen.left };
  const status = delivery.kind === "answer" ? verdict.httpStatus : undefined;
  const message = verdict.message === undefined ? {} : { message: options.pool.redact(verdict.message) };
  options.onAttempt({ keyId, why, passedOver, ...left, ...timing, status, outcome: verdict.code, ...message });
}

/** @returns what settles when it is durable, where anything has to be */
function record<A extends UpstreamAnswer>(
  options: DispatchOptions<A>,
  chosen: ChosenKey,
  judged: Judged<A>,
  timing: Timing,
): Promise<void> | undefined {
  const { verdict } = judged;
  tell(options, chosen, judged, timing);
  if (verdict.notice !== undefined) options.onNotice(verdict);
  if (verdict.key.kind !== "succeeded") return options.pool.settle(chosen.ticket, verdict);
  // A success is one only when the body has reached the client whole: `finish` records it.
  options.pool.release(chosen.ticket);
  return undefined;
}

/** The outcome, or undefined to go on with another key. */
function next<A extends UpstreamAnswer>(
  options: DispatchOptions<A>,
  course: Course<A>,
  chosen: ChosenKey,
  { delivery, verdict }: Judged<A>,
): DispatchOutcome<A> | undefined {
  if (delivery.kind === "gone") {
    dropKept(course);
    return { kind: "gone", attempts: course.attempts };
  }
  if (!goesOn(options, course, verdict)) {
    dropKept(course);
    return giveBack(options, course, { delivery, chosen, verdict });
  }
  if (delivery.kind === "answer") course.last = { status: verdict.httpStatus, message: verdict.message };
  if (verdict.request === "provider-retry") course.faulted.push(chosen.keyId);
  if (verdict.request !== "next-key") {
    dropKept(course);
    course.kept = { delivery, chosen, verdict };
  } else if (delivery.kind === "answer") delivery.answer.discard();
  return undefined;
}

function goesOn<A extends UpstreamAnswer>(options: DispatchOptions<A>, course: Course<A>, verdict: Verdict): boolean {
  if (!options.replayable) return false;
  switch (verdict.request) {
    case "give-back":
      return false;
    case "next-key":
      return true;
    case "one-other-key":
      return course.detours++ === 0;
    case "provider-retry":
      return course.providerRetries++ < options.providerRetries;
  }
}

function dropKept<A extends UpstreamAnswer>(course: Course<A>): void {
  if (course.kept?.delivery.kind === "answer") course.kept.delivery.answer.discard();
  course.kept = undefined;
}

function giveUp<A extends UpstreamAnswer>(
  options: DispatchOptions<A>,
  course: Course<A>,
  choice: Exclude<Choice, { kind: "key" }>,
): DispatchOutcome<A> {
  if (course.kept !== undefined) return giveBack(options, course, course.kept);
  return { kind: "refused", choice, last: course.last, attempts: course.attempts };
}

function giveBack<A extends UpstreamAnswer>(
  options: DispatchOptions<A>,
  { attempts }: Course<A>,
  { delivery, chosen, verdict }: Kept<A>,
): DispatchOutcome<A> {
  const { keyId, ticket } = chosen;
  if (delivery.kind === "broken")
    return { kind: "broken", fault: delivery.fault, message: delivery.message, keyId, attempts };
  const { answer } = delivery;
  const finish = (ending: Ending): Promise<void> | undefined => {
    if (ending.kind === "failed") return settleLate(options.pool, ticket, options.judge(ending.answer));
    const isSuccess = ending.kind === "completed" && verdict.key.kind === "succeeded";
    return isSuccess ? options.pool.settle(ticket, verdict) : undefined;
  };
  return { kind: "answer", answer, keyId, attempts, finish };
}

/** An error that came after content: it is the key's if it says so, but nothing is tried again. */
function settleLate(pool: Pool, ticket: Ticket, verdict: Verdict): Promise<void> | undefined {
  return verdict.key.kind === "succeeded" ? undefined : pool.settle(ticket, verdict);
}
