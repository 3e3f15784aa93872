import type { Duplex } from "node:stream";
import { StreamedAnswer } from "./streamed-answer.ts";

/** The provider has granted an upgrade: an answer without a body, and the connection, which is no longer HTTP's. */
export class UpgradedAnswer extends StreamedAnswer {
  /** Not read until somebody does. */
  readonly connection: Duplex;

  constructor(head: ConstructorParameters<typeof StreamedAnswer>[0], connection: Duplex) {
    super(head, { pause: () => {}, resume: () => {}, abort: () => connection.destroy() });
    this.connection = connection;
    connection.pause();
    // Until it is relayed, nobody else would hear of it.
    connection.on("error", () => {});
  }

  override discard(): void {
    this.connection.destroy();
  }
}
