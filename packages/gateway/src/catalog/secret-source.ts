import { isAbsolute, normalize } from "node:path";
import type { TextFault } from "../contract/field-faults.ts";

/** Where a reference looks its value up. */
export type SecretSource =
  | { readonly kind: "variable"; readonly name: string }
  | { readonly kind: "file"; readonly path: string }
  | { readonly kind: "keychain"; readonly account: string };

/** The source that the name of a reference means. Names of variables hold no colon. */
export function sourceOf(name: string): SecretSource {
  if (name.startsWith("file:")) return { kind: "file", path: name.slice("file:".length) };
  if (name.startsWith("keychain:")) return { kind: "keychain", account: name.slice("keychain:".length) };
  return { kind: "variable", name };
}

/** A reference as people write it. */
export function referenceText(name: string): string {
  return sourceOf(name).kind === "variable" ? `$${name}` : name;
}

/** Understands `file:/path` and `keychain:NAME`. @returns undefined for what is neither */
export function readSourceText(text: string): { readonly name: string } | { readonly fault: TextFault } | undefined {
  if (text.startsWith("file:")) return fileName(text.slice("file:".length));
  if (!text.startsWith("keychain:")) return undefined;
  const account = text.slice("keychain:".length);
  if (/^[A-Za-z0-9_.@-]{1,200}$/.test(account)) return { name: text };
  const message = "Write `keychain:NAME`, with letters, digits and `_ . @ -` in the name of the entry";
  return { fault: { code: "keychain_name", message } };
}

function fileName(raw: string): { readonly name: string } | { readonly fault: TextFault } {
  // file:///run/secrets/x is the same as a URL.
  const path = raw.replace(/^\/\/(?=\/)/, "");
  // oxlint-disable-next-line no-control-regex -- these are what is refused
  if (isAbsolute(path) && !/[\u0000-\u001f\u007f]/.test(path) && path.length <= 1024) {
    return { name: `file:${normalize(path)}` };
  }
  return { fault: { code: "file_path", message: "Write the whole path of the file: `file:/run/secrets/openai`" } };
}
