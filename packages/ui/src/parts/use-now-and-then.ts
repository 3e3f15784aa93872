import { useInterval } from "@mantine/hooks";
import { useReducer } from "react";

/** Draws the component again every so often, so that what it tells of the time stays true. */
export function useNowAndThen(everyMs: number): void {
  const [, again] = useReducer((count: number) => count + 1, 0);
  useInterval(again, everyMs, { autoInvoke: true });
}
