import { hash } from "node:crypto";

/** As tokens are kept, and found by. */
export function tokenHash(text: string): string {
  return hash("sha256", text, "hex");
}
