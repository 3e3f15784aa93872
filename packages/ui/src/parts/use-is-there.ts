import { useLayoutEffect, useRef } from "react";

/** Asked after a wait: whether what asks is still in the page. */
export function useIsThere(): () => boolean {
  const isThere = useRef(false);
  useLayoutEffect(() => {
    isThere.current = true;
    return () => {
      isThere.current = false;
    };
  }, []);
  return () => isThere.current;
}
