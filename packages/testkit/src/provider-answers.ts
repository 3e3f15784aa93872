import { readFileSync } from "node:fs";
import type { JudgedAnswer, Verdict } from "@keywheel/pool";

/** What should come of a recorded answer, in the words of the recordings. */
export interface ExpectedVerdict {
  readonly scope: "none" | "key" | "key+model" | "provider" | "request";
  readonly action: "success" | "cooldown" | "disable" | "failover" | "pass-through";
  /** Whether another key may be tried, given that no byte went to the client. */
  readonly retryable: boolean;
  /** The stated wait, before cap and ladder. */
  readonly cooldown_hint_ms: number | null;
  /** The key rests for the whole cap at once. */
  readonly at_cap?: boolean;
  readonly max_other_keys?: number;
}

/** An answer of a provider as it came over the wire. */
export interface ProviderAnswer {
  readonly id: string;
  /** A preset, or "any". */
  readonly provider: string;
  readonly api: string;
  readonly description: string;
  /** 0 stands for "no answer at all". */
  readonly status: number;
  readonly headers: Readonly<Record<string, string>>;
  readonly body?: unknown;
  /** One event an element; real chunks are split anywhere. */
  readonly sse?: readonly string[];
  readonly expect: ExpectedVerdict & { readonly reason: string };
}

const file = new URL("./fixtures/provider-answers.json", import.meta.url);

/** The recorded answers. Bodies are rebuilt from documentation and reports; ids and keys in them are invented. */
export const providerAnswers: readonly ProviderAnswer[] = JSON.parse(readFileSync(file, "utf8")) as ProviderAnswer[];

/** An answer to be judged: header names in any case, the body as text or as what becomes JSON. */
export function anAnswer(answer: {
  readonly status: number;
  readonly headers?: Readonly<Record<string, string>>;
  readonly body?: unknown;
  readonly receivedAt?: number;
}): JudgedAnswer {
  const headers = new Map(Object.entries(answer.headers ?? {}).map(([name, value]) => [name.toLowerCase(), value]));
  const { body = "" } = answer;
  return {
    status: answer.status,
    header: (name) => headers.get(name),
    bodyText: typeof body === "string" ? body : JSON.stringify(body),
    receivedAt: answer.receivedAt ?? Date.UTC(2026, 5, 8, 20, 0, 0),
  };
}

/** What a verdict amounts to in the words of the recordings. */
export function toExpectedVerdict(verdict: Verdict, { isMidway = false } = {}): ExpectedVerdict {
  const retryable = !isMidway && (verdict.request === "next-key" || verdict.request === "one-other-key");
  const { key } = verdict;
  switch (key.kind) {
    case "succeeded":
      return { scope: "none", action: "success", retryable, cooldown_hint_ms: null };
    case "disable":
      return { scope: "key", action: "disable", retryable, cooldown_hint_ms: null };
    case "rest-model":
      return { scope: "key+model", action: "cooldown", retryable, cooldown_hint_ms: null };
    case "cool":
      return {
        scope: key.scope === "model" ? "key+model" : "key",
        action: "cooldown",
        retryable,
        cooldown_hint_ms: key.failure.hintMs ?? null,
        ...(key.failure.rest === "at-cap" ? { at_cap: true } : {}),
      };
    case "none":
      return { ...blameless(verdict), retryable, cooldown_hint_ms: verdict.statedWaitMs ?? null };
  }
}

function blameless(verdict: Verdict): Pick<ExpectedVerdict, "scope" | "action" | "max_other_keys"> {
  if (verdict.request === "one-other-key") return { scope: "request", action: "failover", max_other_keys: 1 };
  if (verdict.request === "provider-retry") return { scope: "provider", action: "failover" };
  return { scope: verdict.notice === undefined ? "request" : "provider", action: "pass-through" };
}
