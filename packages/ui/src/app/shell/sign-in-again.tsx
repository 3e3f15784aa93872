import { Button, Modal, Stack, Text } from "@mantine/core";
import { use, useEffect, useSyncExternalStore, type ReactNode } from "react";
import { useTranslation } from "react-i18next";
import { useNavigate } from "react-router";
import { isSignedIn } from "../../api/client.ts";
import { signInGate } from "../../api/sign-in-gate.ts";
import { LiveContext } from "../../events/live-context.ts";
import { decided } from "../../parts/leave-guard.tsx";
import { SignInForm } from "../../parts/sign-in-form.tsx";
import { signInPath } from "../sign-in-path.ts";
import { useFocusBefore } from "./use-focus-before.ts";

/** Above every other dialog and what drops down in them. */
const zIndex = 1_000;

/**
 * Asks to sign in again over the page as it stands, so that nothing that was typed in it is lost. Calls that found the
 * browser signed out go on afterwards, and the events do.
 */
export function SignInAgain(): ReactNode {
  const { t } = useTranslation();
  const navigate = useNavigate();
  const live = use(LiveContext);
  const isAsking = useSyncExternalStore(signInGate.subscribe, () => signInGate.isAsking);
  const returnFocus = useFocusBefore(isAsking, "[data-asks-to-sign-in]");
  useEffect(() => signInGate.open(), []);
  useSignInElsewhere(isAsking);
  useEffect(() => {
    if (isAsking) live?.events.stop();
    else live?.events.start();
  }, [isAsking, live]);
  const leave = (): void => {
    signInGate.leave();
    live?.events.stop();
    void navigate(signInPath(window.location.href), { replace: true, state: decided });
  };
  return (
    <Modal
      opened={isAsking}
      onClose={leave}
      // It goes by its buttons alone: a slip of a key or the mouse would lose what it is there to keep.
      closeOnEscape={false}
      closeOnClickOutside={false}
      withCloseButton={false}
      title={t("signIn.againHeading")}
      overlayProps={{ backgroundOpacity: 0.5, blur: 4 }}
      zIndex={zIndex}
      returnFocus={false}
      onExitTransitionEnd={returnFocus}
      data-asks-to-sign-in
    >
      <Stack>
        <Text size="sm">{t("signIn.againHint")}</Text>
        <SignInForm
          otherWay={
            <Button variant="default" onClick={leave}>
              {t("signIn.leave")}
            </Button>
          }
        />
      </Stack>
    </Modal>
  );
}

/**
 * Goes on when this browser was signed in by other ways than our form: by a link, which may be all that a person has. It is
 * looked after whenever the person comes back to this tab.
 */
function useSignInElsewhere(isAsking: boolean): void {
  useEffect(() => {
    if (!isAsking) return;
    const look = (): void => {
      if (document.visibilityState === "visible") void isSignedIn().then((is) => is && signInGate.signedIn());
    };
    window.addEventListener("focus", look);
    document.addEventListener("visibilitychange", look);
    return () => {
      window.removeEventListener("focus", look);
      document.removeEventListener("visibilitychange", look);
    };
  }, [isAsking]);
}
