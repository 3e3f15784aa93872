import { type FocusEvent, type PointerEvent, type RefObject, useEffect, useState } from "react";

/** Whether someone reads in the list: points at it, has moved into it by keyboard, or has scrolled down. */
export function useIsBusyWith(element: RefObject<HTMLElement | null>) {
  const [isOver, setOver] = useState(false);
  const [isInside, setInside] = useState(false);
  const [isScrolled, setScrolled] = useState(false);
  useEffect(() => {
    const look = (): void => {
      const box = element.current?.getBoundingClientRect();
      setScrolled(box !== undefined && box.top < 0);
    };
    window.addEventListener("scroll", look, { passive: true });
    return () => window.removeEventListener("scroll", look);
  }, [element]);
  const props = {
    onPointerEnter: ({ pointerType }: PointerEvent) => setOver(pointerType === "mouse"),
    onPointerLeave: () => setOver(false),
    onFocus: ({ target }: FocusEvent) => setInside(target.matches(":focus-visible")),
    onBlur: () => setInside(false),
  };
  return [isOver || isInside || isScrolled, props] as const;
}
