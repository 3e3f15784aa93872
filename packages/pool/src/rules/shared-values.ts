import type { Fingerprint } from "./fingerprint.ts";
import type { DurationMs, EpochMs } from "./time.ts";

/** More conversations than this at a time, and a value names what they have in common. A client with side calls has fewer. */
const mostConversations = 8;
/** Conversations count as going on at the same time for so long after their last request. */
const togetherMs: DurationMs = 10 * 60_000;
const forgottenAfterMs: DurationMs = 24 * 3_600_000;
const mostValues = 10_000;

interface Opening extends Fingerprint {
  at: EpochMs;
}

interface Seen {
  openings: Opening[];
  isShared: boolean;
  at: EpochMs;
}

/**
 * Tells values that name a conversation from those that many conversations send alike: the name of an application, of a
 * prompt, of a person. A session made of such a value would send all of their traffic to one key.
 *
 * Conversations are told apart by their opening words. A value found to be shared stays so until nobody has sent it for a
 * day. At most 10,000 values are known, the least recently seen are forgotten first.
 *
 * @see reference "How clients convey a session", cautions
 */
export class SharedValues {
  /** The least recently seen first. */
  readonly #seen = new Map<string, Seen>();

  /** @returns whether the value is shared, this conversation counted; as far as is known if that has no opening */
  isShared(value: Fingerprint, opening: Fingerprint | undefined, now: EpochMs): boolean {
    const seen = this.#take(`${value.high}.${value.low}`, now);
    seen.at = now;
    if (!seen.isShared && opening !== undefined) note(seen, opening, now);
    return seen.isShared;
  }

  #take(name: string, now: EpochMs): Seen {
    const before = this.#seen.get(name);
    const isKnown = before !== undefined && now - before.at <= forgottenAfterMs;
    const seen: Seen = isKnown ? before : { openings: [], isShared: false, at: now };
    this.#seen.delete(name);
    this.#seen.set(name, seen);
    if (this.#seen.size > mostValues) {
      for (const oldest of this.#seen.keys()) {
        this.#seen.delete(oldest);
        break;
      }
    }
    return seen;
  }
}

function note(seen: Seen, { high, low }: Fingerprint, now: EpochMs): void {
  const known = seen.openings.find((opening) => opening.high === high && opening.low === low);
  if (known !== undefined) {
    known.at = now;
    return;
  }
  seen.openings = seen.openings.filter(({ at }) => now - at <= togetherMs);
  seen.openings.push({ high, low, at: now });
  if (seen.openings.length <= mostConversations) return;
  seen.isShared = true;
  seen.openings = [];
}
