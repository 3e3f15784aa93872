import { Text, TextInput, type TextInputProps } from "@mantine/core";
import type { ReactNode } from "react";

export interface AmountInputProps extends Omit<TextInputProps, "onChange" | "value"> {
  readonly value?: string | number;
  readonly onChange?: (typed: string) => void;
  readonly unit?: string;
}

/**
 * A field for a number that keeps what was typed. One that drops what is no digit would take "1.5" for 15.
 *
 * @see amountOf
 */
export function AmountInput({ value = "", onChange, unit, ...props }: AmountInputProps): ReactNode {
  return (
    <TextInput
      inputMode="decimal"
      autoComplete="off"
      {...(unit === undefined
        ? {}
        : {
            rightSection: (
              <Text size="sm" c="dimmed" pe="xs">
                {unit}
              </Text>
            ),
            rightSectionWidth: "auto",
            rightSectionPointerEvents: "none",
          })}
      {...props}
      value={String(value)}
      onChange={(event) => onChange?.(event.currentTarget.value)}
    />
  );
}
