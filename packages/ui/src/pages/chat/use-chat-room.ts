import { queryOptions, type QueryClient, useQueryClient } from "@tanstack/react-query";
import { useSyncExternalStore } from "react";
import { chatKeys, ChatRoom } from "./chat-room.ts";
import type { AnswerPatch } from "./chat-store.ts";

const rooms = new WeakMap<QueryClient, ChatRoom>();

export function useChatRoom(): ChatRoom {
  const client = useQueryClient();
  const room = rooms.get(client) ?? new ChatRoom(client);
  rooms.set(client, room);
  return room;
}

/** What has come so far of the answer that this tab receives in a chat. */
export function useComing(room: ChatRoom, chatId: string): AnswerPatch | undefined {
  return useSyncExternalStore(room.subscribe, () => room.coming(chatId));
}

// They are asked of this browser, which needs no network.
const local = { networkMode: "always", retry: false } as const;

export function chatsQuery(room: ChatRoom) {
  return queryOptions({ queryKey: chatKeys.list, queryFn: () => room.chats(), ...local });
}

export function turnsQuery(room: ChatRoom, chatId: string) {
  return queryOptions({ queryKey: chatKeys.turns(chatId), queryFn: () => room.turns(chatId), ...local });
}
