import type { TFunction } from "i18next";
import { isolated } from "../format/isolated.ts";

export interface NamedKey {
  readonly key_id?: string | null | undefined;
  readonly label?: string | null | undefined;
  readonly api_key?: string | null | undefined;
}

/** Stands for the provider-level key where a key's id is told. */
const ownKeyId = "provider";

/** What a key is called in what happened: its label, else its mask. Empty where no key is told. */
export function keyNameOf({ key_id: id, label, api_key: masked }: NamedKey, t: TFunction): string {
  if (id === ownKeyId) return t("activity.ownKey");
  if (label !== undefined && label !== null && label !== "") return isolated(label);
  if (masked !== undefined && masked !== null) return masked;
  return id === null || id === undefined ? "" : t("activity.keyGone");
}

/**
 * A key within a sentence, where Korean says that a name is a key's ("A 키"). Of one that has no name it is said already
 * ("삭제된 키"). What follows it may rely on the word at its end.
 */
export function keyInSentence(key: NamedKey, t: TFunction): string {
  const name = keyNameOf(key, t);
  const isNamed = key.key_id !== ownKeyId && name !== "" && name !== t("activity.keyGone");
  return isNamed ? t("activity.keyNamed", { name }) : name;
}
