import { readFileSync } from "node:fs";
import { describe, expect, it } from "vitest";
import { defaultCooldownPolicy, type Health, type KeySnapshot } from "@keywheel/pool";
import { reply, type Reply, type ScriptedKind } from "@keywheel/testkit";
import { type Bench, benchKeys, chat, openDataPlane } from "./data-plane.test-bench.ts";

/** An answer of a provider with what it means; see the reference "LLM providers". */
interface ProviderAnswer {
  readonly id: string;
  readonly provider: string;
  readonly api: string;
  readonly description: string;
  /** 0: there was no answer. */
  readonly status: number;
  readonly headers: Readonly<Record<string, string>>;
  readonly body?: unknown;
  readonly sse?: readonly string[];
  readonly expect: {
    readonly scope: "key" | "key+model" | "provider" | "request" | "none";
    readonly action: "cooldown" | "disable" | "failover" | "pass-through" | "success";
    readonly retryable: boolean;
    readonly cooldown_hint_ms: number | null;
    readonly at_cap?: boolean;
    readonly max_other_keys?: number;
  };
}

const answers = JSON.parse(
  readFileSync(new URL("../../../testkit/src/fixtures/provider-answers.json", import.meta.url), "utf8"),
) as readonly ProviderAnswer[];
const { baseMs, capMs } = defaultCooldownPolicy;
const healthyBody = { served: "by the other key" };

function kindOf({ provider }: ProviderAnswer): ScriptedKind {
  if (provider === "anthropic" || provider === "gemini" || provider === "openai") return provider;
  return provider === "azure" ? "azure-openai" : "openai-compatible";
}

function presetOf({ provider }: ProviderAnswer): string | null {
  const dialect = provider === "chatgpt" ? "openai" : provider;
  return dialect === "any" ? null : dialect;
}

function pathOf({ provider }: ProviderAnswer): string {
  return provider === "gemini" ? "/models/model-1:generateContent" : "/chat/completions";
}

function bytesOf({ sse, body }: ProviderAnswer): string {
  if (sse !== undefined) return sse.join("");
  return typeof body === "string" ? body : JSON.stringify(body);
}

function replyOf(answer: ProviderAnswer): Reply {
  const { status, headers, sse } = answer;
  if (status === 0) return reply.hang();
  return sse === undefined ? reply.status(status, headers, bytesOf(answer)) : reply.sse(sse, { status, headers });
}

/** Key A answers as given, the others are well unless told otherwise. */
async function play(answer: ProviderAnswer, scope: "key" | "model" = "key", others?: Reply): Promise<Bench> {
  const preset = presetOf(answer);
  const bench = await openDataPlane({
    kind: kindOf(answer),
    ...(preset === null ? {} : { preset }),
    policy: { cooldownScope: scope },
    settings: { timeouts: { connectMs: 5_000, headersMs: 300, idleMs: 5_000 } },
  });
  bench.provider.on({ key: benchKeys[0] ?? "" }).always(replyOf(answer));
  bench.provider.on().always(others ?? reply.json(200, {}, healthyBody));
  return bench;
}

function send(bench: Bench, answer: ProviderAnswer): Promise<Response> {
  return fetch(bench.url + pathOf(answer), { ...chat, body: '{"model":"model-1","messages":[]}' });
}

describe.each(answers.filter((answer) => answer.id !== "transport-connection-refused"))(
  "$id: $description",
  (answer) => {
    it("reaches the client as it is, or fails over unseen", async () => {
      const bench = await play(answer);

      const response = await send(bench, answer);

      const { retryable } = answer.expect;
      expect(bench.provider.picks()).toBe(retryable ? "AB" : "A");
      expect(bench.provider.faults).toEqual([]);
      expect(response.status).toBe(retryable ? 200 : answer.status || 504);
      const text = await response.text();
      const expected = retryable ? JSON.stringify(healthyBody) : bytesOf(answer);
      expect(answer.status === 0 ? expected : text).toBe(expected);
    });

    it("does to the key what it says about it", async () => {
      const bench = await play(answer);

      await (await send(bench, answer)).text();

      const [key] = await bench.pool.snapshot();
      expect(effectOn(key)).toEqual(expectedEffect(answer));
    });
  },
);

describe.each(answers.filter(({ expect }) => expect.scope === "key+model" && expect.action === "cooldown"))(
  "$id, where the pool cools by model",
  (answer) => {
    it("rests the key for this model alone", async () => {
      const bench = await play(answer, "model");

      await (await send(bench, answer)).text();

      const [key] = await bench.pool.snapshot();
      expect(key).toMatchObject({ health: { failures: 0, coolUntil: 0 }, models: [{ model: "model-1" }] });
    });
  },
);

describe.each(answers.filter(({ expect }) => expect.max_other_keys === 1))("$id", (answer) => {
  it("asks one other key and no more when that answers the same", async () => {
    const bench = await play(answer, "key", replyOf(answer));

    const response = await send(bench, answer);

    expect(bench.provider.picks()).toBe("AB");
    expect(response.status).toBe(answer.status);
  });
});

/** What was done to a key, in words and whole seconds. */
function effectOn(key: KeySnapshot | undefined): string {
  const [model] = key?.models ?? [];
  if (model !== undefined) return `${model.model} rests ${seconds(model.health)}: ${model.reason?.code}`;
  if (key?.reason === undefined) return "nothing";
  return key.health.coolUntil === 0
    ? `disabled: ${key.reason.code}`
    : `rests ${seconds(key.health)}: ${key.reason.code}`;
}

function expectedEffect(answer: ProviderAnswer): string {
  const { action, at_cap: atCap, cooldown_hint_ms: hintMs } = answer.expect;
  if (action === "disable") return "disabled: authentication_failed";
  if (action !== "cooldown") return "nothing";
  if (lacksModel(answer)) return "model-1 rests 3600 s: model_unavailable";
  if (atCap === true) return `rests ${capMs / 1000} s: quota_exhausted`;
  const restMs = Math.max(baseMs, Math.min(hintMs ?? 0, capMs));
  return `rests ${Math.round(restMs / 1000)} s: ${isOverload(answer) ? "overloaded" : "rate_limited"}`;
}

function seconds({ cooledAt, coolUntil }: Health): string {
  return `${Math.round((coolUntil - cooledAt) / 1000)} s`;
}

/** A key that cannot serve the model or endpoint, told apart from a limit of the model. */
function lacksModel({ status, expect: { scope } }: ProviderAnswer): boolean {
  return scope === "key+model" && status !== 429 && status !== 200;
}

function isOverload({ id, status }: ProviderAnswer): boolean {
  return status === 529 || id === "anthropic-stream-overloaded-first";
}
