import { useLayoutEffect } from "react";
import type { AtStake } from "./form-dialog.tsx";

/** Tells the dialog around it whether something was typed that would be lost with it. */
export function useStake(isDirty: boolean, onStake: (stake: AtStake) => void): void {
  // Before anything else can happen: a click right behind the typing must find it known.
  useLayoutEffect(() => onStake(isDirty ? "typed" : "nothing"), [isDirty, onStake]);
}
