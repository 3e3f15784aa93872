import type { UseFormReturnType } from "@mantine/form";
import { useEffect, useEffectEvent } from "react";
import { useTranslation } from "react-i18next";

/** Says the errors of a form in the language that was changed to: those of the page anew, those of the gateway not at all. */
export function useErrorsInLanguage<Values extends object>(form: UseFormReturnType<Values>): void {
  const { i18n } = useTranslation();
  const { language } = i18n;
  const check = useEffectEvent(() => {
    if (Object.keys(form.errors).length > 0) form.validate();
  });
  useEffect(() => check(), [language]);
}
