import { setFlagsFromString } from "node:v8";

/** By how much V8 makes the space for new objects larger when it is full; 2 is its own default. */
const growth = { none: "--semi-space-growth-factor=1", usual: "--semi-space-growth-factor=2" };

/**
 * Keeps the space for new objects as small as it begins. What is loaded at a start stays, and would be copied to and fro in a
 * space that has grown to 32 MB for it, of which a gateway at rest gives nothing back.
 *
 * @returns to be called when the start is over: traffic makes that space as large as it needs
 */
export function startFrugally(): () => void {
  setFlagsFromString(growth.none);
  return () => setFlagsFromString(growth.usual);
}

/**
 * Has every object begin among the new ones. V8 lets those of a kind that mostly outlived a collection begin among the old
 * ones; in a gateway these are requests that happened to wait, and each such object, long dead, keeps all of its request from
 * the next collections: four of fifty MB were copied each time, for nothing.
 *
 * Before the first request, since code that is optimised already stays as it is.
 */
export function allocateAllAsNew(): void {
  setFlagsFromString("--no-allocation-site-pretenuring");
}
