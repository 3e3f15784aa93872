import type { RequestFilter, StoredRequest } from "../store/store.ts";
import { instantOfRequestId } from "./request-id.ts";

/** What a block is found by. Of what requests share, each is taken up as it is: most of them bring nothing new. */
export class MarkSet {
  readonly #providers = new Set<string | null>();
  readonly #keys = new Set<string | null>();
  readonly #sessions = new Set<string | null>();
  readonly #statuses = new Set<number>();
  readonly #others = new Set<string>();

  add({ id, providerId, keyId, otherKeyIds, sessionId, status, failed, startedAt }: StoredRequest): void {
    this.#providers.add(providerId);
    this.#keys.add(keyId);
    this.#sessions.add(sessionId);
    this.#statuses.add(status);
    for (const otherId of otherKeyIds) this.#keys.add(otherId);
    if (otherKeyIds.length > 0) this.#others.add(marksOf.failover);
    if (failed) this.#others.add(marksOf.failed);
    if (instantOfRequestId(id) !== startedAt) this.#others.add(marksOf.id(id));
  }

  list(): readonly string[] {
    const classes = new Set(Array.from(this.#statuses, classOf));
    return [
      ...named(this.#providers, marksOf.provider),
      ...named(this.#keys, marksOf.key),
      ...named(this.#sessions, marksOf.session),
      ...Array.from(this.#statuses, marksOf.status),
      ...Array.from(classes, marksOf.statusClass),
      ...this.#others,
    ];
  }
}

function named(ids: ReadonlySet<string | null>, markOf: (id: string) => string): readonly string[] {
  return [...ids].flatMap((id) => (id === null ? [] : [markOf(id)]));
}

function classOf(status: number): number {
  return Math.floor(status / 100);
}

const marksOf = {
  provider: (id: string) => `p:${id}`,
  key: (id: string) => `k:${id}`,
  session: (id: string) => `s:${id}`,
  /** Of a request whose id does not tell when it began. */
  id: (id: string) => `i:${id}`,
  status: (status: number) => `c:${status}`,
  statusClass: (hundreds: number) => `c:${hundreds}xx`,
  failover: "failover",
  failed: "failed",
} as const;

/** What the block of a request whose id does not tell when it began is found by. */
export const markOfId = marksOf.id;

/** The mark that leaves the fewest blocks to look through; undefined: they are all looked through. */
export function bestMark({
  providerId,
  keyId,
  sessionId,
  status,
  failed,
  failover,
}: RequestFilter): string | undefined {
  if (sessionId !== undefined) return marksOf.session(sessionId);
  if (failover === true) return marksOf.failover;
  // Most requests go well, and nearly every block holds one.
  const isRare = failed === true || (status !== undefined && status.from >= 400);
  if (keyId !== undefined && !isRare) return marksOf.key(keyId);
  if (status !== undefined && status.from === status.to) return marksOf.status(status.from);
  if (failed === true) return marksOf.failed;
  if (status !== undefined && classOf(status.from) === classOf(status.to))
    return marksOf.statusClass(classOf(status.from));
  if (keyId !== undefined) return marksOf.key(keyId);
  return providerId === undefined ? undefined : marksOf.provider(providerId);
}
