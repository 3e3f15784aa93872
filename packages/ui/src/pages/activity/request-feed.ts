import type { Request } from "../../api/openapi.ts";

/** A page of the API. */
interface RequestPage {
  readonly data: readonly Request[];
  readonly next_cursor: string | null;
}

/** What is shown before older ones were asked for, newest first. */
export interface Held {
  readonly requests: readonly Request[];
  /** Behind the last of them; null when there are none. */
  readonly cursor: string | null;
}

interface News {
  readonly count: number;
  /** Whether there are more than the newest page holds. */
  readonly isMore: boolean;
}

export const noNews: News = { count: 0, isMore: false };

/** So many stay while someone looks on; then the oldest are let go of and can be asked for again. */
const mostHeld = 1_000;

/** What the newest page holds that is not shown. */
export function newsIn(held: Held, page: RequestPage): News {
  const [first] = held.requests;
  const at = first === undefined ? -1 : page.data.findIndex(({ id }) => id === first.id);
  if (at >= 0) return { count: at, isMore: false };
  return { count: page.data.length, isMore: held.requests.length > 0 && page.next_cursor !== null };
}

/** The newest page on top of what is shown, without a gap: where they do not meet, what was shown goes. */
export function joined(held: Held | undefined, page: RequestPage): Held {
  const fresh: Held = { requests: page.data, cursor: page.next_cursor };
  const [first] = held?.requests ?? [];
  if (held === undefined || first === undefined) return fresh;
  const meets = page.data.findIndex(({ id }) => id === first.id);
  if (meets === -1 || held.requests.length + meets > mostHeld) return fresh;
  if (meets === 0 && !isRenamed(held, page)) return held;
  const ids = new Set(page.data.map(({ id }) => id));
  return { requests: [...page.data, ...held.requests.filter(({ id }) => !ids.has(id))], cursor: held.cursor };
}

/** Requests never change, but the keys in them are called as they are now. */
function isRenamed({ requests }: Held, { data }: RequestPage): boolean {
  return data.some((request, at) => requests[at]?.label !== request.label);
}
