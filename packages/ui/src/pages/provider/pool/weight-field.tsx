import { NumberInput } from "@mantine/core";
import { useState, type ReactNode } from "react";
import { useTranslation } from "react-i18next";
import { useErrorText } from "../../../api/error-text.ts";
import type { Key } from "../../../api/openapi.ts";
import { isApiError } from "../../../api/problem.ts";
import { nameOf } from "./key-facts.ts";

export interface WeightFieldProps {
  readonly value: Key;
  readonly onChange: (weight: number) => Promise<void>;
}

/** The weight, edited in place: Enter or leaving the field keeps it, Escape brings the old one back. */
export function WeightField({ value: key, onChange }: WeightFieldProps): ReactNode {
  const { t } = useTranslation();
  const errorText = useErrorText();
  const [typed, setTyped] = useState<string | number>();
  const [error, setError] = useState<string>();

  const keep = async (): Promise<void> => {
    if (typed === undefined) return;
    const weight = Number(typed);
    if (typed === "" || !Number.isInteger(weight) || weight < 1 || weight > 100) {
      setError(t("keys.weightRange"));
      return;
    }
    try {
      if (weight !== key.weight) await onChange(weight);
      setTyped(undefined);
      setError(undefined);
    } catch (failure) {
      setError(isApiError(failure) ? (failure.fields["weight"] ?? errorText(failure)) : errorText(failure));
    }
  };

  return (
    <NumberInput
      size="xs"
      w={72}
      aria-label={t("keys.weightNamed", { name: nameOf(key) })}
      min={1}
      max={100}
      clampBehavior="none"
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
