import type { ReactNode } from "react";
import { useTranslation } from "react-i18next";
import { type Location, useBeforeUnload, useBlocker } from "react-router";
import { DiscardQuestion } from "./discard-question.tsx";

/** Of a navigation that nobody is to be asked about: what was at stake is gone, or the person has decided. */
export const decided = { isDecided: true } as const;

export interface LeaveGuardProps {
  /** Whether something would be lost. */
  readonly isDirty: boolean;
  /** Whether what was typed is still there at that place. */
  readonly isSamePlace: (next: Location) => boolean;
}

/** Asks before a page is left on which something was typed and not saved. One to a page: a router knows one at a time. */
export function LeaveGuard({ isDirty, isSamePlace }: LeaveGuardProps): ReactNode {
  const { t } = useTranslation();
  const blocker = useBlocker(({ nextLocation }) => {
    const isDecided = (nextLocation.state as Partial<typeof decided> | null)?.isDecided === true;
    return isDirty && !isDecided && !isSamePlace(nextLocation);
  });
  useBeforeUnload((event) => {
    if (isDirty) event.preventDefault();
  });
  return (
    <DiscardQuestion
      isOpen={blocker.state === "blocked"}
      title={t("common.leaveHeading")}
      stayLabel={t("common.leaveNot")}
      discardLabel={t("common.leave")}
      onStay={() => blocker.reset?.()}
      onDiscard={() => blocker.proceed?.()}
    >
      {t("common.discardTyped")}
    </DiscardQuestion>
  );
}
