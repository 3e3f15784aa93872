import type { UseFormReturnType } from "@mantine/form";
import { useEffect, useEffectEvent } from "react";

/**
 * Lays what is stored now under a form: fields that were not touched show it, others keep what was typed.
 *
 * @param isTyped whether a field holds what must not be lost
 */
export function layUnder<Values extends object>(
  form: UseFormReturnType<Values>,
  stored: Values,
  isTyped: (field: keyof Values) => boolean,
): void {
  const typed = Object.entries(form.getValues()).filter(([field]) => isTyped(field as keyof Values));
  form.setInitialValues(stored);
  form.setValues({ ...stored, ...Object.fromEntries(typed) });
  form.resetDirty(stored);
}

/** Keeps a form in step with what is stored, whoever changed that. */
export function useStoredForm<Values extends object>(form: UseFormReturnType<Values>, stored: Values): void {
  const follow = useEffectEvent(() => {
    const shown: Partial<Values> = form.getInitialValues();
    if (JSON.stringify(shown) !== JSON.stringify(stored))
      layUnder(form, stored, (field) => form.isDirty(String(field)));
  });
  const mark = JSON.stringify(stored);
  useEffect(() => follow(), [mark]);
}

/**
 * Lays what was saved under a form. What was typed since it was sent stays.
 *
 * @param sent the values of the form when it was sent
 */
export function laySaved<Values extends object>(form: UseFormReturnType<Values>, saved: Values, sent: Values): void {
  const now = form.getValues();
  layUnder(form, saved, (field) => now[field] !== sent[field]);
}
