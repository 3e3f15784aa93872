import type { QueryClient } from "@tanstack/react-query";
import { call } from "../../api/client.ts";
import type { Provider } from "../../api/openapi.ts";
import { queryKeys } from "../../api/query-keys.ts";
import { AnswerError, streamAnswer } from "./answer-stream.ts";
import type { TurnError } from "./chat-error.ts";
import { type AnswerPatch, type AnswerTurn, type Chat, ChatStore, type Turn } from "./chat-store.ts";
import type { Piece, Spoken } from "./dialects.ts";
import { cutAnswers, drafts, habits } from "./kept-words.ts";
import { randomName, Tabs } from "./tabs.ts";

/** Between two writings of an answer that is coming: what a crash may cost. */
const writeEveryMs = 300;
/** Between two drawings of it, which take the longer, the longer it is. */
function drawEveryMs({ text = "" }: AnswerPatch): number {
  return Math.min(40 + text.length / 60, 400);
}
const longestTitle = 60;

/** An answer that this tab receives. */
interface Live {
  readonly chatId: string;
  readonly seq: number;
  readonly abort: AbortController;
  patch: AnswerPatch;
  /** Settles when it has ended and is written down. Never rejects. */
  ended: Promise<void>;
}

/** To whom and as what the next question goes. */
export interface Addressee {
  readonly provider: Provider;
  readonly model: string;
}

/**
 * The chats of this browser as this tab sees them. It lives longer than the page that shows it: an answer goes on coming
 * while other pages are looked at.
 */
export class ChatRoom {
  readonly #client: QueryClient;
  readonly #store = new ChatStore();
  readonly #tabs: Tabs;
  readonly #live = new Map<string, Live>();
  readonly #listeners = new Set<() => void>();
  #drawTimer: ReturnType<typeof setTimeout> | undefined;

  constructor(client: QueryClient) {
    this.#client = client;
    this.#tabs = new Tabs({
      changed: (chatId) => void this.#refresh(chatId),
      stop: (chatId) => this.#live.get(chatId)?.abort.abort(),
    });
    window.addEventListener("pagehide", () => {
      for (const { seq, patch } of this.#live.values()) cutAnswers.keep(seq, patch);
    });
  }

  readonly subscribe = (listener: () => void): (() => void) => {
    this.#listeners.add(listener);
    return () => this.#listeners.delete(listener);
  };

  /** What has come of the answer that this tab is receiving in a chat; the same object until more has. */
  readonly coming = (chatId: string): AnswerPatch | undefined => this.#live.get(chatId)?.patch;

  readonly isAnswering = (chatId: string): boolean => this.#live.has(chatId);

  /** Whether an answer came to this tab, since it was loaded. */
  received({ owner }: AnswerTurn): boolean {
    return owner === this.#tabs.name;
  }

  chats(): Promise<readonly Chat[]> {
    return this.#store.chats();
  }

  /** An answer whose tab is gone is marked as broken on the way. */
  async turns(chatId: string): Promise<readonly Turn[]> {
    const turns = await this.#store.turns(chatId);
    for (const turn of turns) {
      if (turn.role === "assistant" && turn.state === "streaming" && turn.owner !== this.#tabs.name) {
        void this.#giveUpOrphan(turn);
      }
    }
    return turns;
  }

  async #giveUpOrphan({ chatId, seq, owner }: AnswerTurn): Promise<void> {
    if (await this.#tabs.isThere(owner)) return;
    const isStill = (turn: AnswerTurn): boolean => turn.state === "streaming" && turn.owner === owner;
    const patch: AnswerPatch = { ...cutAnswers.take(seq), state: "broken" };
    if (await this.#store.patchAnswer(seq, patch, isStill)) await this.#announce(chatId);
  }

  /** Begins a chat with its first question. @returns its id */
  async start(text: string, to: Addressee): Promise<string> {
    const at = Date.now();
    const id = `chat-${randomName()}`;
    const { provider, model } = to;
    await this.#store.add({ id, title: titleFor(text), providerId: provider.id, model, createdAt: at, updatedAt: at });
    await this.ask(id, text, to);
    return id;
  }

  /** @throws ChatConflict, or what the browser's storage refuses with; nothing is sent then */
  async ask(chatId: string, text: string, to: Addressee): Promise<void> {
    await this.#begin(chatId, { text }, to);
  }

  /** Asks once more for an answer, which takes the place of the one that is there. @throws as `ask` */
  async retry({ chatId, seq }: AnswerTurn, to: Addressee): Promise<void> {
    await this.#begin(chatId, { retry: seq }, to);
  }

  async #begin(
    chatId: string,
    question: Parameters<ChatStore["begin"]>[1],
    { provider, model }: Addressee,
  ): Promise<void> {
    const opening = { at: Date.now(), owner: this.#tabs.name, providerId: provider.id, model };
    const { before, answer } = await this.#store.begin(chatId, question, opening);
    habits.keep(provider.id, model);
    const abort = new AbortController();
    const live: Live = { chatId, seq: answer.seq, abort, patch: {}, ended: Promise.resolve() };
    this.#live.set(chatId, live);
    live.ended = this.#receive(live, before.map(spokenOf), { provider, model });
    await this.#announce(chatId);
  }

  /** Stops the answer of a chat, whichever tab receives it. What has come stays. */
  async stop(chatId: string): Promise<void> {
    const live = this.#live.get(chatId);
    if (live === undefined) return this.#tabs.stop(chatId);
    live.abort.abort();
    await live.ended;
  }

  async rename(chatId: string, title: string): Promise<void> {
    await this.#store.change(chatId, { title });
    await this.#announce(chatId);
  }

  /** Ends the session at the gateway, and keeps what was said. @throws ApiError; the chat stays open then */
  async close(chatId: string): Promise<void> {
    await this.stop(chatId);
    await endSession(chatId);
    await this.#store.close(chatId, Date.now());
    await this.#announce(chatId);
  }

  /** The next question begins a new session of the same name. */
  async reopen(chatId: string): Promise<void> {
    await this.#store.close(chatId, undefined);
    await this.#announce(chatId);
  }

  /** @throws ApiError; the chat stays then */
  async remove(chatId: string): Promise<void> {
    await this.stop(chatId);
    await endSession(chatId);
    await this.#store.remove(chatId);
    drafts.keep(chatId, "");
    await this.#announce(chatId);
  }

  /** Every chat of this browser. @throws ApiError; those that are left stay then */
  async removeAll(): Promise<void> {
    for (const { id } of await this.#store.chats()) await this.remove(id);
  }

  /** Receives an answer to its end, and writes it down as it comes. Never rejects. */
  async #receive(live: Live, spoken: readonly Spoken[], { provider, model }: Addressee): Promise<void> {
    const { abort, chatId } = live;
    const startedAt = performance.now();
    const writing = setInterval(() => void this.#write(live), writeEveryMs);
    let last: AnswerPatch;
    try {
      await streamAnswer({
        provider,
        model,
        session: chatId,
        spoken,
        signal: abort.signal,
        onHead: (head) => this.#add(live, head),
        onPiece: (piece) => this.#add(live, added(live.patch, piece)),
      });
      last = { state: "done" };
    } catch (error) {
      last = abort.signal.aborted ? { state: "stopped" } : { state: "failed", error: turnErrorOf(error) };
    }
    clearInterval(writing);
    live.patch = { ...live.patch, ...last, durationMs: performance.now() - startedAt };
    if (last.error?.kind === "unauthorized") {
      // Leads to the sign-in where the browser is signed out.
      void this.#client.invalidateQueries({ queryKey: queryKeys.status });
    }
    await this.#write(live);
    await this.#announce(chatId);
    if (this.#live.get(chatId) === live) this.#live.delete(chatId);
    this.#draw();
  }

  #add(live: Live, patch: AnswerPatch): void {
    live.patch = { ...live.patch, ...patch };
    this.#drawTimer ??= setTimeout(() => this.#draw(), drawEveryMs(live.patch));
  }

  #draw(): void {
    clearTimeout(this.#drawTimer);
    this.#drawTimer = undefined;
    for (const listener of this.#listeners) listener();
  }

  async #write(live: Live): Promise<void> {
    try {
      const isThere = await this.#store.patchAnswer(live.seq, { state: "streaming", ...live.patch });
      if (!isThere) live.abort.abort();
      else this.#tabs.changed(live.chatId);
    } catch {
      // The disk may be full: the answer still comes, and is tried to be written with the next piece.
    }
  }

  /** Shows a change here and in the other tabs. */
  async #announce(chatId: string): Promise<void> {
    this.#tabs.changed(chatId);
    await this.#refresh(chatId);
    this.#draw();
  }

  async #refresh(chatId: string): Promise<void> {
    await Promise.all([this.#readAgain(chatKeys.list), this.#readAgain(chatKeys.turns(chatId))]);
  }

  async #readAgain(queryKey: readonly string[]): Promise<void> {
    const isFirstLoad = this.#client.getQueryState(queryKey)?.dataUpdatedAt === 0;
    await this.#client.invalidateQueries({ queryKey });
    // A first load is not begun anew, and may have read what was there before.
    if (isFirstLoad) await this.#client.invalidateQueries({ queryKey });
  }
}

export const chatKeys = {
  list: ["chats"],
  turns: (chatId: string) => ["chat-turns", chatId],
} as const;

/** The first words of a question name its chat until it is renamed. */
export function titleFor(text: string): string {
  const line = text.trim().split("\n", 1)[0]?.trim() ?? "";
  const letters = Array.from(line);
  return letters.length <= longestTitle
    ? line
    : `${letters
        .slice(0, longestTitle - 1)
        .join("")
        .trimEnd()}…`;
}

function spokenOf({ role, text }: Turn): Spoken {
  return { role, text };
}

function added({ text = "", reasoning = "" }: AnswerPatch, piece: Piece): AnswerPatch {
  return {
    ...(piece.text === undefined ? {} : { text: text + piece.text }),
    ...(piece.reasoning === undefined ? {} : { reasoning: reasoning + piece.reasoning }),
    ...(piece.end === undefined ? {} : { end: piece.end }),
  };
}

function turnErrorOf(error: unknown): TurnError {
  if (error instanceof AnswerError) return error.turnError;
  return { kind: "gateway", status: 0, message: error instanceof Error ? error.message : String(error) };
}

async function endSession(chatId: string): Promise<void> {
  await call("DELETE /api/sessions/{id}", { params: { id: chatId } });
}
