import type { DurationMs } from "../rules/time.ts";

/** What Node's own timers can do besides, and those of Bun and Deno. */
interface NodeTimer {
  unref?(): void;
}

/**
 * Calls back once, after `ms`.
 *
 * @param options.holdsProcess default true; false: a program that has nothing else to do may end before
 * @returns how to stop it
 */
export function startTimer(
  callback: () => void,
  ms: DurationMs,
  { holdsProcess = true }: { readonly holdsProcess?: boolean } = {},
): () => void {
  const timer = setTimeout(callback, ms);
  if (!holdsProcess) (timer as NodeTimer).unref?.();
  return () => clearTimeout(timer);
}
