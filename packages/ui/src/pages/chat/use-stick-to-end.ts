import { type RefObject, useEffect, useLayoutEffect, useRef, useState } from "react";

/** So near to the end, a person means the end. */
const nearPx = 48;
/** A scroll so soon after one of these is a person's. Others come of ours, or of content that grows and shrinks, and late. */
const handMs = 1_000;
const hands = ["wheel", "touchmove", "pointerdown", "keydown"] as const;

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
  const lastTop = useRef(0);
  const handAt = useRef(-Infinity);
  const [isAtEnd, setAtEnd] = useState(true);
  const toEnd = (): void => {
    sticks.current = true;
    setAtEnd(true);
    scroller.current?.scrollTo({ top: scroller.current.scrollHeight });
  };
  useEffect(() => {
    const { current: box } = scroller;
    const note = (): void => void (handAt.current = performance.now());
    for (const hand of hands) box?.addEventListener(hand, note, { passive: true });
    // Markdown is drawn after the text has come, and again when a part of it is complete.
    const observer = new ResizeObserver(() => {
      if (sticks.current) box?.scrollTo({ top: box.scrollHeight });
    });
    if (box?.firstElementChild) observer.observe(box.firstElementChild);
    return () => {
      observer.disconnect();
      hands.forEach((hand) => box?.removeEventListener(hand, note));
    };
  }, []);
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
    const isByHand = performance.now() - handAt.current < handMs;
    const isUp = box.scrollTop < lastTop.current;
    lastTop.current = box.scrollTop;
    if (isNear) sticks.current = true;
    else if (isByHand && isUp) sticks.current = false;
    if (sticks.current && !isNear) return toEnd();
    setAtEnd(isNear);
  };
  return { scroller, isAtEnd, toEnd, onScroll };
}
