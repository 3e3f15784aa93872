import { type Frame, SseFramer } from "./stream-framing.ts";
import { JsonFramer } from "./stream-json-framing.ts";
import type { StreamReading } from "./stream-opening.ts";
import { signsOf } from "./stream-signs.ts";
import { decodeUtf8 } from "./utf8.ts";

/**
 * Streams as bytes: nearly all frames are only looked through for a few words, and neither copied nor decoded. For programs
 * through which many go.
 */
export const bytesReading: StreamReading<Frame> = {
  events: (onFrame) => new SseFramer(onFrame),
  objects: (options) => new JsonFramer(options),
  signsOf: ({ bytes, from, to }) => signsOf(bytes, from, to),
  textOf: ({ bytes, from, to }) => decodeUtf8(bytes, from, to),
};
