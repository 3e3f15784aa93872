import { setTimeout as sleep } from "node:timers/promises";
import { ApiFailure } from "@keywheel/testkit";
import type { Observer } from "../observer.ts";
import type { PooledProvider } from "../pooled-provider.ts";
import type { Stack } from "./stack.ts";

/** How many requests may be under way at once; beyond that clients wait: a machine that is too busy is not what is tested. */
const mostRunning = 150;

/** Clients behind a balancer: each request goes to any gateway, and to another one if the first does not answer. */
export class Clients {
  sent = 0;
  running = 0;
  /** What clients got in the end. */
  readonly outcomes = new Map<string, number>();
  readonly #stack: Stack;
  readonly #observer: Observer;
  /** Gateways that the balancer has found dead. */
  readonly #dead = new Set<number>();

  constructor(stack: Stack, observer: Observer) {
    this.#stack = stack;
    this.#observer = observer;
  }

  /** Sends at an even rate, however long answers take, until told to stop. What could not be sent in time is left out. */
  async send(rate: number, isOver: () => boolean): Promise<void> {
    let due = 0;
    for (let before = performance.now(); !isOver(); await sleep(5)) {
      const elapsedMs = performance.now() - before;
      before += elapsedMs;
      for (due += (elapsedMs / 1_000) * rate; due >= 1; due--) {
        if (this.running < mostRunning) void this.request(this.#nextSession());
      }
    }
  }

  /** Waits until all are answered. */
  async rest(): Promise<void> {
    while (this.running > 0) await sleep(5);
  }

  async request(session?: string): Promise<void> {
    const number = this.sent++;
    this.running++;
    try {
      const status = await this.#ask(number, session);
      this.outcomes.set(String(status), (this.outcomes.get(String(status)) ?? 0) + 1);
    } finally {
      this.running--;
    }
  }

  /** The balancer takes a gateway out, or in again. */
  setDead(instance: number, isDead: boolean): void {
    if (isDead) this.#dead.add(instance);
    else this.#dead.delete(instance);
  }

  async #ask(number: number, session: string | undefined): Promise<number | undefined> {
    const headers = { authorization: `Bearer ${this.#stack.token}` };
    for (let tries = 1; ; tries++) {
      const alive = this.#stack.gateways.flatMap((_, instance) => (this.#dead.has(instance) ? [] : [instance]));
      const instance = alive[Math.floor(Math.random() * alive.length)] ?? 0;
      const init = { headers, ...(session === undefined ? {} : { session }) };
      const status = await this.#observer.call(`c${number}-${tries}`, init, instance);
      if (status !== undefined || tries === 3) return status;
    }
  }

  /** Every second request is one of a session: mostly one of some that go on and on, now and then a new one. */
  #nextSession(): string | undefined {
    if (this.sent % 2 === 0) return undefined;
    return this.sent % 20 === 1 ? `new-${Math.floor(this.sent / 60)}` : `s-${Math.floor(Math.random() * 40)}`;
  }
}

/**
 * An operator who changes the three keys that are left to that, now at one gateway and now at another.
 *
 * @returns how many changes were made
 */
export async function operate({ gateways }: Stack, { observer, pool, isOver, isAway }: OperatorParts): Promise<number> {
  const [k, l, m] = ["K", "L", "M"].map((letter) => pool.keys[letter.charCodeAt(0) - 65]?.id ?? "");
  let changed = 0;
  let made = 0;
  const acts = [
    (at: number) => observer.change("disable", `${k}`, ["PATCH", `/keys/${k}`, { enabled: false }], at),
    (at: number) => observer.change("reset", `${m}`, ["POST", `/keys/${m}/reset`], at),
    (at: number) => observer.change("label", `${k}`, ["PATCH", `/keys/${k}`, { label: `label ${made++}` }], at),
    (at: number) => observer.change("enable", `${k}`, ["PATCH", `/keys/${k}`, { enabled: true }], at),
    (at: number) => observer.change("value", `${l}`, ["PATCH", `/keys/${l}`, { api_key: newValue(pool, made++) }], at),
  ];
  for (let turn = 0; !isOver(); turn++) {
    const instance = turn % gateways.length;
    if (!isAway(instance)) {
      try {
        await acts[turn % acts.length]?.(instance);
        changed++;
      } catch (error) {
        // The database has just gone away, or the gateway itself.
        if (!(error instanceof TypeError) && !(error instanceof ApiFailure && error.status === 503)) throw error;
      }
    }
    await sleep(280);
  }
  return changed;
}

export interface OperatorParts {
  readonly observer: Observer;
  readonly pool: PooledProvider;
  readonly isOver: () => boolean;
  /** Whether a gateway cannot change anything just now. */
  readonly isAway: (instance: number) => boolean;
}

function newValue(pool: PooledProvider, number: number): string {
  const value = `sk-test-${pool.record.slug}-L-${number}-0123456789abcdef`;
  pool.provider.accept(value);
  return value;
}
