import type { ProviderKind } from "@keywheel/pool";
import type { ClientPresence } from "./upstream.ts";

/** What a kind of provider wants with every call, where no client has sent it. */
export function versionHeader(kind: ProviderKind): string[] {
  return kind === "anthropic" ? ["anthropic-version", "2023-06-01"] : [];
}

/** Whoever asked is there until the signal. */
export function presenceOf(signal: AbortSignal | undefined): ClientPresence {
  return {
    get isGone() {
      return signal?.aborted === true;
    },
    onGone(callback) {
      signal?.addEventListener("abort", callback, { once: true });
      return () => signal?.removeEventListener("abort", callback);
    },
  };
}
