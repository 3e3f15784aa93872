import type { LoggedRequest } from "../activity/request-log.ts";

type RequestRecord = LoggedRequest["record"];
type Attempt = RequestRecord["attempts"][number];

/** Why a request went the way it did, in a few plain words. The name of a key is its label, or its id. */
export function decisionOf(record: RequestRecord, nameOf: (keyId: string) => string): string {
  const { attempts, keyId, standing, error } = record;
  if (keyId === "provider") return "The pool has no key: the provider's own key served.";
  const steps = attempts.map((attempt) => stepOf(attempt, nameOf));
  if (standing !== undefined) steps.push(refusalOf(standing));
  else if (attempts.length === 0) steps.push(error === undefined ? "It reached no key." : `It was refused: ${error}.`);
  return steps.join(" ");
}

function stepOf(attempt: Attempt, nameOf: (keyId: string) => string): string {
  const { passedOver } = attempt;
  const passed = passedOver.map(({ keyId, because }) => `${nameOf(keyId)} (${because})`);
  const over = passed.length === 0 ? "" : `, past ${passed.join(", ")}`;
  const { left } = attempt;
  // Passed over already says so of a key that rests at that moment, and a step before it of one that was tried.
  const isTold = left === undefined || left.because === "tried" || passedOver.some(({ keyId }) => keyId === left.keyId);
  const from = isTold ? "" : `, in place of ${nameOf(left.keyId)} (${left.because})`;
  return `${nameOf(attempt.keyId)} ${reasons[attempt.why]}${over}${from}: ${attempt.outcome}.`;
}

const reasons: Readonly<Record<Attempt["why"], string>> = {
  session: "is the key of its session",
  continuation: "served what it continues",
  pin: "holds what it names",
  turn: "had its turn",
};

function refusalOf({ total, resting, disabled, unresolved, tried }: NonNullable<RequestRecord["standing"]>): string {
  const parts = [
    [resting, "cooling down"],
    [disabled, "disabled"],
    [unresolved, "unresolved"],
    [tried, "tried"],
  ] as const;
  const counts = parts.filter(([count]) => count > 0).map(([count, what]) => `${count} ${what}`);
  return `No key was left: of ${total}, ${counts.join(", ") || "none could serve"}.`;
}
