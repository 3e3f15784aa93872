import type { Duplex } from "node:stream";

/**
 * The connections that speak HTTP, and which of them have nothing under way.
 *
 * There are only so many: a new one beyond that takes the place of the one that has been idle for longest. So neither
 * clients that keep theirs open nor those that open them and say nothing keep others out.
 */
export class Connections {
  readonly #most: number;
  /** Requests under way, by connection; several where a client sends them without waiting (RFC 9112 §9.3.2). */
  readonly #running = new Map<Duplex, number>();
  /** Idle for longest first. */
  readonly #idle = new Set<Duplex>();

  /** @param most how many there may be */
  constructor(most: number) {
    this.#most = most;
  }

  get size(): number {
    return this.#running.size;
  }

  /** Whether those that end a request should rather close than wait for the next. */
  get isCrowded(): boolean {
    return this.size > 0.9 * this.#most;
  }

  add(socket: Duplex): void {
    if (this.size >= this.#most) this.#makeRoom();
    this.#running.set(socket, 0);
    this.#idle.add(socket);
    socket.once("close", () => this.remove(socket));
  }

  /** It is gone, or speaks something else. */
  remove(socket: Duplex): void {
    this.#running.delete(socket);
    this.#idle.delete(socket);
  }

  began(socket: Duplex): void {
    const count = this.#running.get(socket);
    if (count === undefined) return;
    this.#running.set(socket, count + 1);
    this.#idle.delete(socket);
  }

  ended(socket: Duplex): void {
    const count = this.#running.get(socket);
    if (count === undefined) return;
    this.#running.set(socket, count - 1);
    if (count === 1) this.#idle.add(socket);
  }

  isBusy(socket: Duplex): boolean {
    return (this.#running.get(socket) ?? 0) > 0;
  }

  closeIdle(): void {
    for (const socket of this.#idle) socket.destroy();
  }

  #makeRoom(): void {
    const [longest] = this.#idle;
    if (longest === undefined) return;
    this.remove(longest);
    longest.destroy();
  }
}
