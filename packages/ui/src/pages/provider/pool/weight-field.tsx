import { useRef, useState, type ReactNode } from "react";
import { useTranslation } from "react-i18next";
import { useErrorText } from "../../../api/error-text.ts";
import type { Key } from "../../../api/openapi.ts";
import { useFieldTexts } from "../../../api/fault-text.ts";
import { amountOf } from "../../../parts/amount.ts";
import { AmountInput } from "../../../parts/amount-input.tsx";
import { isWeight, nameOf } from "./key-facts.ts";

export interface WeightFieldProps {
  readonly value: Key;
  readonly onChange: (weight: number) => Promise<void>;
}

/** The weight, edited in place: Enter or leaving the field keeps it, Escape brings the old one back. */
export function WeightField({ value: key, onChange }: WeightFieldProps): ReactNode {
  const { t } = useTranslation();
  const errorText = useErrorText();
  const fieldTexts = useFieldTexts();
  const [typed, setTyped] = useState<string>();
  const [error, setError] = useState<string>();

  // Enter, and leaving the field while its answer is under way, are one wish.
  const isKeeping = useRef(false);

  const keep = async (): Promise<void> => {
    if (typed === undefined || isKeeping.current) return;
    const weight = amountOf(typed);
    if (!isWeight(weight)) {
      setError(t("keys.weightRange"));
      return;
    }
    isKeeping.current = true;
    try {
      if (weight !== key.weight) await onChange(weight);
      setTyped(undefined);
      setError(undefined);
    } catch (failure) {
      setError(fieldTexts(failure)["weight"] ?? errorText(failure));
    } finally {
      isKeeping.current = false;
    }
  };

  return (
    <AmountInput
      size="xs"
      w={64}
      aria-label={t("keys.weightNamed", { name: nameOf(key) })}
      inputMode="numeric"
      value={typed ?? key.weight}
      error={error}
      onChange={(entered) => setTyped(entered)}
      onBlur={() => void keep()}
      onKeyDown={(event) => {
        if (event.key === "Enter") void keep();
        if (event.key !== "Escape") return;
        setTyped(undefined);
        setError(undefined);
      }}
    />
  );
}
