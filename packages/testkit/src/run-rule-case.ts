import type { KeyEntry, Question, PoolState, Ticket } from "@keywheel/pool";
import { aPolicy, aSession, keysOf } from "./builders.ts";
import type { FakeClock } from "./fake-clock.ts";
import type { CaseStep, RuleCase } from "./shared-state-cases.ts";

const reason = { code: "rate_limited", httpStatus: 429, message: null } as const;
const refusal = { code: "authentication_failed", httpStatus: 401, message: null } as const;

interface Course {
  readonly state: PoolState;
  readonly clock: FakeClock;
  readonly policy: ReturnType<typeof aPolicy>;
  readonly groups: string;
  readonly tickets: Map<string, Ticket>;
}

/** Takes a state through the lines of a case. @returns the lines as they turned out */
export async function runRuleCase(
  { weights, groups = "", idleTtlMs = 86_400_000, steps }: RuleCase,
  { state, clock }: { readonly state: PoolState; readonly clock: FakeClock },
): Promise<CaseStep[]> {
  const policy = aPolicy({ cooldownScope: "model", affinity: { enabled: true, idleTtlMs } });
  await state.configure("p", entriesOf(weights, groups), policy);
  const course = { state, clock, policy, groups, tickets: new Map<string, Ticket>() };
  const seen: CaseStep[] = [];
  for (const step of steps) seen.push({ ...step, ...(await runStep(course, step)) });
  return seen;
}

/** @returns what was seen, by the names of the line */
async function runStep(course: Course, step: CaseStep): Promise<object | void> {
  const { state, clock, policy } = course;
  if ("take" in step) return take(course, step);
  if ("fail" in step) return fail(course, step);
  if ("wait" in step) return clock.advance(step.wait);
  if ("hold" in step) return state.hold(ticketOf(course, step.hold), step.ms);
  if ("release" in step) return state.release(ticketOf(course, step.release));
  if ("pin" in step) return state.pin("p", step.pin, step.objects.map(print));
  if ("weights" in step) return state.configure("p", entriesOf(step.weights, course.groups), policy);
  if ("reset" in step) return void (await state.reset("p", step.reset));
  if ("end" in step) return void (await state.endSession("p", print(step.end)));
  if ("disable" in step) {
    const { applied } = await state.disable(ticketOf(course, step.disable), refusal);
    return { applied };
  }
  if ("succeed" in step) {
    const { health } = await state.succeed(ticketOf(course, step.succeed));
    return { failures: health.failures };
  }
  const choice = await state.choose("p", { pinnedTo: step.key, ...modelOf(step.model) });
  if (choice.kind !== "key") return { key: "-" };
  course.tickets.set(step.ticket, choice.ticket);
  return { key: choice.keyId };
}

async function take(
  { state }: Course,
  { take: expected, session, tried, bind, objects, lookups, binds, model }: Extract<CaseStep, { take: string }>,
): Promise<object> {
  const question: Question = {
    ...modelOf(model),
    ...(session === undefined ? {} : { session: aSession(session) }),
    ...(tried === undefined ? {} : { tried: new Set(tried) }),
    ...(bind === undefined ? {} : { bind }),
    ...(objects === undefined ? {} : { objects: objects.map(print) }),
    ...(lookups === undefined && binds === undefined
      ? {}
      : { conversation: { lookups: (lookups ?? []).map(print), binds: (binds ?? []).map(print) } }),
  };
  let picks = "";
  for (let turn = 0; turn < expected.length; turn++) {
    const choice = await state.choose("p", question);
    picks += choice.kind === "key" ? choice.keyId : "-";
  }
  return { take: picks };
}

async function fail(course: Course, step: Extract<CaseStep, { fail: string }>): Promise<object> {
  const { failure = { rest: "ladder" }, of = "key", because = reason.code } = step;
  const why = { ...reason, code: because };
  const { health } = await course.state.fail(ticketOf(course, step.fail), failure, why, of);
  return { failures: health.failures, restsMs: health.coolUntil - course.clock.now() };
}

function ticketOf({ tickets }: Course, name: string): Ticket {
  const ticket = tickets.get(name);
  if (ticket === undefined) throw new Error(`no ticket ${name}`);
  return ticket;
}

function entriesOf(weights: readonly number[], groups: string): KeyEntry[] {
  return keysOf(...weights.map((weight) => Math.abs(weight))).map((entry, index) => ({
    ...entry,
    enabled: (weights[index] ?? 0) >= 0,
    ...((groups[index] ?? "-") === "-" ? {} : { group: groups[index] ?? "" }),
  }));
}

function modelOf(model: string | undefined): { model?: string } {
  return model === undefined ? {} : { model };
}

function print(name: string): ReturnType<typeof aSession>["fingerprint"] {
  return aSession(name).fingerprint;
}
