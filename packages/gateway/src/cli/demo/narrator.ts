import { duration } from "../commands/words.ts";
import type { KeyOnTheWire, Session } from "../commands/wire.ts";

/** What there is to see at one moment. */
export interface Scene {
  readonly keys: readonly Pick<KeyOnTheWire, "id" | "label" | "status" | "cooldown_until" | "status_reason">[];
  readonly sessions: readonly Pick<Session, "id" | "key_id">[];
}

/** What happened between two moments, as sentences: only what the gateway itself says. */
export function changesBetween(before: Scene, after: Scene, now: number): readonly string[] {
  const ofKeys = after.keys.flatMap((key) => {
    const former = before.keys.find(({ id }) => id === key.id);
    return former === undefined || former.status === key.status ? [] : [sentenceOf(key, now)];
  });
  return [...ofKeys, ...moves(before, after)];
}

/**
 * A moment with what was known before: when a key rests or is refused its chats are let go, and until its next request such
 * a chat is with no key at all.
 */
export function remembering(before: Scene, after: Scene): Scene {
  const present = new Set(after.sessions.map(({ id }) => id));
  return { ...after, sessions: [...after.sessions, ...before.sessions.filter(({ id }) => !present.has(id))] };
}

function sentenceOf(key: Scene["keys"][number], now: number): string {
  const { label, status, cooldown_until: until, status_reason: reason } = key;
  const answer = reason?.http_status ?? "no";
  switch (status) {
    case "available":
      return `${label}'s key is available again and takes its turns.`;
    case "cooling_down": {
      const left = until === null ? "" : ` for ${duration(Date.parse(until) - now)}`;
      return `${label}'s key got a ${answer} and rests${left}. The request that met it went on with the next key.`;
    }
    case "disabled":
      return `${label}'s key got a ${answer} and is disabled until somebody enables it. The request went on with the next key.`;
    case "unresolved":
      return `${label}'s key cannot be resolved.`;
  }
}

function moves(before: Scene, after: Scene): readonly string[] {
  const labelOf = (id: string): string => after.keys.find((key) => key.id === id)?.label ?? id;
  const moved = after.sessions.flatMap(({ id, key_id: key }) => {
    const former = before.sessions.find((session) => session.id === id)?.key_id;
    return former === undefined || former === key ? [] : [`"${id}" from ${labelOf(former)} to ${labelOf(key)}`];
  });
  if (moved.length === 0) return [];
  return [`Moved, and the client noticed nothing: ${moved.join(", ")}.`];
}
