import { Lanes } from "./lanes.ts";
import { wordHash, WordTable } from "./words.ts";

/** Who made a message. Tools count as users: both speak to the model. */
export type Author = "model" | "user" | "system";

/** A field of a message or part that is not simply what it says. */
export type MessageField = "content" | "ignored" | "role" | "type" | "id" | "name" | "thought";

/**
 * The fields of messages and of their parts, by name. The insides of what a tool was asked and answered are not looked at
 * with these eyes: an `id` there is content.
 *
 * - `content`: parts, or one part, or a text that stands for one part
 * - `ignored`: what clients add, move, drop or number anew between turns without saying anything else: cache markers, ids
 *   of items and calls, states, annotations, and the model's thoughts with their signatures, which many clients send back
 *   for the latest turn only
 * - `id`: content only where it stands for an item
 * - `name`: content for a call, but a participant in a message with a role
 */
export const messageFields: WordTable<MessageField> = new WordTable({
  content:
    "content parts tool_calls function function_call functionCall functionResponse function_response toolUse toolResult",
  ignored:
    "call_id tool_call_id tool_use_id toolUseId index status cache_control cachePoint annotations citations logprobs " +
    "signature thoughtSignature thought_signature encrypted_content thinking thinking_blocks reasoning " +
    "reasoning_content reasoning_details reasoningContent provider_specific_fields extra_content",
  role: "role",
  type: "type",
  id: "id",
  name: "name",
  thought: "thought",
});

/** Values of `role`; a tool's has another. */
const roles = new WordTable({ model: "assistant model", system: "system developer", user: "user" });

/**
 * Values of `type`.
 *
 * - `plain`: says nothing that the fields beside it do not say
 * - `hidden`: thoughts
 * - `reference`: stands for an item by its id
 * - `answer`: an item without a role that is not the model's
 */
const types = new WordTable({
  plain: "text input_text output_text message function",
  hidden: "thinking redacted_thinking reasoning",
  reference: "item_reference",
  answer:
    "function_call_output custom_tool_call_output computer_call_output local_shell_call_output shell_call_output " +
    "apply_patch_call_output tool_search_output mcp_approval_response",
});

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
  #role: "model" | "system" | "user" | "other" | undefined;
  #type: "plain" | "hidden" | "reference" | "answer" | "other" | undefined;
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
    if (this.#role === "model" || this.#role === "system") return this.#role;
    const isItem = this.#role === undefined && this.#type !== undefined;
    return isItem && this.#type !== "plain" && this.#type !== "answer" ? "model" : "user";
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
