import { DatabaseSync } from "node:sqlite";
import {
  type KeyParts,
  type KeyView,
  letterOf,
  type ProviderView,
  type RunningGateway,
  type ScriptedKind,
  type ScriptedProvider,
  type ScriptedProviderOptions,
  startScriptedProvider,
} from "@keywheel/testkit";

/** A scripted provider behind a gateway, and the pool that serves it. */
export interface PooledProvider extends AsyncDisposable {
  readonly provider: ScriptedProvider;
  readonly record: ProviderView;
  /** As they were when they were added. */
  readonly keys: readonly KeyView[];
  /** The values of the keys, in the same order. */
  readonly values: readonly string[];
  /** What a client puts before its paths: `http://127.0.0.1:<port>/<slug>`. */
  readonly baseUrl: string;
  /** The plainest call that this kind of provider knows, as a client sends it. The body is not read yet. */
  send(init?: CallInit): Promise<Response>;
  /** `count` plain calls, one after the other, and the keys that served them as letters. */
  turns(count: number, init?: CallInit): Promise<string>;
  /** The key as it stands now, by its letter. */
  key(letter: string): Promise<KeyView>;
  valueOf(letter: string): string;
  /** Waits until the key has this status. */
  becomes(letter: string, status: KeyView["status"], timeoutMs?: number): Promise<KeyView>;
}

export interface CallInit {
  readonly headers?: Readonly<Record<string, string>>;
  /** Replaces the session header for short. */
  readonly session?: string;
  readonly path?: string;
  readonly body?: object | string | Uint8Array<ArrayBuffer>;
  readonly signal?: AbortSignal;
  readonly stream?: boolean;
  /** Another gateway that serves the same provider; default: the one that made it. */
  readonly through?: RunningGateway;
}

export interface PoolOptions {
  readonly kind?: ScriptedKind;
  /** One key each; default 1, 1. Or `keys` in full. */
  readonly weights?: readonly number[];
  readonly keys?: readonly Exclude<KeyParts, string>[];
  readonly settings?: object;
  /** The provider-level key; the scripted provider knows it as well, as the last letter. */
  readonly apiKey?: string;
  readonly preset?: string;
  readonly provider?: Partial<ScriptedProviderOptions>;
  /** A leak of the client's credentials fails the test unless this is set. */
  readonly faultsAreExpected?: boolean;
}

let made = 0;

/** A scripted provider with a pool of keys in front of it. Slug and key values are its own, so tests share a gateway. */
export async function poolOf(gateway: RunningGateway, options: PoolOptions = {}): Promise<PooledProvider> {
  const { kind = "openai", weights = [1, 1], apiKey } = options;
  const number = ++made;
  const keyParts =
    options.keys ?? weights.map((weight, at) => ({ api_key: fakeKey(number, at), weight, label: letterOf(at) }));
  const values = keyParts.map((key) => key.api_key);
  const provider = await startScriptedProvider({
    kind,
    keys: apiKey === undefined ? values : [...values, apiKey],
    ...options.provider,
  });
  const record = await gateway.addProvider({
    kind,
    slug: `${kind}-${number}`,
    baseUrl: provider.baseUrl,
    ...(apiKey === undefined ? {} : { apiKey }),
    ...(options.settings === undefined ? {} : { settings: options.settings }),
    ...(options.preset === undefined ? {} : { preset: options.preset }),
  });
  const keys = await gateway.addKeys(record, keyParts);
  const idOf = (letter: string): string => keys[letter.charCodeAt(0) - 65]?.id ?? "";

  const send = (init: CallInit = {}): Promise<Response> => {
    const { path, body } = plainCalls[kind](init.stream === true);
    return fetch((init.through ?? gateway).baseUrlOf(record) + (init.path ?? path), {
      method: "POST",
      headers: {
        "content-type": "application/json",
        ...plainHeaders[kind],
        ...(init.session === undefined ? {} : { "x-keywheel-session": init.session }),
        ...init.headers,
      },
      body: encoded(init.body ?? body),
      ...(init.signal === undefined ? {} : { signal: init.signal }),
    });
  };

  return {
    provider,
    record,
    keys,
    values,
    get baseUrl() {
      return gateway.baseUrlOf(record);
    },
    send,
    async turns(count, init) {
      const before = provider.requests.length;
      for (let i = 0; i < count; i++) await (await send(init)).arrayBuffer();
      return provider.picks((request) => provider.requests.indexOf(request) >= before);
    },
    key: (letter) => gateway.key(idOf(letter)),
    valueOf: (letter) => values[letter.charCodeAt(0) - 65] ?? "",
    async becomes(letter, status, timeoutMs = 5_000) {
      return eventually(
        () => gateway.key(idOf(letter)),
        (key) => key.status === status,
        { what: `key ${letter} to be ${status}`, timeoutMs },
      );
    },
    async [Symbol.asyncDispose]() {
      await provider.close();
      if (provider.faults.length > 0 && options.faultsAreExpected !== true) {
        throw new Error(`The provider saw what it must not see: ${[...new Set(provider.faults)].join("; ")}`);
      }
    },
  };
}

/** Keys that look like keys, belong to nobody and say so. */
export function fakeKey(provider: number, position: number): string {
  return `sk-test-${provider}-${letterOf(position)}-${"0123456789abcdef".repeat(2)}`;
}

/** The turns in alphabetical order, where a test is about shares and not about whose turn comes first. */
export function sharesOf(turns: string): string {
  return Array.from(turns).sort().join("");
}

/** Asks again until the answer fits. For conditions that only a call can tell. */
export async function eventually<T>(
  ask: () => T | Promise<T>,
  fits: (answer: T) => boolean,
  { what, timeoutMs = 5_000 }: { readonly what: string; readonly timeoutMs?: number },
): Promise<T> {
  const deadline = performance.now() + timeoutMs;
  for (;;) {
    const answer = await ask();
    if (fits(answer)) return answer;
    if (performance.now() > deadline) {
      throw new Error(`Waited ${timeoutMs} ms in vain for ${what}; last: ${JSON.stringify(answer)}`);
    }
    await new Promise((resolve) => setTimeout(resolve, 10));
  }
}

/** What the database holds about a key, read past the program that owns it. */
export function storedKey(
  gateway: RunningGateway,
  id: string,
): { readonly enabled: 0 | 1; readonly disabled_http_status: number | null } {
  const row = readRow(gateway, "select enabled, disabled_http_status from keys where id = ?", id);
  return row as { enabled: 0 | 1; disabled_http_status: number | null };
}

/** How long the last cooldown of a key was made, ms. The API forgets a cooldown with its end; the database keeps it. */
export function storedRestMs(gateway: RunningGateway, id: string): number {
  const row = readRow(
    gateway,
    "select cool_until - cooled_at as rest from key_healths where key_id = ? and model = ''",
    id,
  );
  return (row as { rest: number }).rest;
}

function readRow(gateway: RunningGateway, sql: string, id: string): object {
  const database = new DatabaseSync(gateway.databaseFile, { readOnly: true });
  try {
    const row = database.prepare(sql).get(id);
    if (row === undefined) throw new Error(`The database holds nothing about the key ${id}`);
    return row;
  } finally {
    database.close();
  }
}

const turn = [{ role: "user", content: "Hello" }];

const plainCalls: Record<ScriptedKind, (stream: boolean) => { path: string; body: object }> = {
  openai: (stream) => ({ path: "/v1/chat/completions", body: { model: "gpt-test", messages: turn, stream } }),
  anthropic: (stream) => ({
    path: "/v1/messages",
    body: { model: "claude-test", max_tokens: 16, messages: turn, stream },
  }),
  gemini: (stream) => ({
    path: `/v1beta/models/gemini-test:${stream ? "streamGenerateContent?alt=sse" : "generateContent"}`,
    body: { contents: [{ role: "user", parts: [{ text: "Hello" }] }] },
  }),
  "azure-openai": (stream) => ({
    path: "/openai/deployments/gpt-test/chat/completions?api-version=2026-01-01",
    body: { messages: turn, stream },
  }),
  "openai-compatible": (stream) => ({ path: "/chat/completions", body: { model: "test", messages: turn, stream } }),
};

const plainHeaders: Record<ScriptedKind, Readonly<Record<string, string>>> = {
  openai: { authorization: "Bearer sk-client-own" },
  anthropic: { "x-api-key": "sk-ant-client-own", "anthropic-version": "2023-06-01" },
  gemini: { "x-goog-api-key": "client-own" },
  "azure-openai": { "api-key": "client-own" },
  "openai-compatible": { authorization: "Bearer sk-client-own" },
};

function encoded(body: object | string | Uint8Array<ArrayBuffer>): string | Uint8Array<ArrayBuffer> {
  return typeof body === "string" || body instanceof Uint8Array ? body : JSON.stringify(body);
}
