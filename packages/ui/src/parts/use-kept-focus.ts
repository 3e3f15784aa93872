import { type RefObject, useLayoutEffect, useRef } from "react";

/**
 * Keeps the focus in a dialog while a call is under way: its button cannot be pressed meanwhile, and from a button that is
 * disabled the next Tab would lead to the page behind. Afterwards the focus is where it was, or on what the answer led to.
 *
 * @param part anything within the dialog
 */
export function useKeptFocus(part: RefObject<HTMLElement | null>, isBusy: boolean, isOpen: boolean): void {
  const before = useRef<Element>(null);
  useLayoutEffect(() => {
    const dialog = part.current?.closest<HTMLElement>("[role=dialog]");
    if (!dialog) return;
    if (isBusy) {
      before.current = dialog.contains(document.activeElement) ? document.activeElement : null;
      dialog.focus();
      return;
    }
    const isWaiting = document.activeElement === dialog || document.activeElement === document.body;
    if (before.current === null || !isOpen || !isWaiting) return;
    const next = before.current.isConnected ? before.current : dialog.querySelector("[data-autofocus]");
    before.current = null;
    if (next instanceof HTMLElement) next.focus();
  }, [part, isBusy, isOpen]);
}
