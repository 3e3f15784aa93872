type Word = "signed-in" | "signed-out";

const channelName = "keywheel-sign-in";

/**
 * Where calls wait that found the browser signed out, until somebody has signed in again in place.
 *
 * It is open while there is somebody to ask: a page behind the sign-in is shown. Otherwise nothing waits.
 */
export class SignInGate {
  #asking: PromiseWithResolvers<boolean> | undefined;
  #channel: BroadcastChannel | undefined;
  #signIns = 0;
  readonly #listeners = new Set<() => void>();

  get isAsking(): boolean {
    return this.#asking !== undefined;
  }

  /** How often this browser signed in since the page was loaded: a call that was sent before the last time is sent again. */
  get signIns(): number {
    return this.#signIns;
  }

  /** Bound, as `useSyncExternalStore` wants it. */
  readonly subscribe = (listener: () => void): (() => void) => {
    this.#listeners.add(listener);
    return () => this.#listeners.delete(listener);
  };

  /** From now on there is somebody to ask. @returns ends it */
  readonly open = (): (() => void) => {
    const channel = new BroadcastChannel(channelName);
    this.#channel = channel;
    channel.addEventListener("message", ({ data }: MessageEvent<Word>) => {
      if (data === "signed-in") this.#settle(true);
      else void this.ask();
    });
    return () => this.leave();
  };

  /** @returns whether somebody signed in again; false at once where nobody can be asked */
  ask(): Promise<boolean> {
    if (!this.#channel) return Promise.resolve(false);
    if (!this.#asking) {
      this.#asking = Promise.withResolvers();
      this.#tellListeners();
    }
    return this.#asking.promise;
  }

  /** Lets the calls through that wait here, and in the other tabs of this browser. */
  signedIn(): void {
    this.#settle(true);
    announce("signed-in");
  }

  /** For good, by the person's own will: the other tabs ask before they go on. */
  signedOut(): void {
    this.leave();
    announce("signed-out");
  }

  /** The calls that wait fail, and nobody is asked any more. */
  leave(): void {
    this.#channel?.close();
    this.#channel = undefined;
    this.#settle(false);
  }

  #settle(isSignedIn: boolean): void {
    if (isSignedIn) this.#signIns += 1;
    const asking = this.#asking;
    this.#asking = undefined;
    asking?.resolve(isSignedIn);
    this.#tellListeners();
  }

  #tellListeners(): void {
    for (const listener of this.#listeners) listener();
  }
}

/** The one of this page: every call goes through it. */
export const signInGate = new SignInGate();

/**
 * Sends, and sends again after a sign-in where the browser turned out to be signed out. Nothing was done then, so that every
 * call may be repeated.
 *
 * @param isSignedOut whether an answer says so
 * @throws what `send` throws; the signal's reason when it is aborted while somebody is asked
 */
export async function sendSignedIn(
  send: () => Promise<Response>,
  isSignedOut: (response: Response) => boolean,
  signal?: AbortSignal,
): Promise<Response> {
  for (;;) {
    const { signIns } = signInGate;
    const response = await send();
    if (!isSignedOut(response)) return response;
    const isSignedInSince = signInGate.signIns !== signIns;
    if (!isSignedInSince && !(await unlessAborted(signInGate.ask(), signal))) return response;
    await response.body?.cancel();
  }
}

async function unlessAborted<T>(promise: Promise<T>, signal: AbortSignal | undefined): Promise<T> {
  if (!signal) return promise;
  signal.throwIfAborted();
  const { promise: aborted, reject } = Promise.withResolvers<never>();
  const abort = (): void => reject(signal.reason as Error);
  signal.addEventListener("abort", abort, { once: true });
  try {
    return await Promise.race([promise, aborted]);
  } finally {
    signal.removeEventListener("abort", abort);
  }
}

function announce(word: Word): void {
  const channel = new BroadcastChannel(channelName);
  // oxlint-disable-next-line unicorn/require-post-message-target-origin -- a channel has none: it reaches our origin only
  channel.postMessage(word);
  channel.close();
}
