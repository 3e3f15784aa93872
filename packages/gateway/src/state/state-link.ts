import type { Answer, Push } from "./wire.ts";

/** One decision that is asked for where the state is shared. */
export interface StateCall {
  readonly poolId: string;
  readonly decision: string;
  /** The asker's clock, epoch ms. */
  readonly now: number;
  /** Names the process that asks, where others are told of what came of it. */
  readonly origin: string;
  readonly body: unknown;
  /** Bindings that it is about. */
  readonly names: readonly string[];
  /** Of `configure`: alike for pools of the same shape, and the name that a pool gets which is not there yet. */
  readonly shape?: { readonly signature: string; readonly born: string };
}

/** How far a pool is where the state is shared. */
export interface Sight {
  readonly version: number;
  /** Tells it from one of the same id that was there before; undefined if there is none. */
  readonly born: string | undefined;
}

/** The way to where the state is shared: a server, or another process on the same machine. It comes back by itself. */
export interface StateLink {
  /** Whether it can be asked, and what others do is heard. */
  readonly isReady: boolean;
  run(call: StateCall): Promise<Answer>;
  /** Costs less than a decision. */
  look(poolId: string): Promise<Sight>;
  /** Forgets a pool. */
  remove(poolId: string): Promise<void>;
  /** Settles when the other side has answered on every way. */
  ping(): Promise<void>;
  close(): void;
}

export interface LinkListener {
  /** Called with what others did, in the order in which it was done. */
  readonly onPush: (push: Push) => void;
  /** Called when a connection was lost. */
  readonly onLost: () => void;
  /** Called with why a connection could not be made. */
  readonly onError: (message: string) => void;
}
