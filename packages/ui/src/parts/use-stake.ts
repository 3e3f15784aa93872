import { useEffect } from "react";
import type { AtStake } from "./form-dialog.tsx";

/** Tells the dialog around it whether something was typed that would be lost with it. */
export function useStake(isDirty: boolean, onStake: (stake: AtStake) => void): void {
  useEffect(() => onStake(isDirty ? "typed" : "nothing"), [isDirty, onStake]);
}
