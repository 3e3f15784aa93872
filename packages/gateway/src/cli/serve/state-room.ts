import { type Clock, MemoryState, type SharedState } from "@keywheel/pool";
import type { RedisAddress } from "../../state/redis-url.ts";
import type { StateHost } from "../../state/state-host.ts";
import type { Log } from "../../telemetry/log.ts";

/** Where requests find the state that they share, and whether it is shared with other gateways just now. */
export interface StateRoom {
  readonly state: SharedState;
  readonly kind: "memory" | "redis";
  /** Why this gateway decides alone although it should not; undefined while all is well. */
  readonly trouble: () => string | undefined;
  readonly close: () => void;
  /** The same state, where worker processes ask for it; undefined if there are none, or if they ask Redis. */
  readonly host: StateHost | undefined;
}

export interface StateRoomOptions {
  readonly redisUrl: RedisAddress | undefined;
  readonly clock: Clock;
  /** Whether worker processes take part. */
  readonly hasWorkers: boolean;
  readonly log: Log;
}

/** In memory; or in Redis, whose client is loaded only then. Never waits for longer than a second. */
export async function openStateRoom({ redisUrl, clock, hasWorkers, log }: StateRoomOptions): Promise<StateRoom> {
  if (redisUrl === undefined) {
    const own = { kind: "memory", trouble: () => undefined, close: () => {} } as const;
    if (!hasWorkers) return { ...own, state: new MemoryState({ clock }), host: undefined };
    const { StateHost } = await import("../../state/state-host.ts");
    const host = new StateHost({ clock });
    return { ...own, state: host, host };
  }
  const { openRedisState } = await import("../../state/redis-state.ts");
  const tell = (trouble: string | undefined): void => {
    if (trouble === undefined) log.warn({}, "Redis is back: state is shared with the other gateways again");
    else log.error({ trouble }, "Redis is away: this gateway goes on alone with what it knows");
  };
  const state = await openRedisState({ address: redisUrl, clock, onTrouble: tell });
  if (state.trouble !== undefined) tell(state.trouble);
  return { state, kind: "redis", trouble: () => state.trouble, close: () => state.close(), host: undefined };
}
