import type { AnswerPatch } from "./chat-store.ts";

/** What the page keeps of one person's ways, in local storage, which a reload in the same instant cannot outrun. */
const draftPrefix = "keywheel-chat-draft-";
const modelPrefix = "keywheel-chat-model-";
const cutPrefix = "keywheel-chat-cut-";
const providerName = "keywheel-chat-provider";

/** What was typed and not sent yet, per chat. */
export const drafts = {
  of: (chatId: string): string => read(draftPrefix + chatId) ?? "",
  keep: (chatId: string, text: string): void => keep(draftPrefix + chatId, text),
} as const;

/** What a new chat begins with. */
export const habits = {
  provider: (): string | undefined => read(providerName),
  model: (providerId: string): string => read(modelPrefix + providerId) ?? "",
  keep: (providerId: string, model: string): void => {
    keep(providerName, providerId);
    keep(modelPrefix + providerId, model);
  },
} as const;

/**
 * What had come of an answer when its page went away. The database is too slow for that moment: what is begun then is not
 * ended.
 */
export const cutAnswers = {
  keep: (seq: number, patch: AnswerPatch): void => keep(cutPrefix + seq, JSON.stringify(patch)),
  take(seq: number): AnswerPatch {
    const kept = read(cutPrefix + seq);
    keep(cutPrefix + seq, "");
    return kept === undefined ? {} : (JSON.parse(kept) as AnswerPatch);
  },
} as const;

function read(name: string): string | undefined {
  try {
    return localStorage.getItem(name) ?? undefined;
  } catch {
    // Storage is closed to us.
    return undefined;
  }
}

function keep(name: string, value: string): void {
  try {
    if (value === "") localStorage.removeItem(name);
    else localStorage.setItem(name, value);
  } catch {
    // Closed or full: a draft is still in its field, a habit is asked for again.
  }
}
