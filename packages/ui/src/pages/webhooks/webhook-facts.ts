import type { ParseKeys } from "i18next";
import type { Webhook, WebhookDelivery } from "../../api/openapi.ts";

export type WebhookEvent = NonNullable<Webhook["events"]>[number];

/** In the order in which they are offered. */
export const eventWords = {
  "key.disabled": "webhooks.eventKeyDisabled",
  "key.recovered": "webhooks.eventKeyRecovered",
  "pool.exhausted": "webhooks.eventPoolExhausted",
  "pool.recovered": "webhooks.eventPoolRecovered",
} as const satisfies Readonly<Record<WebhookEvent, ParseKeys>>;

const allWords = { ...eventWords, "webhook.test": "webhooks.eventTest" } as const;

/** Undefined for one that a newer gateway knows. */
export function wordsOf(type: string): (typeof allWords)[keyof typeof allWords] | undefined {
  return Object.hasOwn(allWords, type) ? allWords[type as keyof typeof allWords] : undefined;
}

export const stateWords = {
  delivered: { words: "webhooks.stateDelivered", tone: "good" },
  waiting: { words: "webhooks.stateWaiting", tone: "warn" },
  failed: { words: "webhooks.stateFailed", tone: "bad" },
} as const satisfies Readonly<Record<WebhookDelivery["state"], { readonly words: ParseKeys; readonly tone: string }>>;

/** What a webhook is called; its host where nobody gave it a name. */
export function nameOf({ name, url }: Pick<Webhook, "name" | "url">): string {
  return name === "" ? (URL.parse(url)?.host ?? url) : name;
}
