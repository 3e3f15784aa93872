import type { KeySecret } from "../store/store.ts";
import { showSecret } from "./key-text.ts";

export function isSameSecret(one: KeySecret | null, other: KeySecret | null): boolean {
  if (one === null || other === null) return one === other;
  if (one.kind === "literal" && other.kind === "literal") return one.value.reveal() === other.value.reveal();
  return one.kind === other.kind && showSecret(one) === showSecret(other);
}
