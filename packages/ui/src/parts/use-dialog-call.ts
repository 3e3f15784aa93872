import { useMutation } from "@tanstack/react-query";
import { useTranslation } from "react-i18next";
import { useDialog } from "./dialog-context.ts";
import { useNotify } from "./notify.ts";
import { useIsThere } from "./use-is-there.ts";
import { useLatest } from "./use-latest.ts";

export interface DialogCallOptions<Input, Answer> {
  /** Sends it, and does what follows from the answer wherever the person is: what is shown anew, what is told. */
  readonly send: (input: Input) => Promise<Answer>;
  /** What follows only while the dialog is there, as closing it and leading on. */
  readonly onDone: (answer: Answer) => void;
  /** The answer came when the page with the dialog had been left. */
  readonly onMissed?: (answer: Answer) => void;
  /** Only while the dialog is there; a failure that nobody sees there is told at the edge of the page. */
  readonly onFailed?: (error: Error) => void;
}

export interface DialogCall<Input> {
  /** Does nothing while a call of the dialog is under way, and while the dialog closes. */
  readonly run: (input: Input) => void;
  /** Of the last call; null while there is none. */
  readonly error: Error | null;
}

/** What a dialog sends: once, however often it is clicked. The dialog stays until the answer is there. */
export function useDialogCall<Answer, Input = void>(options: DialogCallOptions<Input, Answer>): DialogCall<Input> {
  const { t } = useTranslation();
  const notify = useNotify();
  const dialog = useDialog();
  const isThere = useIsThere();
  // Nothing of it is kept: an answer may hold a secret.
  const { mutateAsync, error } = useMutation({ mutationFn: options.send, gcTime: 0 });
  const { onDone, onMissed, onFailed } = useLatest({
    onDone: options.onDone,
    onMissed: (answer: Answer) => options.onMissed?.(answer),
    onFailed: (failure: Error) => options.onFailed?.(failure),
  });
  const run = async (input: Input): Promise<void> => {
    if (!dialog.begin()) return;
    let answer: Answer;
    try {
      answer = await mutateAsync(input);
    } catch (failure) {
      dialog.end();
      if (isThere()) onFailed(failure as Error);
      else notify.failed(t("errors.failedNamed", { what: dialog.title }), failure);
      return;
    }
    dialog.end();
    if (isThere()) onDone(answer);
    else onMissed(answer);
  };
  return { run: (input) => void run(input), error };
}
