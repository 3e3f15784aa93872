import type { Fingerprint } from "../rules/fingerprint.ts";
import { JsonReader } from "./conversation/json-reader.ts";
import { Lanes } from "./conversation/lanes.ts";
import { MessageReader } from "./conversation/message-reader.ts";
import { type Conversation, placesOf } from "./conversation/places.ts";
import { type Said, Transcript } from "./conversation/transcript.ts";
import { type MessagesField, type RequestField, requestWords } from "./conversation/vocabulary.ts";
import { type WordHash, WordTable } from "./conversation/words.ts";

/**
 * The conversation that a request to a model carries: OpenAI's `messages`, Anthropic's `messages` and `system`, the
 * `input` and `instructions` of Responses, Gemini's `contents` and `systemInstruction`. The body is read once: for less
 * than parsing it costs where texts are long, for about as much where they are a few words each, and for next to nothing
 * where it has none of these.
 *
 * A request continues another if its messages begin with all of the other's. Messages are compared by what they say:
 * their fields in any order and spelling, without cache markers, ids of items and calls, states, annotations, thoughts and
 * their signatures, empty fields, and without the difference between a text and a single part of text. What the model
 * said counts too, as the client sends it back: two conversations that differ in an answer part there.
 *
 * - A first turn does not look for itself, so that its text may repeat. A request is no first turn once the model has
 *   spoken after a user: sent again unchanged, it goes where it went.
 * - Two first turns that say the same are one to those who come after: these go to the key of the later one.
 * - The model is not part of it: a conversation that changes its model keeps its key, and comes back to a warm cache.
 * - Instructions that stand beside the messages are a preference: each place is looked up with them and then without, as
 *   programs with one opening and several instructions shall not be mixed up, and some clients put the date there. As a
 *   message (`system`, `developer`) they count as messages do.
 * - History that was cut off at the front is not recognised. History that was changed somewhere is found by what came
 *   before the change.
 *
 * Embeddings have an `input` as well: do not ask for them (a single text would be bound as a first turn).
 *
 * @param scope what keeps equal conversations of different callers apart: pool and gateway token
 * @param bytes the body, as it came
 * @returns undefined if it holds no messages, is not JSON (where it was read: what is passed over is not checked), is
 *   nested deeper than a hundred levels, or names a history that the provider keeps (`previous_response_id`,
 *   `conversation`), of which its messages are only the end
 * @see contract §2 "Sessions" point 4
 */
export function conversationOf(scope: string, bytes: Uint8Array): Conversation | undefined {
  const request = readRequest(new JsonReader(bytes));
  const end = request?.transcript.end;
  if (request === undefined || end === undefined) return undefined;
  return placesOf(scope, request.instructions, request.transcript, end);
}

/**
 * What the user said first in a request to a model: enough to tell conversations apart that have all else in common. Reads
 * no further than that.
 *
 * @param bytes the body, as it came
 * @returns undefined if no user says anything in it
 */
export function openingOf(bytes: Uint8Array): Fingerprint | undefined {
  const reader = new JsonReader(bytes);
  if (reader.peek() !== 0x7b) return undefined;
  const messages = new MessageReader(reader);
  for (let more = reader.firstField(); more; more = reader.nextField()) {
    const field = fields.kindOf(reader.low);
    if (field === "messages" || field === "contents" || field === "input") {
      const opening = readOpening(reader, messages);
      if (opening !== undefined) return opening;
    } else reader.skip();
  }
  return undefined;
}

interface Request {
  readonly transcript: Transcript;
  readonly instructions: WordHash | undefined;
}

const fields: WordTable<RequestField> = new WordTable(requestWords);

const instructionsKind = 6;

function readRequest(reader: JsonReader): Request | undefined {
  if (reader.peek() !== 0x7b) return undefined;
  const messages = new MessageReader(reader);
  const found: { [Field in MessagesField]?: Transcript | undefined } = {};
  const instructions = new Lanes().begin(instructionsKind);
  let hasInstructions = false;
  let isKept = false;
  for (let more = reader.firstField(); more; more = reader.nextField()) {
    const { high, low } = reader;
    const field = fields.kindOf(low);
    if (field === undefined) reader.skip();
    else if (field === "kept") {
      reader.value(1);
      isKept ||= !reader.isEmpty;
    } else if (field === "instructions") {
      messages.readContent(1);
      if (reader.isEmpty) continue;
      instructions.addField(high, low, reader.high, reader.low);
      hasInstructions = true;
    } else found[field] = readTranscript(reader, messages);
  }
  const transcript = found.messages ?? found.contents ?? found.input;
  if (transcript === undefined || isKept || !reader.isAtEnd) return undefined;
  return { transcript, instructions: hasInstructions ? instructions : undefined };
}

/** Reads messages: an array of them, one alone, or a text, which is the same as one message of a user. */
function readTranscript(reader: JsonReader, messages: MessageReader): Transcript | undefined {
  const transcript = new Transcript();
  const first = reader.peek();
  if (first === 0x22) transcript.add(messages.readTextMessage());
  else if (first === 0x7b) transcript.add(messages.readMessage(1));
  else if (first === 0x5b) readMessages(reader, messages, transcript);
  else reader.skip();
  return transcript.end === undefined ? undefined : transcript;
}

function readMessages(reader: JsonReader, messages: MessageReader, transcript: Transcript): void {
  for (let more = reader.firstElement(); more; more = reader.nextElement()) {
    // Texts or numbers to be embedded, say: no conversation, and nothing to read on for.
    if (reader.peek() !== 0x7b) reader.break();
    else transcript.add(messages.readMessage(2));
  }
}

function readOpening(reader: JsonReader, messages: MessageReader): Fingerprint | undefined {
  const first = reader.peek();
  if (first === 0x22) return openingIn(messages.readTextMessage());
  if (first === 0x7b) return openingIn(messages.readMessage(1));
  if (first !== 0x5b) reader.skip();
  else {
    for (let more = reader.firstElement(); more; more = reader.nextElement()) {
      if (reader.peek() !== 0x7b) reader.break();
      const opening = openingIn(messages.readMessage(2));
      if (opening !== undefined) return opening;
    }
  }
  return undefined;
}

function openingIn({ author, isEmpty, high, low }: Said): Fingerprint | undefined {
  return author === "user" && !isEmpty ? { high, low } : undefined;
}
