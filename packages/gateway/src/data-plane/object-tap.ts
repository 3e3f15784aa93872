import { ObjectTap as Tap } from "@keywheel/pool";
import { decodeBeginning } from "./content-coding.ts";
import type { StreamedAnswer } from "./streamed-answer.ts";

/** Learns from an answer of a transport of this gateway, as it goes by, which stored objects it shows. */
export class ObjectTap extends Tap<Buffer> {
  constructor(answer: StreamedAnswer, learn: (ids: readonly string[]) => void) {
    const coding = answer.header("content-encoding");
    super(answer, learn, {
      isCoded: coding !== undefined,
      latin1: (chunk) => chunk.toString("latin1"),
      text: (chunks) => decodeBeginning(Buffer.concat(chunks), coding),
    });
  }
}
