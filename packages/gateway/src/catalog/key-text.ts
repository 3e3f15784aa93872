import { readKeyText, Secret } from "@keywheel/pool";
import type { TextFault } from "../contract/field-faults.ts";
import type { KeySecret } from "../store/store.ts";

export { maxKeyLength, trimInvisible } from "@keywheel/pool";

/** What a person typed or pasted as a key, once it is understood. */
export type KeyText = Exclude<KeySecret, { kind: "undecryptable" }>;

export type ParsedKeyText =
  | { readonly ok: true; readonly secret: KeyText }
  /** Why not. It names positions, never a part of the value. */
  | { readonly ok: false; readonly fault: TextFault };

/** Understands a key as it was typed or pasted: a value, or `$NAME` for an environment variable. */
export function parseKeyText(raw: string): ParsedKeyText {
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
      return `$${secret.name}`;
    case "undecryptable":
      return secret.masked;
  }
}
