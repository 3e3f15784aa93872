import { jsonValue, type ProviderKind, type Secret } from "@keywheel/pool";
import type { ProviderRuntime } from "../catalog/catalog.ts";
import type { StreamedAnswer } from "./streamed-answer.ts";
import { askBeside } from "./side-call.ts";
import type { Upstream } from "./upstream.ts";

/** The models that a provider names, or why it names none. */
export type ModelList =
  | { readonly ok: true; readonly models: readonly string[] }
  /** `httpStatus` null: there was no answer. `message` may hold secrets. */
  | { readonly ok: false; readonly httpStatus: number | null; readonly message: string };

const longestList = 8 * 1024 * 1024;

const calls: Readonly<Record<ProviderKind, string>> = {
  openai: "/models",
  "openai-compatible": "/models",
  anthropic: "/models?limit=1000",
  gemini: "/models?pageSize=1000",
  // What is called are deployments, which only this version still lists; `/models` are those that could be deployed.
  "azure-openai": "/deployments?api-version=2022-12-01",
};

/**
 * Asks a provider which models it has. Whatever comes back, no key is judged by it and the wheel does not turn: somebody only
 * looks.
 *
 * @param secret with whose key
 * @see field case 101
 */
export async function listModels(
  runtime: ProviderRuntime,
  secret: Secret,
  upstream: Upstream,
  signal?: AbortSignal,
): Promise<ModelList> {
  const call = calls[runtime.record.kind];
  // As it is: the list is read whole, and decoding is for beginnings.
  const headers = ["accept-encoding", "identity"];
  const sent = await askBeside(runtime, upstream, { call, secret, headers, signal });
  if (sent.kind === "gone") return { ok: false, httpStatus: null, message: "Nobody waits for the answer any more." };
  if (sent.kind === "broken") return { ok: false, httpStatus: null, message: sent.message };
  const { answer } = sent;
  if (answer.status !== 200) {
    answer.discard();
    return { ok: false, httpStatus: answer.status, message: `The provider answered ${answer.status}.` };
  }
  const models = modelsIn(await bodyOf(answer));
  if (models !== undefined) return { ok: true, models };
  return { ok: false, httpStatus: answer.status, message: "The provider's answer is no list of models." };
}

/** "" for one that breaks off, or is longer than any list of models. */
function bodyOf(answer: StreamedAnswer): Promise<string> {
  return new Promise((resolve) => {
    const chunks: Buffer[] = [];
    let bytes = 0;
    answer.deliver({
      data: (chunk) => {
        bytes += chunk.length;
        if (bytes > longestList) answer.abort();
        else chunks.push(chunk);
        return true;
      },
      end: () => resolve(Buffer.concat(chunks).toString("utf8")),
      fail: () => resolve(""),
    });
  });
}

/** In the order in which they are named: `data` of OpenAI's kin and Anthropic, `models` of Gemini, a bare array of Together. */
function modelsIn(text: string): readonly string[] | undefined {
  const answer = jsonValue(text);
  const list = [answer, field(answer, "data"), field(answer, "models")].find(Array.isArray) as unknown[] | undefined;
  const names = list?.filter(mayGenerate).flatMap((entry) => nameOf(entry) ?? []);
  return names && [...new Set(names)];
}

function nameOf(entry: unknown): string | undefined {
  const name = field(entry, "id") ?? field(entry, "name");
  return typeof name === "string" && name.trim() !== "" ? name.trim().replace(/^models\//, "") : undefined;
}

/** Gemini says what a model can do. */
function mayGenerate(entry: unknown): boolean {
  const methods = field(entry, "supportedGenerationMethods");
  return !Array.isArray(methods) || methods.includes("generateContent");
}

function field(value: unknown, name: string): unknown {
  return typeof value === "object" && value !== null ? Reflect.get(value, name) : undefined;
}
