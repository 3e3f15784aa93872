import type { Clock } from "@keywheel/pool";
import type { OverloadReason } from "../telemetry/load-watch.ts";
import type { ActivityEvent } from "./events.ts";

/** Something that a person should look at. */
export interface Notice {
  readonly id: string;
  readonly code: NoticeCode;
  /** Undefined for what is about the gateway as a whole. */
  readonly providerId: string | undefined;
  /** What happened; without secrets. */
  readonly message: string;
  /** What to do about it. */
  readonly hint: string;
  /** What the message tells. */
  readonly facts: NoticeFacts;
  /** A call that offers itself as the remedy. */
  readonly action: NoticeAction | undefined;
  /** When it happened first, since it was last over. */
  readonly at: number;
  readonly lastAt: number;
  readonly count: number;
  /** Undefined while it holds. */
  readonly resolvedAt: number | undefined;
}

/** For those who say it in words of their own; without secrets. */
export interface NoticeFacts {
  readonly host?: string;
  readonly said?: string;
  readonly file?: string;
  readonly variable?: string;
  readonly keys?: number;
  readonly resting?: number;
  readonly total?: number;
  readonly owner?: string;
  readonly reason?: OverloadReason;
}

export interface NoticeAction {
  readonly method: "POST";
  readonly path: string;
  readonly body: Readonly<Record<string, unknown>>;
}

export type NoticeCode =
  | "pool_exhausted"
  | "no_usable_key"
  | "all_keys_refused"
  | "base_url_changed"
  | "keys_limited_together"
  | "one_owner"
  | "keys_unresolved"
  | "edge_block"
  | "region_refused"
  | "not_an_api"
  | "store_unavailable"
  | "store_damaged"
  | "shared_state_unavailable"
  | "master_key_wrong"
  | "overloaded"
  | "config_file_broken";

export interface Raised {
  readonly code: NoticeCode;
  readonly providerId?: string | undefined;
  readonly message: string;
  readonly hint: string;
  readonly facts?: NoticeFacts;
  readonly action?: NoticeAction | undefined;
}

type Held = { -readonly [Name in keyof Notice]: Notice[Name] } & {
  toldAt: number;
  /** A person has seen it, and does not want to see it for as long as it lasts. */
  isDismissed: boolean;
};

const mostNotices = 200;
/** What happens with every request is told now and then. */
const toldEveryMs = 5_000;

/** The notices that hold, and those that held lately; one of a code and provider. In memory: causes show again by themselves. */
export class NoticeBook {
  readonly #clock: Pick<Clock, "now">;
  readonly #publish: (event: ActivityEvent) => void;
  /** By code and provider, oldest first. */
  readonly #held = new Map<string, Held>();
  #count = 0;

  constructor(clock: Pick<Clock, "now">, publish: (event: ActivityEvent) => void) {
    this.#clock = clock;
    this.#publish = publish;
  }

  /** Last happened first. */
  list(): readonly Notice[] {
    return [...this.#held.values()]
      .filter(({ isDismissed }) => !isDismissed)
      .sort((one, other) => other.lastAt - one.lastAt);
  }

  holds(code: NoticeCode, providerId?: string): boolean {
    return this.messageOf(code, providerId) !== undefined;
  }

  /** What is said, dismissed or not; undefined if nothing is. */
  messageOf(code: NoticeCode, providerId?: string): string | undefined {
    const held = this.#held.get(nameOf(code, providerId));
    return held?.resolvedAt === undefined ? held?.message : undefined;
  }

  raise({ code, providerId, message, hint, facts = {}, action }: Raised): void {
    const now = this.#clock.now();
    const name = nameOf(code, providerId);
    const held = this.#held.get(name);
    if (held === undefined || held.resolvedAt !== undefined || held.isDismissed) {
      const id = `ntc_${now.toString(36)}${(++this.#count).toString(36).padStart(4, "0")}`;
      const times = { at: now, lastAt: now, count: 1, resolvedAt: undefined, toldAt: now, isDismissed: false };
      const fresh: Held = { id, code, providerId, message, hint, facts, action, ...times };
      // Put last: those that are over for longest are let go of first.
      this.#held.delete(name);
      this.#held.set(name, fresh);
      this.#letGo();
      this.#tell(fresh);
      return;
    }
    const isNews = message !== held.message || now - held.toldAt >= toldEveryMs;
    Object.assign(held, { message, hint, facts, action, lastAt: now, count: held.count + 1 });
    if (!isNews) return;
    held.toldAt = now;
    this.#tell(held);
  }

  /** What it is about is over. */
  resolve(code: NoticeCode, providerId?: string): void {
    const held = this.#held.get(nameOf(code, providerId));
    if (held === undefined || held.resolvedAt !== undefined) return;
    held.resolvedAt = this.#clock.now();
    this.#tell(held);
    if (held.isDismissed) this.#held.delete(nameOf(code, providerId));
  }

  /** Takes it off the list, until it happens again or what it tells changes. @returns false if there is no such notice */
  dismiss(id: string): boolean {
    for (const [name, held] of this.#held) {
      if (held.id !== id || held.isDismissed) continue;
      if (held.resolvedAt !== undefined) return this.#held.delete(name);
      held.isDismissed = true;
      this.#tell(held);
      return true;
    }
    return false;
  }

  /** A provider is gone, and all that was said of it. */
  forget(providerId: string): void {
    for (const [name, held] of this.#held) {
      if (held.providerId !== providerId) continue;
      this.resolve(held.code, providerId);
      this.#held.delete(name);
    }
  }

  /** Ends what only passing events can tell of when none has come for so long. */
  resolveOlderThan(codes: readonly NoticeCode[], before: number): void {
    for (const { code, providerId, lastAt } of this.#held.values()) {
      if (lastAt < before && codes.includes(code)) this.resolve(code, providerId);
    }
  }

  #letGo(): void {
    if (this.#held.size <= mostNotices) return;
    const over = [...this.#held].find(([, { resolvedAt }]) => resolvedAt !== undefined) ?? [...this.#held][0];
    if (over !== undefined) this.#held.delete(over[0]);
  }

  #tell({ id: noticeId, code, providerId, message, facts, count, resolvedAt, isDismissed, lastAt }: Held): void {
    const at = resolvedAt ?? lastAt;
    this.#publish({ type: "notice", noticeId, code, providerId, message, facts, count, resolvedAt, isDismissed, at });
  }
}

function nameOf(code: NoticeCode, providerId: string | undefined): string {
  return `${code} ${providerId ?? ""}`;
}
