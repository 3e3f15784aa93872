import { avalanche, fingerprint, type Fingerprint } from "../../rules/fingerprint.ts";
import type { Transcript } from "./transcript.ts";

/** What a request and the ones before and after it can be recognised by, where no session is named. */
export interface Conversation {
  /** Where earlier requests of the conversation may have been bound, longest first; none for a single message. */
  readonly lookups: readonly Fingerprint[];
  /** Under what later turns will look for this one; one or two. */
  readonly binds: readonly Fingerprint[];
}

/**
 * Where a conversation is looked for and bound: with its instructions, which stand beside the messages, and then without.
 *
 * @param end where the transcript ends
 */
export function placesOf(
  scope: string,
  instructions: Fingerprint | undefined,
  transcript: Transcript,
  end: Fingerprint,
): Conversation {
  const origin = fingerprint(scope);
  const seeds = instructions === undefined ? [origin] : [follow(origin, instructions), origin];
  const places = (ends: readonly Fingerprint[]): readonly Fingerprint[] =>
    ends.flatMap((place) => seeds.map((seed) => follow(seed, place)));
  return { lookups: places(transcript.earlierEnds()), binds: places([end]) };
}

function follow(seed: Fingerprint, place: Fingerprint): Fingerprint {
  const high = avalanche(seed.high ^ Math.imul(place.high, 0x85ebca6b) ^ place.low);
  const low = avalanche(((seed.low ^ Math.imul(place.low, 0x297a2d39)) + high) | 0);
  return { high: high >>> 0, low: low >>> 0 };
}
