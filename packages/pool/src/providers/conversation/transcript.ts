import { Lanes } from "./lanes.ts";
import type { Fingerprint } from "../../rules/fingerprint.ts";
import type { Author } from "./vocabulary.ts";

const transcriptKind = 5;
/** So many of the newest places are all looked up; behind them, each further sixteen lie twice as far apart. */
const nearPlaces = 32;
const placesPerStride = 16;
/** Places that no words of the model follow: within a run of users' messages or of tools' results. */
const openPlaces = 8;

/** A message as far as a transcript needs it. */
export interface Said extends Fingerprint {
  readonly author: Author;
  /** Whether nothing was said, or only thought: it then counts as if it were not there. */
  readonly isEmpty: boolean;
}

interface Place extends Fingerprint {
  /** Whether the model spoke next, as it does where a request ended. */
  isAnswered: boolean;
  /** Whether anything but instructions came before. */
  readonly isInTalk: boolean;
}

/**
 * The messages of a request as hashes of its beginnings, each up to a message that is not the model's: where an earlier
 * request can have ended.
 *
 * What the model shall go on with (a last message of its own) does not belong to the end of the request itself: the client
 * will send it back joined to the answer.
 */
export class Transcript {
  readonly #chain: Lanes = new Lanes().begin(transcriptKind);
  readonly #places: Place[] = [];
  #isInTalk = false;
  #isContinued = false;

  /** Where this request ends; undefined if nobody but the model said anything. */
  get end(): Fingerprint | undefined {
    return this.#places.at(-1);
  }

  add(message: Said): void {
    const { author } = message;
    if (author === "model") {
      const last = this.#places.at(-1);
      if (last !== undefined) last.isAnswered = true;
      // A greeting before the user's first words answers nothing.
      if (this.#isInTalk) this.#isContinued = true;
    }
    if (message.isEmpty) return;
    const chain = this.#chain;
    chain.follow(message.high, message.low);
    if (author === "model") return;
    if (author === "user") this.#isInTalk = true;
    this.#places.push({ high: chain.high, low: chain.low, isAnswered: false, isInTalk: this.#isInTalk });
  }

  /** Where earlier requests may have ended, longest first; the end of this one among them unless it is a first turn. */
  earlierEnds(): readonly Fingerprint[] {
    const ends: Fingerprint[] = [];
    let open = 0;
    let stride = 1;
    let toPass = 0;
    let oldest: Fingerprint | undefined;
    for (let i = this.#places.length - (this.#isContinued ? 1 : 2); i >= 0; i--) {
      const place = this.#places[i];
      if (place === undefined || !this.#canBeEnd(place, open)) continue;
      if (!place.isAnswered) open++;
      oldest = place;
      if (toPass-- > 0) continue;
      ends.push(place);
      if (ends.length >= nearPlaces && ends.length % placesPerStride === 0) stride *= 2;
      toPass = stride - 1;
    }
    if (oldest !== undefined && ends.at(-1) !== oldest) ends.push(oldest);
    return ends;
  }

  #canBeEnd(place: Place, open: number): boolean {
    return place.isAnswered || (place.isInTalk && open < openPlaces);
  }
}
