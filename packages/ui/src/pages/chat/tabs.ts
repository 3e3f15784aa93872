/** What tabs of this browser tell each other. */
type Word =
  | { readonly type: "changed"; readonly chatId: string }
  /** Whoever receives the answer of this chat is to stop it. */
  | { readonly type: "stop"; readonly chatId: string }
  | { readonly type: "who-is"; readonly owner: string; readonly question: string }
  | { readonly type: "i-am"; readonly question: string };

/** A tab that is there answers at once, even in the background; so long is waited for one that is busy. */
const patienceMs = 700;

export interface TabListener {
  readonly changed: (chatId: string) => void;
  readonly stop: (chatId: string) => void;
}

/** This tab among the others of this browser. */
export class Tabs {
  /** Of this tab, until it is loaded anew. */
  readonly name = randomName();
  readonly #channel = new BroadcastChannel("keywheel-chats");
  readonly #asked = new Map<string, () => void>();
  readonly #listener: TabListener;

  constructor(listener: TabListener) {
    this.#listener = listener;
    this.#channel.addEventListener("message", ({ data }: MessageEvent<Word>) => this.#hear(data));
  }

  changed(chatId: string): void {
    this.#say({ type: "changed", chatId });
  }

  stop(chatId: string): void {
    this.#say({ type: "stop", chatId });
  }

  /** Whether the tab of this name is still there. */
  async isThere(owner: string): Promise<boolean> {
    if (owner === this.name) return true;
    const question = randomName();
    const { promise, resolve } = Promise.withResolvers<boolean>();
    this.#asked.set(question, () => resolve(true));
    const timer = setTimeout(() => resolve(false), patienceMs);
    this.#say({ type: "who-is", owner, question });
    try {
      return await promise;
    } finally {
      clearTimeout(timer);
      this.#asked.delete(question);
    }
  }

  #say(word: Word): void {
    // oxlint-disable-next-line unicorn/require-post-message-target-origin -- a channel has none: it reaches our origin only
    this.#channel.postMessage(word);
  }

  #hear(word: Word): void {
    switch (word.type) {
      case "changed":
        return this.#listener.changed(word.chatId);
      case "stop":
        return this.#listener.stop(word.chatId);
      case "who-is":
        if (word.owner === this.name) this.#say({ type: "i-am", question: word.question });
        return;
      case "i-am":
        this.#asked.get(word.question)?.();
    }
  }
}

/** 128 random bits. `crypto.randomUUID` is not there without TLS beyond loopback. */
export function randomName(): string {
  return Array.from(crypto.getRandomValues(new Uint8Array(16)), (byte) => byte.toString(16).padStart(2, "0")).join("");
}
