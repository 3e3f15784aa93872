import { type DBSchema, type IDBPDatabase, openDB } from "idb";
import type { TurnError } from "./chat-error.ts";

/** A conversation. Its id is also the session's at the gateway. */
export interface Chat {
  readonly id: string;
  readonly title: string;
  readonly providerId: string;
  readonly model: string;
  /** Epoch ms by this browser's clock, as are all instants here. */
  readonly createdAt: number;
  readonly updatedAt: number;
  readonly closedAt?: number;
}

interface TurnBase {
  /** Given by the database, growing: two tabs that write at once cannot take the same place. */
  readonly seq: number;
  readonly chatId: string;
  readonly at: number;
  readonly text: string;
}

export interface UserTurn extends TurnBase {
  readonly role: "user";
}

export interface AnswerTurn extends TurnBase {
  readonly role: "assistant";
  /** `broken`: the tab that received it went away in the middle. */
  readonly state: "streaming" | "done" | "stopped" | "broken" | "failed";
  /** The tab that receives it. */
  readonly owner: string;
  readonly providerId: string;
  readonly model: string;
  readonly reasoning?: string;
  readonly keyId?: string;
  readonly attempts?: number;
  readonly durationMs?: number;
  readonly end?: "whole" | "length" | "filter";
  readonly error?: TurnError;
}

export type Turn = UserTurn | AnswerTurn;
/** What becomes known of an answer while it comes. */
export type AnswerPatch = Partial<
  Pick<AnswerTurn, "text" | "state" | "reasoning" | "keyId" | "attempts" | "durationMs" | "end" | "error">
>;

interface Schema extends DBSchema {
  chats: { key: string; value: Chat };
  turns: { key: number; value: Turn; indexes: { chatId: string } };
}

/** The chat is gone, closed, just being answered, or has moved on from the answer that was to be replaced: in another tab. */
export class ChatConflict extends Error {
  readonly reason: "gone" | "closed" | "busy" | "moved";
  constructor(reason: ChatConflict["reason"]) {
    super(`The chat is ${reason}`);
    this.name = "ChatConflict";
    this.reason = reason;
  }
}

/**
 * The chats of this browser, in IndexedDB. Every change is one transaction that looks at what is there now, since another
 * tab may have changed it.
 */
export class ChatStore {
  #database: Promise<IDBPDatabase<Schema>> | undefined;

  #open(): Promise<IDBPDatabase<Schema>> {
    this.#database ??= openDB<Schema>("keywheel-chats", 1, {
      upgrade(database) {
        database.createObjectStore("chats", { keyPath: "id" });
        database.createObjectStore("turns", { keyPath: "seq", autoIncrement: true }).createIndex("chatId", "chatId");
      },
      // A newer version of the page in another tab waits for us to let go.
      blocking: (_, __, event) => {
        (event.target as unknown as IDBDatabase).close();
        this.#database = undefined;
      },
      terminated: () => (this.#database = undefined),
    }).catch((error: unknown) => {
      this.#database = undefined;
      throw error;
    });
    return this.#database;
  }

  /** The latest first. */
  async chats(): Promise<readonly Chat[]> {
    const chats = await (await this.#open()).getAll("chats");
    return chats.sort((one, other) => other.updatedAt - one.updatedAt);
  }

  async turns(chatId: string): Promise<readonly Turn[]> {
    return (await this.#open()).getAllFromIndex("turns", "chatId", chatId);
  }

  async add(chat: Chat): Promise<void> {
    await (await this.#open()).add("chats", chat);
  }

  /** @throws ChatConflict gone */
  async change(chatId: string, patch: Partial<Omit<Chat, "id" | "closedAt">>): Promise<void> {
    await this.#changeChat(chatId, (chat) => ({ ...chat, ...patch }));
  }

  /** @param at when it was closed; undefined opens it again. @throws ChatConflict gone */
  async close(chatId: string, at: number | undefined): Promise<void> {
    await this.#changeChat(chatId, (chat) => {
      const { closedAt: _closedAt, ...open } = chat;
      return at === undefined ? open : { ...open, closedAt: at };
    });
  }

  async #changeChat(chatId: string, change: (chat: Chat) => Chat): Promise<void> {
    const transaction = (await this.#open()).transaction("chats", "readwrite");
    const chat = await transaction.store.get(chatId);
    if (chat !== undefined) await transaction.store.put(change(chat));
    await transaction.done;
    if (chat === undefined) throw new ChatConflict("gone");
  }

  async remove(chatId: string): Promise<void> {
    const transaction = (await this.#open()).transaction(["chats", "turns"], "readwrite");
    await transaction.objectStore("chats").delete(chatId);
    const turns = transaction.objectStore("turns");
    for (const seq of await turns.index("chatId").getAllKeys(chatId)) await turns.delete(seq);
    await transaction.done;
  }

  /**
   * Puts a question and the place for its answer into a chat, or the place alone in the stead of an answer that failed.
   *
   * @returns the conversation up to the new answer, and that answer
   * @throws ChatConflict
   */
  async begin(
    chatId: string,
    question: { readonly text: string } | { readonly retry: number },
    answer: Pick<AnswerTurn, "at" | "owner" | "providerId" | "model">,
  ): Promise<{ readonly before: readonly Turn[]; readonly answer: AnswerTurn }> {
    const transaction = (await this.#open()).transaction(["chats", "turns"], "readwrite");
    const [chats, turns] = [transaction.objectStore("chats"), transaction.objectStore("turns")];
    const chat = await chats.get(chatId);
    const all = await turns.index("chatId").getAll(chatId);
    const reason = conflictOf(chat, all, question);
    if (reason !== undefined || chat === undefined) {
      await transaction.done;
      throw new ChatConflict(reason ?? "gone");
    }
    const { at, providerId, model } = answer;
    let before = all;
    if ("text" in question) {
      const asked = { role: "user", chatId, at, text: question.text } as const;
      before = [...all, { ...asked, seq: await turns.add(asked as unknown as Turn) }];
    } else {
      before = all.slice(0, -1);
      await turns.delete(question.retry);
    }
    const placed = { ...answer, role: "assistant", chatId, text: "", state: "streaming" } as const;
    const seq = await turns.add(placed as unknown as Turn);
    await chats.put({ ...chat, providerId, model, updatedAt: at });
    await transaction.done;
    return { before, answer: { ...placed, seq } };
  }

  /** @returns false if the answer is gone, as when its chat was deleted in another tab */
  async patchAnswer(
    seq: number,
    patch: AnswerPatch,
    isMeant: (turn: AnswerTurn) => boolean = () => true,
  ): Promise<boolean> {
    const transaction = (await this.#open()).transaction("turns", "readwrite");
    const turn = await transaction.store.get(seq);
    const isThere = turn?.role === "assistant" && isMeant(turn);
    if (isThere) await transaction.store.put({ ...turn, ...patch });
    await transaction.done;
    return isThere;
  }
}

function conflictOf(
  chat: Chat | undefined,
  turns: readonly Turn[],
  question: object & { readonly retry?: number },
): ChatConflict["reason"] | undefined {
  if (chat === undefined) return "gone";
  if (chat.closedAt !== undefined) return "closed";
  if (turns.some((turn) => turn.role === "assistant" && turn.state === "streaming")) return "busy";
  return question.retry !== undefined && turns.at(-1)?.seq !== question.retry ? "moved" : undefined;
}
