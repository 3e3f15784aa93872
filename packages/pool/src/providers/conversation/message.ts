import { Lanes } from "./lanes.ts";
import {
  type Author,
  authorOf,
  type ItemType,
  type MessageField,
  messageWords,
  type Role,
  roleWords,
  typeWords,
} from "./vocabulary.ts";
import { wordHash, WordTable } from "./words.ts";

/** The fields of messages and of their parts, by name. */
export const messageFields: WordTable<MessageField> = new WordTable(messageWords);

const roles = new WordTable(roleWords);
const types = new WordTable(typeWords);

const idName = wordHash("id");
const nameName = wordHash("name");
const messageKind = 3;

/**
 * What a message, an item or a part says, added up field by field. Fields whose values are empty are not to be added: they
 * may as well be left out.
 *
 * To be begun anew for each message, as a history has more of them than is good to allocate.
 */
export class Message {
  readonly #sum = new Lanes();
  #hasWords = false;
  #isHidden = false;
  #role: Role | "other" | undefined;
  #type: ItemType | "other" | undefined;
  #hasId = false;
  #idHigh = 0;
  #idLow = 0;
  #hasName = false;
  #nameHigh = 0;
  #nameLow = 0;

  begin(): this {
    this.#sum.begin(messageKind);
    this.#hasWords = this.#isHidden = this.#hasId = this.#hasName = false;
    this.#role = this.#type = undefined;
    return this;
  }

  /** The hash as two 32-bit integers, once `end` was called. */
  get high(): number {
    return this.#sum.high;
  }

  get low(): number {
    return this.#sum.low;
  }

  /** Whether nothing was said, or only thought: it then counts as if it were not there. */
  get isEmpty(): boolean {
    return !this.#hasWords || this.#isHidden || this.#type === "hidden";
  }

  get author(): Author {
    return authorOf(this.#role, this.#type);
  }

  /** Adds a field by the hashes of its name and value. */
  add(field: MessageField | undefined, nameHigh: number, nameLow: number, high: number, low: number): void {
    switch (field) {
      case undefined:
      case "content":
        this.#say(nameHigh, nameLow, high, low);
        break;
      case "role":
        this.#role = roles.kindOf(low) ?? "other";
        // Without a role it is a user who speaks.
        if (this.#role !== "user") this.#sum.addField(nameHigh, nameLow, high, low);
        break;
      case "type":
        this.#type = types.kindOf(low) ?? "other";
        if (this.#type !== "plain") this.#sum.addField(nameHigh, nameLow, high, low);
        break;
      case "thought":
        this.#isHidden = true;
        break;
      case "id":
        this.#hasId = true;
        this.#idHigh = high;
        this.#idLow = low;
        break;
      case "name":
        this.#hasName = true;
        this.#nameHigh = high;
        this.#nameLow = low;
        break;
      case "ignored":
    }
  }

  /** To be called behind the last field: only now is it known what an id or a name means. */
  end(): this {
    if (this.#hasId && this.#type === "reference") this.#say(idName.high, idName.low, this.#idHigh, this.#idLow);
    if (this.#hasName && this.#role === undefined) {
      this.#say(nameName.high, nameName.low, this.#nameHigh, this.#nameLow);
    }
    return this;
  }

  #say(nameHigh: number, nameLow: number, high: number, low: number): void {
    this.#sum.addField(nameHigh, nameLow, high, low);
    this.#hasWords = true;
  }
}
