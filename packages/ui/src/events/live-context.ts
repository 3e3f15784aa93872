import { createContext, use, useEffect, useEffectEvent, useSyncExternalStore } from "react";
import type { GatewayEvent, LiveEvents, LiveState } from "./live-events.ts";
import type { Refresher } from "./refresher.ts";

interface Live {
  readonly events: LiveEvents;
  readonly refresher: Refresher;
}

export const LiveContext = createContext<Live | undefined>(undefined);

function useLiveParts(): Live {
  const live = use(LiveContext);
  if (!live) throw new Error("There is no LiveContext around this component");
  return live;
}

/**
 * Calls back with every event while the component is shown. Answers of the API are refreshed without this.
 *
 * @public for pages that show events themselves
 */
export function useLiveEvent(listener: (event: GatewayEvent) => void): void {
  const { events } = useLiveParts();
  const latest = useEffectEvent(listener);
  useEffect(() => events.subscribe((event) => latest(event)), [events]);
}

export function useLiveState(): LiveState {
  const { events } = useLiveParts();
  return useSyncExternalStore(events.subscribeToState, () => events.state);
}

export function useRefresher(): Refresher {
  return useLiveParts().refresher;
}
