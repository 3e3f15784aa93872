import { Tooltip } from "@mantine/core";
import { type ComponentProps, type ReactNode, type SyntheticEvent, useEffect, useId, useState } from "react";

interface Shown {
  readonly target: HTMLElement;
  readonly text: string;
}

/**
 * A block whose elements tell their `data-hint` while they are pointed at or focused.
 *
 * One tooltip for all of them: a table of many rows with five tooltips each would draw at a snail's pace.
 */
export function Hints({ children, ...block }: ComponentProps<"div">): ReactNode {
  const id = useId();
  const [shown, setShown] = useState<Shown>();
  const target = shown?.target;
  useEffect(() => {
    target?.setAttribute("aria-describedby", id);
    return () => target?.removeAttribute("aria-describedby");
  }, [target, id]);
  const look = (event: SyntheticEvent): void => setShown((before) => shownFor(event, before));
  const end = (): void => setShown(undefined);
  return (
    <>
      <div
        {...block}
        onPointerOver={look}
        onPointerLeave={end}
        onPointerDown={end}
        onFocus={look}
        onBlur={end}
        onKeyDown={(event) => {
          if (event.key === "Escape") end();
        }}
      >
        {children}
      </div>
      {shown && <Tooltip id={id} role="tooltip" target={shown.target} label={shown.text} opened />}
    </>
  );
}

function shownFor({ target }: SyntheticEvent, before: Shown | undefined): Shown | undefined {
  const hinted = target instanceof Element ? target.closest<HTMLElement>("[data-hint]") : null;
  const text = hinted?.dataset["hint"];
  if (hinted === null || text === undefined) return undefined;
  return before?.target === hinted && before.text === text ? before : { target: hinted, text };
}
