import type { LinkListener, Sight, StateCall, StateLink } from "../../state/state-link.ts";
import type { Answer } from "../../state/wire.ts";
import type { Channel } from "./channel.ts";
import type { PrimarySubjects, WorkerSubjects } from "./subjects.ts";

/** The way to the state in the primary process. It is always there: a worker does not outlive its primary. */
export class PrimaryLink implements StateLink {
  readonly isReady = true;
  readonly #channel: Channel<WorkerSubjects, PrimarySubjects>;

  constructor(
    channel: Channel<WorkerSubjects, PrimarySubjects>,
    hear: (onPush: LinkListener["onPush"]) => void,
    listener: LinkListener,
  ) {
    this.#channel = channel;
    hear(listener.onPush);
  }

  run(call: StateCall): Promise<Answer> {
    return this.#channel.ask("state", call);
  }

  look(poolId: string): Promise<Sight> {
    return this.#channel.ask("look", poolId);
  }

  /** The primary has removed it. */
  async remove(): Promise<void> {}

  async ping(): Promise<void> {
    await this.#channel.ask("ping", undefined);
  }

  close(): void {}
}
