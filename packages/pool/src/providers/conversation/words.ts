import { JsonReader } from "./json-reader.ts";

/** The hash under which a reader leaves a name or a string, as two 32-bit integers. */
export interface WordHash {
  readonly high: number;
  readonly low: number;
}

/** The hash of an ASCII word, as a reader gives it. */
export function wordHash(word: string): WordHash {
  const reader = new JsonReader(Uint8Array.from(`"${word}"`, (character) => character.charCodeAt(0)));
  reader.value(0);
  return { high: reader.high, low: reader.low };
}

const places = 256;

/**
 * Knows words by the lower half of their hash: another word is taken for one of them once in a hundred million. In arrays,
 * as it is asked for every field of a body.
 */
export class WordTable<Kind extends string> {
  readonly #lows = new Int32Array(places);
  readonly #kinds: (Kind | undefined)[] = Array.from<Kind | undefined>({ length: places }).fill(undefined);

  /** @param kinds the words of each kind, separated by spaces; fewer than 200 in all */
  constructor(kinds: Readonly<Record<Kind, string>>) {
    for (const kind in kinds) {
      for (const word of kinds[kind].split(" ")) {
        const { low } = wordHash(word);
        const place = this.#place(low);
        this.#lows[place] = low;
        this.#kinds[place] = kind;
      }
    }
  }

  /** @param low the lower half of a word's hash */
  kindOf(low: number): Kind | undefined {
    return this.#kinds[this.#place(low)];
  }

  /** Where the word is, or the empty place where it would be. */
  #place(low: number): number {
    let place = low & (places - 1);
    while (this.#kinds[place] !== undefined && this.#lows[place] !== low) place = (place + 1) & (places - 1);
    return place;
  }
}
