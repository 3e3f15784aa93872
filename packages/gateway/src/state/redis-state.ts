import type { Clock } from "@keywheel/pool";
import { LinkedState, type LinkedStateOptions } from "./linked-state.ts";
import { RedisLink } from "./redis-link.ts";
import type { RedisAddress } from "./redis-url.ts";

export interface RedisStateOptions extends Omit<LinkedStateOptions, "connect"> {
  readonly address: RedisAddress;
  readonly clock: Clock;
  /** Begins every key and names the channel; default `kw`. */
  readonly namespace?: string;
}

/** The shared state of several processes in Redis or Valkey. Waits a second at the most for a server that is away. */
export function openRedisState({ address, namespace = "kw", ...options }: RedisStateOptions): Promise<LinkedState> {
  return LinkedState.open({
    ...options,
    connect: (listener) => RedisLink.open({ address, namespace, ...listener }),
  });
}
