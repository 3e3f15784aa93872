import { useState } from "react";

/** What is shown, or was last: a dialog fades out with what it had. */
export function useLastShown<What>(shown: What | undefined): What | undefined {
  const [last, setLast] = useState(shown);
  if (shown !== undefined && shown !== last) setLast(shown);
  return shown ?? last;
}
