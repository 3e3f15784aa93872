import type { StatusReason } from "../ports/journal.ts";
import type { KeyEntry } from "../ports/shared-state.ts";
import { type Health, type HealthMark, healthy, isCooling, rebaseOnClock } from "../rules/cooldown.ts";
import type { EpochMs } from "../rules/time.ts";
import type { ReasonCode } from "../rules/verdict.ts";

/** A health with the reason it is as it is. */
export interface Condition {
  health: Health;
  reason: StatusReason | undefined;
}

/** How many models a key's own rests are remembered for; beyond it the oldest is forgotten. */
const modelsRemembered = 256;

/** One key of one pool, with everything about it that moves. */
export class KeyCell implements Condition {
  entry: KeyEntry;
  position: number;
  /** The number under which bindings point here. It is changed to end them all at once. */
  slot: number;
  /** The number under which objects made with it point here; it never changes. */
  readonly pinSlot: number;
  health: Health = healthy;
  reason: StatusReason | undefined;
  /** The provider refused it; only a reset or a new value brings it back. */
  refused = false;
  /** How often it was cleared. */
  generation = 0;
  /** While a refusal is being read: not to be chosen before this instant. */
  heldUntil: EpochMs = 0;
  /** While a first request finds out whether it serves again: no turns before this instant. */
  trialUntil: EpochMs = 0;
  /** When the wheel looks at it again; 0 when it need not. */
  wakeAt: EpochMs = 0;
  readonly models: Map<string, Condition> = new Map();

  /** @param slot the number that its first bindings, and all its pins, know it by */
  constructor(entry: KeyEntry, position: number, slot: number) {
    this.entry = entry;
    this.position = position;
    this.slot = slot;
    this.pinSlot = slot;
  }

  /** Whether it takes part in the rotation at all: what a person or a refusal decides, not time. */
  get takesPart(): boolean {
    return this.entry.enabled && !this.refused && this.entry.resolved && this.entry.weight > 0;
  }

  canServe(now: EpochMs, model: string | undefined): boolean {
    return this.takesPart && this.restsUntil(now, model) <= now;
  }

  /** Whether the wheel may stop at it: it can serve, and no first request is finding that out. */
  canTakeTurn(now: EpochMs, model: string | undefined): boolean {
    return this.canServe(now, model) && this.trialUntil <= now;
  }

  /** The end of every rest that keeps it from serving this model; `now` or earlier when none does. */
  restsUntil(now: EpochMs, model: string | undefined): EpochMs {
    const own = Math.max(this.health.coolUntil, this.heldUntil);
    const models = model === undefined ? undefined : this.models.get(model);
    return models === undefined ? own : Math.max(own, models.health.coolUntil);
  }

  /** Why it cannot serve, in the order in which a person would have to mend it. */
  whyNot(now: EpochMs, model: string | undefined): ReasonCode {
    if (this.refused) return this.reason?.code ?? "authentication_failed";
    if (!this.entry.enabled) return "disabled_by_operator";
    if (!this.entry.resolved) return "unresolved";
    if (this.entry.weight === 0) return "disabled_by_operator";
    if (isCooling(this.health, now)) return this.reason?.code ?? "rate_limited";
    const models = model === undefined ? undefined : this.models.get(model);
    return (models !== undefined && isCooling(models.health, now) ? models.reason?.code : undefined) ?? "rate_limited";
  }

  /** The clock was set back: the key may not stay out for the size of the step. */
  rebase(now: EpochMs): void {
    this.health = rebaseOnClock(this.health, now);
    this.heldUntil = 0;
    this.trialUntil = 0;
    for (const condition of this.models.values()) condition.health = rebaseOnClock(condition.health, now);
  }

  get mark(): HealthMark {
    return markOf(this.health);
  }

  /** The condition for one model, made on first use. */
  conditionFor(model: string): Condition {
    const known = this.models.get(model);
    if (known !== undefined) return known;
    if (this.models.size >= modelsRemembered) {
      for (const oldest of this.models.keys()) {
        this.models.delete(oldest);
        break;
      }
    }
    const fresh: Condition = { health: healthy, reason: undefined };
    this.models.set(model, fresh);
    return fresh;
  }
}

export function markOf(health: Health): HealthMark {
  return { cooldowns: health.cooldowns, failuresSeen: health.failuresSeen };
}
