import type { StreamOpening } from "./stream-opening.ts";
import type { DurationMs } from "./time.ts";

/**
 * How long, and over how much, the opening of an answer may stay undecided before it goes out; and how long JSON is waited for
 * whose result has begun: an error may stand behind it, and it mostly comes as a whole.
 *
 * @see contract §4 rule 7
 */
export const openingLimits: { readonly waitMs: DurationMs; readonly bytes: number; readonly leaningMs: DurationMs } = {
  waitMs: 10_000,
  bytes: 64 * 1024,
  leaningMs: 1_000,
};

/** Whether an answer has a body whose opening can tell of an error. @param method of the request */
export function mayHaveBody(method: string, status: number): boolean {
  return method !== "HEAD" && status >= 200 && status < 300 && status !== 204;
}

/** What has been seen of a body. */
export interface SeenOpening {
  readonly opening: StreamOpening;
  readonly leansToContent: boolean;
  readonly errorText: string | undefined;
}

/** What the opening of a successful answer comes to, once no more of it is waited for. */
export type OpeningFacts =
  | { readonly kind: "clear" }
  | { readonly kind: "error"; readonly errorText: string }
  | { readonly kind: "void"; readonly message: string };

export function openingFacts(
  seen: SeenOpening,
  state: "open" | "ended" | "failed",
  contentType: string | undefined,
): OpeningFacts {
  if (seen.opening === "error") return { kind: "error", errorText: seen.errorText ?? "" };
  // What has begun and is broken off is the client's to see.
  if (seen.opening === "content" || seen.leansToContent) return { kind: "clear" };
  if (state === "failed") return { kind: "void", message: "The provider's answer broke off before it began." };
  if (state === "ended" && /^text\/event-stream/i.test(contentType ?? ""))
    return { kind: "void", message: "The provider's stream ended before it began." };
  return { kind: "clear" };
}
