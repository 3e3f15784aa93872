import { useLayoutEffect, useRef, useState } from "react";

// oxlint-disable-next-line typescript/no-explicit-any -- any function at all; its type is kept by `Calls`
type Call = (...args: any[]) => unknown;

/**
 * The same functions at every drawing, which do what those of the latest one do: what they are handed to need not be drawn
 * again for them. For handlers, not to be called while drawing.
 *
 * @param calls always of the same names
 */
export function useLatest<Calls extends { readonly [Name in keyof Calls]: Call }>(calls: Calls): Calls {
  const latest = useRef(calls);
  useLayoutEffect(() => {
    latest.current = calls;
  });
  const [stable] = useState(() => {
    const names = Object.keys(calls) as (keyof Calls)[];
    return Object.fromEntries(names.map((name) => [name, (...args: unknown[]) => latest.current[name](...args)]));
  });
  return stable as unknown as Calls;
}
