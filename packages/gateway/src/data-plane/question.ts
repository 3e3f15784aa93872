import {
  type Asked,
  askPool as ask,
  bytesReader,
  type Question,
  type RequestBytes,
  type SharedValues,
} from "@keywheel/pool";
import type { Admitted } from "./admission.ts";
import type { RequestBody } from "./request-body.ts";
import type { RequestTie } from "./request-record.ts";
import { modelInQuery } from "./websocket-handshake.ts";

export type SendableBody = Extract<RequestBody, { kind: "none" | "buffered" | "streamed" }>;

/** What a request wants of the pool of its provider. */
export function askPool(passage: Admitted, body: SendableBody, sharedValues: SharedValues): Asked {
  const { runtime, token, header, pathOnly, request, upgrade, target } = passage;
  const { record, pool, settings } = runtime;
  const askWith = (bytes: Buffer | undefined): Asked =>
    ask(
      {
        poolId: record.id,
        kind: record.kind,
        preset: record.preset,
        caller: token?.id ?? "",
        method: request.method ?? "",
        path: pathOnly,
        query: target.query,
        header,
        body: bytes && bytesOf(bytes),
        model: upgrade === undefined ? undefined : modelInQuery(target.query),
        at: passage.startedAt,
      },
      { hasPins: pool.hasPins, affinityEnabled: settings.affinity.enabled, sharedValues },
      bytesReader,
    );
  return body.kind === "buffered" ? body.pieces.lookThrough(askWith) : askWith(undefined);
}

/** What ties a request to a key, beside a session and objects that it names. */
export function tieOf({ session, conversation, first, objects }: Question): RequestTie | undefined {
  if (session !== undefined) return undefined;
  if (conversation !== undefined) return "conversation";
  return first === true && objects === undefined ? "first" : undefined;
}

function bytesOf(bytes: Buffer): RequestBytes {
  return { bytes, latin1: () => bytes.toString("latin1"), includes: (text) => bytes.includes(text) };
}
