/** Who made a message. Tools count as users: both speak to the model. */
export type Author = "model" | "user" | "system";

/** A field of a request that its conversation is in, or that says that it is elsewhere. */
export type RequestField = MessagesField | "instructions" | "kept";
export type MessagesField = "messages" | "contents" | "input";

/** A field of a message or part that is not simply what it says. */
export type MessageField = "content" | "ignored" | "role" | "type" | "id" | "name" | "thought";
export type Role = "model" | "system" | "user";
export type ItemType = "plain" | "hidden" | "reference" | "answer";

/** The words of each kind, separated by spaces. */
export type Words<Kind extends string> = Readonly<Record<Kind, string>>;

export const requestWords: Words<RequestField> = {
  messages: "messages",
  contents: "contents",
  input: "input",
  instructions: "system instructions systemInstruction system_instruction",
  kept: "previous_response_id conversation",
};

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
export const messageWords: Words<MessageField> = {
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
};

/** Values of `role`; a tool's has another. */
export const roleWords: Words<Role> = { model: "assistant model", system: "system developer", user: "user" };

/**
 * Values of `type`.
 *
 * - `plain`: says nothing that the fields beside it do not say
 * - `hidden`: thoughts
 * - `reference`: stands for an item by its id
 * - `answer`: an item without a role that is not the model's
 */
export const typeWords: Words<ItemType> = {
  plain: "text input_text output_text message function",
  hidden: "thinking redacted_thinking reasoning",
  reference: "item_reference",
  answer:
    "function_call_output custom_tool_call_output computer_call_output local_shell_call_output shell_call_output " +
    "apply_patch_call_output tool_search_output mcp_approval_response",
};

/** Who speaks, by the role and type of a message; "other" for those that are not known, undefined where there is none. */
export function authorOf(role: Role | "other" | undefined, type: ItemType | "other" | undefined): Author {
  if (role === "model" || role === "system") return role;
  const isItem = role === undefined && type !== undefined;
  return isItem && type !== "plain" && type !== "answer" ? "model" : "user";
}
