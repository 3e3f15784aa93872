import { conversationOf, openingOf } from "./conversation.ts";
import { scanFields } from "./json-scan.ts";
import type { BodyReader, RequestBody } from "./question.ts";

/** Bytes, and how to read them as Latin-1 and to search them: Node does both faster than anybody else. */
export interface RequestBytes extends RequestBody {
  readonly bytes: Uint8Array;
}

/** Reads a body once, as it came, and parses nothing: for programs through which many long ones go. */
export const bytesReader: BodyReader<RequestBytes> = {
  fields: ({ bytes }, wanted) => scanFields(bytes, wanted),
  conversation: ({ bytes }, scope) => conversationOf(scope, bytes),
  opening: ({ bytes }) => openingOf(bytes),
};
