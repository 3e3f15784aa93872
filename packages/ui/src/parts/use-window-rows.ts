import { useWindowVirtualizer } from "@tanstack/react-virtual";
import { type RefObject, useLayoutEffect, useState } from "react";

export interface WindowRowsOptions {
  readonly count: number;
  /** What a row is taken to be high before it was drawn, in pixels. */
  readonly rowHeight: number;
  readonly keyOf: (index: number) => string | number;
}

/** The rows of a list that the window shows. @param list what holds the rows, each placed by its own offset */
export function useWindowRows(list: RefObject<HTMLElement | null>, { count, rowHeight, keyOf }: WindowRowsOptions) {
  const [scrollMargin, setScrollMargin] = useState(0);
  useLayoutEffect(() => {
    // What stands above may have grown or shrunk with any change.
    const top = list.current ? list.current.getBoundingClientRect().top + window.scrollY : 0;
    setScrollMargin((before) => (Math.abs(before - top) < 1 ? before : top));
  });
  const virtualizer = useWindowVirtualizer({
    count,
    estimateSize: () => rowHeight,
    overscan: 8,
    scrollMargin,
    getItemKey: keyOf,
  });
  return { virtualizer, scrollMargin };
}
