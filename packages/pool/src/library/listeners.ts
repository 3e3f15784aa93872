import type { PoolEvent } from "../ports/events.ts";

/** An event by its type. */
export type PoolEventOf<Type extends PoolEvent["type"]> = Extract<PoolEvent, { readonly type: Type }>;

/** Who is told of what. */
export class Listeners {
  readonly #byType = new Map<string, Set<(event: never) => void>>();

  /** @returns how to stop it */
  add<Type extends PoolEvent["type"]>(type: Type, listener: (event: PoolEventOf<Type>) => void): () => void {
    const listeners = this.#byType.get(type) ?? new Set();
    this.#byType.set(type, listeners);
    listeners.add(listener);
    return () => listeners.delete(listener);
  }

  /** Calls them at once. What one throws is reported as an uncaught error: it must harm no request, nor be lost. */
  tell(event: PoolEvent): void {
    for (const listener of this.#byType.get(event.type) ?? []) {
      try {
        listener(event as never);
      } catch (error) {
        queueMicrotask(() => {
          throw error;
        });
      }
    }
  }
}
