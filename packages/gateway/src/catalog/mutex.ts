/** Lets one piece of work run at a time, in the order in which it was asked for. */
export class Mutex {
  #last: Promise<unknown> = Promise.resolve();

  run<T>(work: () => Promise<T>): Promise<T> {
    const result = this.#last.then(work);
    // The failure of one is its caller's; the next one runs all the same.
    this.#last = result.catch(() => undefined);
    return result;
  }
}
