import type { Duplex } from "node:stream";

/** A connection. Those that are idle are linked to each other. */
interface Entry {
  readonly socket: Duplex;
  /** Requests under way; several where a client sends them without waiting (RFC 9112 §9.3.2). */
  running: number;
  isIdle: boolean;
  before: Entry | undefined;
  after: Entry | undefined;
}

/**
 * The connections that speak HTTP, and which of them have nothing under way.
 *
 * There are only so many: a new one beyond that takes the place of the one that has been idle for longest. So neither
 * clients that keep theirs open nor those that open them and say nothing keep others out.
 */
export class Connections {
  readonly #most: number;
  readonly #entries = new Map<Duplex, Entry>();
  /** No `Set`, for the reason that `Roster` tells. */
  #idleLongest: Entry | undefined;
  #idleShortest: Entry | undefined;

  /** @param most how many there may be */
  constructor(most: number) {
    this.#most = most;
  }

  get size(): number {
    return this.#entries.size;
  }

  /** Whether those that end a request should rather close than wait for the next. */
  get isCrowded(): boolean {
    return this.size > 0.9 * this.#most;
  }

  add(socket: Duplex): void {
    if (this.size >= this.#most) this.#makeRoom();
    const entry = { socket, running: 0, isIdle: false, before: undefined, after: undefined };
    this.#entries.set(socket, entry);
    this.#rest(entry);
    socket.once("close", () => this.remove(socket));
  }

  /** It is gone, or speaks something else. */
  remove(socket: Duplex): void {
    const entry = this.#entries.get(socket);
    if (entry === undefined) return;
    this.#entries.delete(socket);
    this.#wake(entry);
  }

  began(socket: Duplex): void {
    const entry = this.#entries.get(socket);
    if (entry === undefined) return;
    entry.running++;
    this.#wake(entry);
  }

  ended(socket: Duplex): void {
    const entry = this.#entries.get(socket);
    if (entry === undefined) return;
    entry.running--;
    if (entry.running === 0) this.#rest(entry);
  }

  isBusy(socket: Duplex): boolean {
    return (this.#entries.get(socket)?.running ?? 0) > 0;
  }

  closeIdle(): void {
    for (const { socket, isIdle } of this.#entries.values()) if (isIdle) socket.destroy();
  }

  #makeRoom(): void {
    const longest = this.#idleLongest?.socket;
    if (longest === undefined) return;
    this.remove(longest);
    longest.destroy();
  }

  #rest(entry: Entry): void {
    entry.isIdle = true;
    entry.before = this.#idleShortest;
    if (entry.before === undefined) this.#idleLongest = entry;
    else entry.before.after = entry;
    this.#idleShortest = entry;
  }

  #wake(entry: Entry): void {
    if (!entry.isIdle) return;
    const { before, after } = entry;
    if (before === undefined) this.#idleLongest = after;
    else before.after = after;
    if (after === undefined) this.#idleShortest = before;
    else after.before = before;
    entry.isIdle = false;
    entry.before = undefined;
    entry.after = undefined;
  }
}
