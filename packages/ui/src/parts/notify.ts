import { notifications } from "@mantine/notifications";
import { useTranslation } from "react-i18next";
import { useErrorText } from "../api/error-text.ts";
import { isSignedOut } from "../api/problem.ts";

interface Notify {
  readonly done: (message: string, more?: string) => void;
  /** Of what must be done; stays until it is closed. */
  readonly warn: (title: string, what: string) => void;
  /** @param title what did not come about */
  readonly failed: (title: string, error: unknown) => void;
  /** Tells of what takes its time. @returns ends it */
  readonly underWay: (title: string) => () => void;
}

/** Tells at the edge of the page what has no place of its own in it. */
export function useNotify(): Notify {
  const errorText = useErrorText();
  const { t } = useTranslation();
  const common = { withBorder: true, closeButtonProps: { "aria-label": t("common.close") } };
  return {
    done: (title, message) => void notifications.show({ color: "teal", title, message: message ?? "", ...common }),
    warn: (title, message) => void notifications.show({ color: "yellow", title, message, autoClose: false, ...common }),
    failed: (title, error) => {
      if (isSignedOut(error)) return;
      notifications.show({ color: "red", title, message: errorText(error), autoClose: 8_000, ...common });
    },
    underWay: (title) => {
      const id = notifications.show({ title, message: "", loading: true, autoClose: false, withCloseButton: false });
      return () => void notifications.hide(id);
    },
  };
}
