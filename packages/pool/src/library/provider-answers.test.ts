import { reply, type Reply, type ScriptedKind } from "@keywheel/testkit";
import { describe, expect, it } from "vitest";
import { type ProviderAnswer, providerAnswers } from "../../../testkit/src/provider-answers.ts";
import { type KeyStatus, type Provider, providers } from "../index.ts";
import { aPool, type PoolBench } from "./pool-bench.test-bench.ts";

// The same recordings that the gateway is held to: what means what is not to depend on the way a request takes.

const healthyBody = { served: "by the other key" };
const presets: Readonly<Record<string, unknown>> = providers;

function kindOf({ provider }: ProviderAnswer): ScriptedKind {
  const { kind } = (presets[provider] as Provider | undefined) ?? providers.vllm;
  return provider === "chatgpt" ? "openai" : kind;
}

function providerOf(answer: ProviderAnswer): Provider {
  if (answer.provider === "chatgpt") return providers.openai;
  const generic = providers.openaiCompatible({ name: "Any", baseURL: "http://any.example" });
  return (presets[answer.provider] as Provider | undefined) ?? generic;
}

function bytesOf({ sse, body }: ProviderAnswer): string {
  if (sse !== undefined) return sse.join("");
  return typeof body === "string" ? body : JSON.stringify(body);
}

function replyOf(answer: ProviderAnswer): Reply {
  const { status, headers, sse } = answer;
  return sse === undefined ? reply.status(status, headers, bytesOf(answer)) : reply.sse(sse, { status, headers });
}

/** Key A answers as given, the others are well. */
async function play(answer: ProviderAnswer): Promise<PoolBench> {
  const bench = await aPool({ kind: kindOf(answer), provider: providerOf(answer) });
  bench.provider.forKey(bench.keys[0]!).always(replyOf(answer));
  bench.provider.on().always(reply.json(200, {}, healthyBody));
  return bench;
}

/** The first key's status after the answer. A model that a key lacks rests alone. */
function expectedStatus({ status, expect: { action, scope } }: ProviderAnswer): KeyStatus {
  if (action === "disable") return "disabled";
  const lacksModel = scope === "key+model" && status !== 429 && status !== 200;
  return action === "cooldown" && !lacksModel ? "cooling_down" : "available";
}

// Without an answer there is only what `fetch` throws.
const answered = providerAnswers.filter(({ status }) => status !== 0);

describe("the recorded answers of providers", () => {
  it.each(answered.map((answer) => [answer.id, answer.description, answer] as const))(
    "%s: %s",
    async (_, __, answer) => {
      await using bench = await play(answer);
      const path = answer.provider === "gemini" ? "/models/model-1:generateContent" : "/chat/completions";

      const response = await bench.send({ path, body: '{"model":"model-1","messages":[]}' });
      const text = await response.text();

      const { retryable } = answer.expect;
      expect(bench.provider.picks()).toBe(retryable ? "AB" : "A");
      expect(bench.provider.faults).toEqual([]);
      expect([response.status, text]).toEqual(
        retryable ? [200, JSON.stringify(healthyBody)] : [answer.status, bytesOf(answer)],
      );
      expect((await bench.pool.keys())[0]?.status).toBe(expectedStatus(answer));
    },
  );
});
