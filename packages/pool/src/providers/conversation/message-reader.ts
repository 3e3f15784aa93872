import type { JsonReader } from "./json-reader.ts";
import { Message, messageFields } from "./message.ts";
import { wordHash } from "./words.ts";

const textName = wordHash("text");
const contentName = wordHash("content");
const contentKind = 4;

/** Reads messages and what they hold, leaving hashes with the reader as it does itself. */
export class MessageReader {
  readonly #reader: JsonReader;
  /** By depth: only one at a time is being read there. */
  readonly #messages: Message[] = [];

  constructor(reader: JsonReader) {
    this.#reader = reader;
  }

  /**
   * Reads an object as a message, an item or a part.
   *
   * @param depth how many values it stands in
   * @returns what it says; good until the next one at this depth
   */
  readMessage(depth: number): Message {
    const reader = this.#reader;
    const message = this.#message(depth);
    if (reader.isTooDeep(depth)) return message;
    for (let more = reader.firstField(); more; more = reader.nextField()) {
      const { high, low } = reader;
      const field = messageFields.kindOf(low);
      if (field === "ignored") {
        reader.skip();
        continue;
      }
      if (field === "content") this.readContent(depth + 1);
      else reader.value(depth + 1);
      if (!reader.isEmpty) message.add(field, high, low, reader.high, reader.low);
    }
    return message.end();
  }

  /** Reads a text, which is the same as a message of a user with that text. */
  readTextMessage(): Message {
    const message = this.#message(0);
    this.readContent(1);
    if (!this.#reader.isEmpty) {
      message.add("content", contentName.high, contentName.low, this.#reader.high, this.#reader.low);
    }
    return message.end();
  }

  /**
   * Reads what a message holds: parts, one part, or a text, which is the same as one part with that text.
   *
   * @param depth how many values it stands in
   */
  readContent(depth: number): void {
    const reader = this.#reader;
    if (reader.peek() !== 0x5b) {
      this.#readPart(depth);
      if (reader.isEmpty) return;
      const { high, low } = reader;
      const alone = reader.lanes(depth, contentKind);
      alone.follow(high, low);
      reader.leave(alone.high, alone.low, false);
      return;
    }
    if (reader.isTooDeep(depth)) return;
    const chain = reader.lanes(depth, contentKind);
    let isEmpty = true;
    for (let more = reader.firstElement(); more; more = reader.nextElement()) {
      this.#readPart(depth + 1);
      if (reader.isEmpty) continue;
      chain.follow(reader.high, reader.low);
      isEmpty = false;
    }
    reader.leave(chain.high, chain.low, isEmpty);
  }

  #readPart(depth: number): void {
    const reader = this.#reader;
    const first = reader.peek();
    if (first === 0x7b) {
      const part = this.readMessage(depth);
      reader.leave(part.high, part.low, part.isEmpty);
      return;
    }
    reader.value(depth);
    if (first !== 0x22 || reader.isEmpty) return;
    const part = this.#message(depth);
    part.add(undefined, textName.high, textName.low, reader.high, reader.low);
    reader.leave(part.high, part.low, false);
  }

  #message(depth: number): Message {
    const message = this.#messages[depth] ?? new Message();
    this.#messages[depth] = message;
    return message.begin();
  }
}
