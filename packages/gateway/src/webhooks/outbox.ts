import { hash, randomUUID } from "node:crypto";
import type { Clock } from "@keywheel/pool";
import type { DeliveryRecord, PoolTurn, QueuedDelivery, Store, WebhookRecord } from "../store/store.ts";
import { bodyOf, signatureHeaders } from "./signed-message.ts";

/** What became of one attempt. */
export interface SentWebhook {
  /** Undefined if there was no answer. */
  readonly status: number | undefined;
  /** How long the receiver asks to be left alone, ms. */
  readonly retryAfterMs: number | undefined;
  /** Why there was no answer; empty if there was one. */
  readonly problem: string;
}

/** Posts a body; never rejects, follows no redirect, and is bounded in time. */
export type SendWebhook = (
  url: string,
  message: { readonly headers: readonly string[]; readonly body: string },
  signal: AbortSignal,
) => Promise<SentWebhook>;

export interface OutboxDeps {
  readonly store: Pick<
    Store,
    | "insertDeliveries"
    | "insertPoolTurn"
    | "takeDueDeliveries"
    | "nextDeliveryAt"
    | "saveDeliveryOutcome"
    | "pruneDeliveries"
  >;
  readonly webhooks: {
    list(): readonly WebhookRecord[];
    find(id: string): WebhookRecord | undefined;
    switchOff(id: string): Promise<void>;
  };
  readonly send: SendWebhook;
  readonly clock: Clock;
  /** 0 to 1, spreads tries: many gateways that lost a receiver together must not come back together. */
  readonly random: () => number;
  /** Told of each attempt, for the metrics. */
  readonly onAttempt?: (type: string, outcome: DeliveryEnd) => void;
  readonly warn: (message: string, facts: object) => void;
}

/** `dropped`: too many waited already. */
export type DeliveryEnd = "delivered" | "retried" | "failed" | "dropped";

/** An event as it happened. */
export interface Told {
  readonly type: string;
  readonly data: object;
  readonly at: number;
  /** The same for whoever else tells of the very same event; left out for one that nobody else sees. */
  readonly mark?: string;
}

/** How a pool stands now. */
export interface PoolTold extends Told {
  readonly turn: PoolTurn;
}

interface FreshTurn {
  readonly turn: PoolTurn;
  readonly deliveries: readonly QueuedDelivery[];
}

export interface TestOutcome {
  readonly delivered: boolean;
  readonly status: number | undefined;
  /** Empty if it was delivered. */
  readonly problem: string;
  readonly durationMs: number;
}

/** Between one attempt and the next: some eight hours in all, as the specification advises. */
export const retryWaitsMs: readonly number[] = [5, 30, 120, 600, 1_800, 7_200, 18_000].map(
  (seconds) => seconds * 1_000,
);
const longestAskedWaitMs = 18_000_000;
/** Of one webhook; what comes beyond is let go of. */
const mostWaiting = 1_000;
/** Of pools, while the store is away. */
const mostTurns = 1_000;
const settledKept = 100;
/** Whoever has taken a delivery has so long to settle it: more than an attempt may take. After a crash it is due again then. */
const leaseMs = 30_000;
/** Under way at once, to all receivers and to one of them. */
const placesOfAll = 20;
const placesOfOne = 4;
/** What another gateway left behind is looked for so often, too. */
const lookEveryMs = 30_000;
const storeAwayMs = 5_000;
const lastErrorLength = 300;

/**
 * What is to be sent to webhooks, and the sending of it.
 *
 * Events wait in the store, so that a restart loses none. One run at a time writes down what is new, takes what is due, and
 * sends it; whoever is slow or away is asked again later and holds up nobody else's.
 */
export class Outbox {
  readonly #deps: OutboxDeps;
  readonly #ending = new AbortController();
  #fresh: QueuedDelivery[] = [];
  /** In the order in which they happened. */
  #turns: FreshTurn[] = [];
  #running: Promise<void> | undefined;
  #timer: NodeJS.Timeout | undefined;

  constructor(deps: OutboxDeps) {
    this.#deps = deps;
  }

  /** Takes up what a former process has left. */
  start(): void {
    this.#wakeIn(0);
  }

  /** Runs on the request path: it only remembers, and never throws. */
  tell(told: Told): void {
    const deliveries = this.#deliveriesOf(told);
    if (deliveries.length === 0) return;
    for (const delivery of deliveries) {
      if (this.#fresh.length >= mostWaiting) this.#deps.onAttempt?.(told.type, "dropped");
      else this.#fresh.push(delivery);
    }
    this.#wakeIn(0);
  }

  /** Tells of a pool what was not told yet, by this gateway or another one. Runs on the request path; never throws. */
  tellOfPool({ turn, ...told }: PoolTold): void {
    // That it is over is written down whoever still listens: the next time has to be told of again.
    if (turn.isExhausted && this.#deps.webhooks.list().length === 0) return;
    this.#turns.push({ turn, deliveries: this.#deliveriesOf(told) });
    this.#wakeIn(0);
  }

  /** Sends one message at once, whether or not the webhook is on, and keeps what became of it. */
  async test(hook: WebhookRecord, signal: AbortSignal): Promise<TestOutcome> {
    const { clock, store } = this.#deps;
    const startedAt = clock.now();
    const startedMono = clock.monotonic();
    const id = messageId(hook.id, "webhook.test", randomUUID());
    const body = bodyOf("webhook.test", { webhook: { id: hook.id, name: hook.name } }, startedAt);
    const delivery = { id, webhookId: hook.id, type: "webhook.test", body, createdAt: startedAt };
    const sent = await this.#send(hook, delivery, signal);
    const problem = problemOf(sent);
    const delivered = problem === "";
    const settled = { attempts: 1, nextAt: null, delivered, lastStatus: sent.status ?? null };
    const outcome = { ...settled, lastError: delivered ? null : problem, lastAt: clock.now() };
    await store.insertDeliveries([{ ...delivery, outcome }], Infinity);
    return { delivered, status: sent.status, problem, durationMs: clock.monotonic() - startedMono };
  }

  /** Ends what is under way; it is sent again after the next start. May be called twice. */
  async close(): Promise<void> {
    this.#ending.abort();
    clearTimeout(this.#timer);
    await this.#running;
    await this.#writeFresh();
  }

  #deliveriesOf({ type, data, at, mark = randomUUID() }: Told): readonly QueuedDelivery[] {
    const wanting = this.#deps.webhooks.list().filter((hook) => hook.enabled && wants(hook, type));
    if (wanting.length === 0) return [];
    const body = bodyOf(type, data, at);
    return wanting.map(({ id: webhookId }) => {
      return { id: messageId(webhookId, type, mark), webhookId, type, body, createdAt: at };
    });
  }

  #wakeIn(ms: number): void {
    if (this.#ending.signal.aborted) return;
    clearTimeout(this.#timer);
    this.#timer = setTimeout(() => void this.#wake(), Math.min(ms, lookEveryMs)).unref();
  }

  async #wake(): Promise<void> {
    if (this.#running !== undefined) return;
    this.#running = this.#run();
    await this.#running;
    this.#running = undefined;
    if (this.#fresh.length + this.#turns.length > 0) this.#wakeIn(0);
  }

  async #run(): Promise<void> {
    const { store, clock, webhooks } = this.#deps;
    let nextMs = lookEveryMs;
    try {
      if (!(await this.#writeFresh())) return this.#wakeIn(storeAwayMs);
      if (webhooks.list().length === 0) return this.#wakeIn(lookEveryMs);
      await this.#deliverDue();
      const nextAt = await store.nextDeliveryAt();
      if (nextAt !== undefined) nextMs = Math.max(0, nextAt - clock.now());
    } catch (error) {
      this.#deps.warn("Webhooks cannot be sent: what waits cannot be read or written", { err: error });
      nextMs = storeAwayMs;
    }
    this.#wakeIn(nextMs);
  }

  /** All that is due. A receiver that is slow keeps a few places, and the others theirs. */
  async #deliverDue(): Promise<void> {
    const { store, clock } = this.#deps;
    const underWay = new Set<Promise<void>>();
    const places = new Map<string, number>();
    let failure: unknown;
    let ended = 0;
    try {
      for (;;) {
        const endedBefore = ended;
        const now = clock.now();
        const except = [...places].flatMap(([id, count]) => (count >= placesOfOne ? [id] : []));
        const limit = Math.min(placesOfOne, placesOfAll - underWay.size);
        const due =
          limit === 0 || this.#ending.signal.aborted
            ? []
            : await store.takeDueDeliveries({ now, leaseUntil: now + leaseMs, limit, except });
        for (const delivery of due) {
          const { webhookId } = delivery;
          places.set(webhookId, (places.get(webhookId) ?? 0) + 1);
          const delivering = this.#deliver(delivery)
            .catch((error: unknown) => (failure ??= error))
            .then(() => {
              ended++;
              underWay.delete(delivering);
              places.set(webhookId, (places.get(webhookId) ?? 1) - 1);
            });
          underWay.add(delivering);
        }
        if (underWay.size === 0) return;
        // One that ended while it was looked has made room for what was left out.
        if (due.length === 0 && ended === endedBefore) await Promise.race(underWay);
        // oxlint-disable-next-line typescript/only-throw-error -- it is given on as it came
        if (failure !== undefined) throw failure;
        await store.pruneDeliveries(settledKept);
      }
    } finally {
      await Promise.allSettled(underWay);
    }
  }

  /** @returns whether nothing is left that only memory holds */
  async #writeFresh(): Promise<boolean> {
    return (await this.#writeEvents()) && (await this.#writeTurns());
  }

  /** One after the other: what could not be written stays, and what comes behind it waits. */
  async #writeTurns(): Promise<boolean> {
    for (let next = this.#turns[0]; next !== undefined; next = this.#turns[0]) {
      const { turn, deliveries } = next;
      try {
        const taken = await this.#deps.store.insertPoolTurn(turn, deliveries, mostWaiting);
        for (const { type } of deliveries.slice(taken ?? Infinity)) this.#deps.onAttempt?.(type, "dropped");
      } catch {
        // While the store is away a pool may go to and fro: what it comes to in the end is enough.
        this.#turns = this.#turns.filter((one, at) => at === 0 || at >= this.#turns.length - mostTurns);
        return false;
      }
      this.#turns = this.#turns.slice(1);
    }
    return true;
  }

  async #writeEvents(): Promise<boolean> {
    const fresh = this.#fresh;
    if (fresh.length === 0) return true;
    this.#fresh = [];
    try {
      const taken = await this.#deps.store.insertDeliveries(fresh, mostWaiting);
      for (const { type } of fresh.slice(taken)) this.#deps.onAttempt?.(type, "dropped");
      return true;
    } catch {
      // The store says itself that it cannot be written; it is tried again with what comes meanwhile.
      this.#fresh = [...fresh, ...this.#fresh].slice(0, mostWaiting);
      return false;
    }
  }

  async #deliver(delivery: DeliveryRecord): Promise<void> {
    const { store, clock, webhooks, onAttempt } = this.#deps;
    const hook = webhooks.find(delivery.webhookId);
    const attempts = delivery.attempts + 1;
    const settle = (outcome: {
      readonly nextAt: number | null;
      readonly delivered: boolean;
      readonly status?: number | undefined;
      readonly problem: string;
    }): Promise<void> =>
      store.saveDeliveryOutcome({
        id: delivery.id,
        attempts,
        nextAt: outcome.nextAt,
        delivered: outcome.delivered,
        lastStatus: outcome.status ?? null,
        lastError: outcome.delivered ? null : outcome.problem.slice(0, lastErrorLength),
        lastAt: clock.now(),
      });
    if (hook?.enabled !== true) {
      onAttempt?.(delivery.type, "failed");
      return await settle({ nextAt: null, delivered: false, problem: "The webhook was switched off." });
    }
    const sent = await this.#send(hook, delivery, this.#ending.signal);
    // Nothing is known of it: it is due again as soon as somebody looks.
    if (this.#ending.signal.aborted) return await settle({ ...leftBehind, nextAt: clock.now() });
    const problem = problemOf(sent);
    if (problem === "") {
      onAttempt?.(delivery.type, "delivered");
      return await settle({ nextAt: null, delivered: true, status: sent.status, problem });
    }
    const waitMs = this.#waitAfter(attempts, sent);
    onAttempt?.(delivery.type, waitMs === undefined ? "failed" : "retried");
    await settle({
      nextAt: waitMs === undefined ? null : clock.now() + waitMs,
      delivered: false,
      status: sent.status,
      problem,
    });
    if (sent.status === 410) await webhooks.switchOff(hook.id);
    if (waitMs === undefined)
      this.#deps.warn("A webhook was not delivered, and is given up", {
        webhook: hook.id,
        type: delivery.type,
        problem,
      });
  }

  /** @returns undefined where it is given up */
  #waitAfter(attempts: number, { status, retryAfterMs = 0 }: SentWebhook): number | undefined {
    const waitMs = retryWaitsMs[attempts - 1];
    if (waitMs === undefined || status === 410) return undefined;
    const spreadMs = waitMs * (0.9 + 0.2 * this.#deps.random());
    return Math.max(spreadMs, Math.min(retryAfterMs, longestAskedWaitMs));
  }

  async #send(hook: WebhookRecord, { id, body }: QueuedDelivery, signal: AbortSignal): Promise<SentWebhook> {
    const { secret, formerSecrets, url } = hook;
    if (secret.kind !== "literal") {
      const problem = "Its secret cannot be read: it was encrypted with another master key.";
      return { status: undefined, retryAfterMs: undefined, problem };
    }
    const at = this.#deps.clock.now();
    const former = formerSecrets.filter(({ until }) => until > at).map(({ value }) => value);
    const signed = signatureHeaders({ id, body, secrets: [secret.value, ...former], at });
    return await this.#deps.send(url, { headers: ["content-type", "application/json", ...signed], body }, signal);
  }
}

const leftBehind = { delivered: false, problem: "The gateway stopped before there was an answer." } as const;

function wants({ events }: WebhookRecord, type: string): boolean {
  return events === null || events.includes(type);
}

/** The same for the same event, so that it is kept once, whoever tells of it. */
function messageId(webhookId: string, type: string, mark: string): string {
  return `msg_${digest(`${webhookId} ${type} ${mark}`)}`;
}

function digest(text: string): string {
  return hash("sha256", text, "base64url").slice(0, 27);
}

/** Empty for a success. A redirect is none: where it leads was judged by nobody. */
function problemOf({ status, problem }: SentWebhook): string {
  if (status === undefined) return problem;
  if (status >= 200 && status < 300) return "";
  return status >= 300 && status < 400
    ? `The receiver answered ${status}: redirects are not followed.`
    : `The receiver answered ${status}.`;
}
