import type { Conversation } from "./conversation/places.ts";
import { conversationOf, openingOf } from "./conversation.ts";
import { jsonValue } from "./json-scan.ts";
import { parsedConversationOf, parsedOpeningOf } from "./parsed-conversation.ts";
import type { Fingerprint } from "../rules/fingerprint.ts";

export interface ConversationReader {
  readonly conversationOf: (scope: string, bytes: Uint8Array) => Conversation | undefined;
  readonly openingOf: (bytes: Uint8Array) => Fingerprint | undefined;
}

/** Both ways of reading conversations, which must find the same ones. */
export const conversationReaders: readonly (readonly [name: string, reader: ConversationReader])[] = [
  ["bytes", { conversationOf, openingOf }],
  [
    "a parsed body",
    {
      conversationOf: (scope, bytes) => parsedConversationOf(scope, parsed(bytes)),
      openingOf: (bytes) => parsedOpeningOf(parsed(bytes)),
    },
  ],
];

function parsed(bytes: Uint8Array): unknown {
  return jsonValue(new TextDecoder().decode(bytes));
}
