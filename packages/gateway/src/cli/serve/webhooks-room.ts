import type { PoolEvent } from "@keywheel/pool";
import type { CatalogEvent } from "../../catalog/events.ts";
import { ForbiddenDestinationError } from "../../data-plane/destinations.ts";
import type { Upstream } from "../../data-plane/upstream.ts";
import type { WebhookRecord } from "../../store/store.ts";
import type { Log } from "../../telemetry/log.ts";
import {
  type DeliveryEnd,
  Outbox,
  type SendWebhook,
  type SentWebhook,
  type TestOutcome,
} from "../../webhooks/outbox.ts";
import { ExhaustedPools } from "../../webhooks/exhausted-pools.ts";
import { WebhookWatch } from "../../webhooks/webhook-watch.ts";
import { programVersion } from "../version.ts";
import type { Core } from "./core.ts";

export interface WebhooksParts {
  readonly upstream: () => Promise<Upstream>;
  readonly log: Log;
  /** Told of each attempt, for the metrics. */
  readonly onAttempt?: (type: string, outcome: DeliveryEnd) => void;
}

/** Tries a webhook, for the control plane. */
export type WebhookTest = (hook: WebhookRecord, signal: AbortSignal) => Promise<TestOutcome>;

/** What is sent to webhooks, without anything that would happen by itself. */
export function createOutbox({ catalog, clock, store }: Core, { upstream, log, onAttempt }: WebhooksParts): Outbox {
  return new Outbox({
    store,
    webhooks: catalog.webhooks,
    clock,
    random: Math.random,
    send: createSender(upstream, () => clock.now()),
    warn: (message, facts) => log.warn(facts, message),
    ...(onAttempt === undefined ? {} : { onAttempt }),
  });
}

export interface RunningWebhooks {
  /** Ends what is under way; what waits is sent after the next start. May be called twice. */
  close(): Promise<void>;
}

/** Tells webhooks what happens from here on, and what waits from before. */
export function runOutbox(outbox: Outbox, core: Core): RunningWebhooks {
  const { catalog, redact, store, clock } = core;
  const provider = (id: string): { id: string; slug: string; name: string } | undefined => {
    const record = catalog.providers.find(id)?.record;
    return record && { id, slug: record.slug, name: record.name };
  };
  const pools = new ExhaustedPools({
    redact,
    store,
    clock,
    provider,
    tell: (told) => outbox.tellOfPool(told),
    canServe: (id) => canServe(core, id),
  });
  const watch = new WebhookWatch({
    redact,
    provider,
    tell: (told) => outbox.tell(told),
    key: (id) => {
      const record = catalog.recordOfKey(id);
      return record && { ...record, refusedFrom: catalog.refusedFrom(id) };
    },
    refusedKeys: refusedKeysOf(core),
  });
  core.onPoolEvent((event: PoolEvent) => watch.poolEvent(event));
  core.onCatalogEvent((event: CatalogEvent) => {
    watch.catalogEvent(event);
    pools.catalogEvent(event);
  });
  core.onNotice((event) => pools.notice(event));
  outbox.start();
  pools.start();
  return {
    close: async () => {
      await pools.close();
      await outbox.close();
    },
  };
}

/** Whether a key could take the next turn; an empty pool is served by the provider's own key. */
async function canServe({ catalog }: Core, providerId: string): Promise<boolean> {
  const entry = catalog.providers.find(providerId);
  if (entry === undefined) return false;
  return entry.hasKeys ? (await entry.pool.preview(1)).length > 0 : entry.providerSecret() !== undefined;
}

function* refusedKeysOf({ catalog }: Core): Iterable<string> {
  for (const entry of catalog.providers.list()) {
    for (const { record } of entry.cells()) {
      if (!record.enabled && record.disabledReason !== null) yield record.id;
    }
  }
}

const timeouts = { connectMs: 5_000, headersMs: 15_000, idleMs: 15_000 };

/** Over the way to the providers: its proxies, and its judgement of where nothing is sent to. */
function createSender(upstream: () => Promise<Upstream>, now: () => number): SendWebhook {
  return async (url, { headers, body }, signal): Promise<SentWebhook> => {
    const { origin, pathname, search } = new URL(url);
    const result = await (
      await upstream()
    ).send({
      origin,
      method: "POST",
      path: `${pathname}${search}`,
      headers: [...headers, "user-agent", `keywheel/${programVersion()}`],
      body: Buffer.from(body),
      timeouts,
      presence: {
        get isGone() {
          return signal.aborted;
        },
        onGone(callback) {
          signal.addEventListener("abort", callback, { once: true });
          return () => signal.removeEventListener("abort", callback);
        },
      },
    });
    const none = { status: undefined, retryAfterMs: undefined };
    if (result.kind === "gone") return { ...none, problem: "It was given up before there was an answer." };
    if (result.kind === "broken") return { ...none, problem: problemOf(result) };
    const { answer } = result;
    answer.discard();
    return { status: answer.status, retryAfterMs: waitOf(answer.header("retry-after"), now()), problem: "" };
  };
}

function problemOf({ message, cause }: { readonly message: string; readonly cause: unknown }): string {
  if (cause instanceof ForbiddenDestinationError)
    return (
      "The receiver's host leads to a link-local or cloud metadata address: no connection is made. If it is meant, " +
      "start the gateway with --allow-private-metadata."
    );
  // The way is the same, and so are its words.
  return message.replaceAll("provider", "receiver");
}

/** Whole seconds, or a date (RFC 9110 §10.2.3). */
function waitOf(retryAfter: string | undefined, now: number): number | undefined {
  if (retryAfter === undefined) return undefined;
  const ms = /^\d{1,9}$/.test(retryAfter) ? Number(retryAfter) * 1_000 : Date.parse(retryAfter) - now;
  return Number.isFinite(ms) && ms > 0 ? ms : undefined;
}
