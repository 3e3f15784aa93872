import { type RefObject, useLayoutEffect, useRef, useState } from "react";

/** So near to the end, a person means the end. */
const nearPx = 48;

interface StickToEnd {
  readonly scroller: RefObject<HTMLDivElement | null>;
  readonly isAtEnd: boolean;
  readonly toEnd: () => void;
  readonly onScroll: () => void;
}

/**
 * Follows what is added at the end, until a person scrolls up to read.
 *
 * @param content changes with everything that is added
 * @param last    the newest entry: a new one is looked at wherever one is
 */
export function useStickToEnd(content: unknown, last: number | undefined): StickToEnd {
  const scroller = useRef<HTMLDivElement>(null);
  const sticks = useRef(true);
  const [isAtEnd, setAtEnd] = useState(true);
  const toEnd = (): void => {
    sticks.current = true;
    setAtEnd(true);
    scroller.current?.scrollTo({ top: scroller.current.scrollHeight });
  };
  useLayoutEffect(() => {
    sticks.current = true;
  }, [last]);
  useLayoutEffect(() => {
    if (sticks.current) scroller.current?.scrollTo({ top: scroller.current.scrollHeight });
  }, [content]);
  const onScroll = (): void => {
    const { current: box } = scroller;
    if (!box) return;
    const isNear = box.scrollHeight - box.scrollTop - box.clientHeight < nearPx;
    sticks.current = isNear;
    setAtEnd(isNear);
  };
  return { scroller, isAtEnd, toEnd, onScroll };
}
