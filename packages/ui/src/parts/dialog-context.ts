import { createContext, use } from "react";

/** What stands in a dialog may know of it, and do with it. */
export interface DialogHandle {
  readonly title: string;
  /** A call of it is under way: it cannot be closed meanwhile. */
  readonly isBusy: boolean;
  /** Closes this dialog and no other; does nothing while a call is under way, and once it is closed. */
  readonly close: () => void;
  /** Asked before each call. @returns false where there must be none: one is under way, or the dialog is just closing */
  readonly begin: () => boolean;
  /** Told after each call for which `begin` was true. What closes the dialog, or leads on in it, follows at once. */
  readonly end: () => void;
}

export const DialogContext = createContext<DialogHandle | undefined>(undefined);

/** The dialog around. */
export function useDialog(): DialogHandle {
  const dialog = use(DialogContext);
  if (dialog === undefined) throw new Error("There is no dialog around this");
  return dialog;
}
