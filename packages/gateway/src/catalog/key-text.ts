import { readKeyText, Secret, trimInvisible } from "@keywheel/pool";
import type { TextFault } from "../contract/field-faults.ts";
import { readSourceText, referenceText } from "./secret-source.ts";
import type { KeySecret } from "../store/store.ts";

export { maxKeyLength, trimInvisible } from "@keywheel/pool";

/** What a person typed or pasted as a key, once it is understood. */
export type KeyText = Exclude<KeySecret, { kind: "undecryptable" }>;

export type ParsedKeyText =
  | { readonly ok: true; readonly secret: KeyText }
  /** Why not. It names positions, never a part of the value. */
  | { readonly ok: false; readonly fault: TextFault };

/** Understands a key as it was typed or pasted: a value, `$NAME`, `file:/path` or `keychain:NAME`. */
export function parseKeyText(raw: string): ParsedKeyText {
  const source = readSourceText(trimInvisible(raw).text);
  if (source !== undefined) {
    return "fault" in source
      ? { ok: false, fault: source.fault }
      : { ok: true, secret: { kind: "reference", name: source.name } };
  }
  const read = readKeyText(raw);
  if (read.kind === "refused") return { ok: false, fault: read.fault };
  return { ok: true, secret: read.kind === "literal" ? { ...read, value: new Secret(read.value) } : read };
}

/** How a key is shown: masked, a reference as it stands. */
export function showSecret(secret: KeySecret): string {
  switch (secret.kind) {
    case "literal":
      return secret.value.masked;
    case "reference":
      return referenceText(secret.name);
    case "undecryptable":
      return secret.masked;
  }
}
