import type { ParseKeys, TFunction } from "i18next";
import { useTranslation } from "react-i18next";
import type { FieldFault, Problem } from "./openapi.ts";
import { isApiError } from "./problem.ts";

type FieldError = NonNullable<Problem["errors"]>[number];

/** What the API says is wrong with something that a person entered. */
export type Fault = Pick<FieldError, "code" | "params" | "message">;

type Words = ParseKeys;

/** The words of every fault; where the API has another one, this does not compile. */
const words = {
  missing: "faults.missing",
  empty: "faults.empty",
  wrong_type: "faults.wrongType",
  unknown_field: "faults.unknownField",
  read_only: "faults.readOnly",
  not_a_choice: "faults.notAChoice",
  no_integer: "faults.noInteger",
  too_small: "faults.tooSmall",
  too_large: "faults.tooLarge",
  too_long: "faults.tooLong",
  control_character: "faults.controlCharacter",
  no_instant: "faults.noInstant",
  in_past: "faults.inPast",
  refused: "faults.refused",
  key_too_long: "faults.keyTooLong",
  key_masked: "keys.apiKeyMasked",
  key_line_break: "faults.keyLineBreak",
  key_white_space: "faults.keyWhiteSpace",
  key_control_character: "faults.keyControlCharacter",
  key_character: "faults.keyCharacter",
  key_comma: "keys.apiKeyComma",
  key_quotes: "keys.apiKeyQuotes",
  variable_no_name: "faults.variableNoName",
  variable_braces: "faults.variableBraces",
  variable_many: "faults.variableMany",
  variable_name: "keys.apiKeyName",
  file_path: "faults.filePath",
  keychain_name: "faults.keychainName",
  weight_range: "faults.weightRange",
  label_too_long: "faults.labelTooLong",
  label_control_character: "faults.labelControlCharacter",
  repeated_line: "faults.repeatedLine",
  too_many_keys: "faults.tooManyKeys",
  key_held: "keys.apiKeyHeld",
  slug_taken: "providers.slugTaken",
  host_change: "faults.hostChange",
  repeated: "faults.repeated",
  no_such_key: "faults.noSuchKey",
  no_such_provider: "faults.noSuchProvider",
  no_selection: "faults.noSelection",
  managed_by_file: "faults.managedByFile",
  too_many_sums: "faults.tooManySums",
  white_space: "providers.baseUrlWhiteSpace",
  backslash: "providers.baseUrlBackslash",
  placeholder: "providers.baseUrlPlaceholderLeft",
  scheme: "providers.baseUrlInvalid",
  no_url: "providers.baseUrlInvalid",
  credentials: "providers.baseUrlCredentials",
  query: "providers.baseUrlQuery",
  fragment: "providers.baseUrlFragment",
  port: "providers.baseUrlPort",
  endpoint: "providers.baseUrlEndpoint",
  metadata_host: "providers.baseUrlMetadata",
  reserved: "providers.slugReserved",
  shape: "providers.slugInvalid",
  cap_below_base: "faults.capBelowBase",
} as const satisfies Readonly<Record<FieldFault, Words>>;

/** Where the same fault is better told with the field's own words, which the forms use as well. */
const wordsOfField: Readonly<Record<string, Partial<Record<FieldFault, Words>>>> = {
  base_url: { empty: "providers.baseUrlInvalid", missing: "providers.baseUrlInvalid" },
  api_key: { empty: "keys.apiKeyMissing", missing: "keys.apiKeyMissing" },
  name: { empty: "providers.nameMissing", missing: "providers.nameMissing" },
  weight: { too_small: "keys.weightRange", too_large: "keys.weightRange", no_integer: "keys.weightRange" },
  url: {
    empty: "webhooks.urlMissing",
    missing: "webhooks.urlMissing",
    credentials: "webhooks.urlCredentials",
  },
  expires_at: { in_past: "tokens.lastDayPast" },
};

/** What is wrong, in the language of the page. @param path the field */
export type FaultText = (fault: Fault, path?: string) => string;

export function useFaultText(): FaultText {
  const { t } = useTranslation();
  return (fault, path) => faultText(fault, path, t);
}

/** The words of the API itself only where a newer gateway knows of a fault that these pages do not. */
export function faultText({ code, params = {}, message }: Fault, path: string | undefined, t: TFunction): string {
  if (code === undefined || !Object.hasOwn(words, code)) return message;
  const key = wordsOfField[path ?? ""]?.[code] ?? words[code];
  // Which numbers come with a code is the API's word; a test holds the texts to them.
  return t(key as "faults.keyTooLong", params as { readonly length: number; readonly max: number });
}

/** The refused fields of a call by their path, in the language of the page; empty where the error is of another kind. */
export type FieldTexts = (error: unknown) => Readonly<Record<string, string>>;

export function useFieldTexts(): FieldTexts {
  const faultText = useFaultText();
  return (error) =>
    isApiError(error)
      ? Object.fromEntries(error.errors.map((fault) => [fault.path, faultText(fault, fault.path)]))
      : {};
}
