import type { ApiClient } from "../client/api-client.ts";
import type { KeyOnTheWire } from "../commands/wire.ts";
import { counted } from "../commands/words.ts";
import type { DemoProvider } from "./provider.ts";
import { people, type Stage } from "./story.ts";
import { chat, singleRequests, type Tally } from "./traffic.ts";

/** What the provider is called in paths. */
export const slug = "demo";
/** The story is told in so long, unless there is less. */
export const longestMs = 60_000;

export interface DemoKey {
  readonly id: string;
  readonly secret: string;
}

const usualMs = 250;
const slowMs = 1500;

/** Adds the provider and its keys to the gateway. @returns the keys by the names of those they belong to */
export async function preparePool(
  api: ApiClient,
  provider: DemoProvider,
  lengthMs: number,
): Promise<ReadonlyMap<string, DemoKey>> {
  const baseMs = Math.round(lengthMs * 0.2);
  const settings = { cooldown: { base_ms: baseMs, cap_ms: Math.max(baseMs, longestMs) } };
  await api.call("POST", "/providers", { slug, name: "Demo", kind: "openai", base_url: provider.baseUrl, settings });
  const keys = new Map<string, DemoKey>();
  for (const label of people) {
    const secret = `sk-demo-0123456789abcdef-${label.toLowerCase()}`;
    provider.treat(secret, { kind: "answers", delayMs: delayOf(label) });
    const body = { api_key: secret, label, weight: label === "Ada" ? 2 : 1 };
    const { id } = await api.call<KeyOnTheWire>("POST", `/providers/${slug}/keys`, body);
    keys.set(label, { id, secret });
  }
  return keys;
}

function delayOf(person: string): number {
  return person === "Dora" ? slowMs : usualMs;
}

export interface StageParts {
  readonly api: ApiClient;
  readonly provider: DemoProvider;
  readonly keys: ReadonlyMap<string, DemoKey>;
  readonly tally: Tally;
  readonly lengthMs: number;
  readonly end: AbortSignal;
  readonly url: string;
}

export interface FullStage extends Stage {
  /** Settles when all traffic has ended. */
  readonly ended: () => Promise<void>;
}

export function createStage({ api, provider, keys, tally, lengthMs, end, url }: StageParts): FullStage {
  const running: Promise<void>[] = [];
  const traffic = { url, tally, signal: end };
  const keyOf = (person: string): DemoKey => {
    const key = keys.get(person);
    if (key === undefined) throw new Error(`The demo has no key of ${person}`);
    return key;
  };
  return {
    begin: (names) => {
      // As long as the story: a second telling begins chats of its own.
      const signal = AbortSignal.any([end, AbortSignal.timeout(lengthMs)]);
      const lasting = running.length === 0 ? end : signal;
      for (const [i, name] of names.entries())
        running.push(chat(name, { ...traffic, paceMs: lengthMs / 40 + i * 90, signal: lasting }));
    },
    beginSingles: () => void running.push(singleRequests({ ...traffic, paceMs: lengthMs / 100 })),
    limit: (person, ms) =>
      provider.treat(keyOf(person).secret, {
        kind: "limited",
        until: performance.now() + ms,
        delayMs: delayOf(person),
      }),
    refuse: (person) => provider.treat(keyOf(person).secret, { kind: "refused" }),
    enable: async (person) => {
      const { id, secret } = keyOf(person);
      provider.treat(secret, { kind: "answers", delayMs: delayOf(person) });
      await api.call("PATCH", `/keys/${id}`, { enabled: true });
    },
    count: () =>
      `${counted(tally.answered, "request")} answered, ${tally.failed === 0 ? "none" : tally.failed} failed.`,
    ended: async () => void (await Promise.all(running)),
  };
}
