import { useEffect, useRef } from "react";

/**
 * Keeps what had the focus before a dialog came, also where it was lost before that, as by a button that is disabled while
 * its call is under way.
 *
 * @param within a selector of the dialog
 * @returns gives the focus back to it; where it cannot take it, to the dialog or the page that it is in
 */
export function useFocusBefore(isOpen: boolean, within: string): () => void {
  const last = useRef<Element | null>(null);
  useEffect(() => {
    if (isOpen) return;
    const note = ({ target }: FocusEvent): void => {
      // A dialog that is closing still takes the focus, and is gone in a moment.
      if (target instanceof Element && target.closest(within) === null) last.current = target;
    };
    last.current ??= document.activeElement;
    document.addEventListener("focusin", note);
    return () => document.removeEventListener("focusin", note);
  }, [isOpen, within]);
  return () => {
    const places = [last.current, last.current?.closest('[role="dialog"]'), document.getElementById("main")];
    for (const place of places) {
      if (!(place instanceof HTMLElement) || !place.isConnected) continue;
      place.focus({ preventScroll: true });
      if (document.activeElement === place) return;
    }
  };
}
