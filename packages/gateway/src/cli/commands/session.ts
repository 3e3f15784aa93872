import { formatTable } from "../table.ts";
import { type Context, present, printJson, say, segment } from "./context.ts";
import type { List, Provider, Session, SessionList } from "./wire.ts";
import { ago, dateTime, shorten } from "./words.ts";

export interface SessionFlags {
  readonly provider?: string;
  readonly key?: string;
  readonly search?: string;
  readonly limit?: string;
  readonly cursor?: string;
}

export async function listSessions(context: Context, flags: SessionFlags): Promise<void> {
  const { provider, key, search: q, limit, cursor } = flags;
  const query = new URLSearchParams(present({ provider, key, q, limit, cursor }) as Record<string, string>);
  const text = await context.client.text("GET", `/sessions${query.size === 0 ? "" : `?${query.toString()}`}`);
  if (context.json) return printJson(context, text);

  const { data, next_cursor: next } = JSON.parse(text) as SessionList;
  if (data.length === 0) return say(context, "No session is bound to a key.");
  const { data: providers } = await context.client.call<List<Provider>>("GET", "/providers");
  const slugs = new Map(providers.map(({ id, slug }) => [id, slug]));
  const now = Date.now();
  const columns = [
    { heading: "Session", value: ({ id }: Session) => shorten(id, 60) },
    { heading: "Provider", value: ({ provider_id: id }: Session) => slugs.get(id) ?? id },
    { heading: "Key", value: ({ key_id: id }: Session) => id },
    { heading: "Named by", value: ({ carrier }: Session) => carrier },
    { heading: "Bound since", value: ({ bound_at: at }: Session) => dateTime(at) },
    { heading: "Last used", value: ({ last_used_at: at }: Session) => ago(at, now) },
    { heading: "Requests", value: ({ requests }: Session) => String(requests), align: "right" as const },
  ];
  context.terminal.out(formatTable(columns, data, context.terminal.colors));
  if (next !== null) say(context, `There are more: keywheel session list --cursor '${next}'`);
}

export async function endSessions(context: Context, ids: readonly string[]): Promise<void> {
  for (const id of ids) {
    await context.client.call("DELETE", `/sessions/${segment(id)}`);
    if (context.json) printJson(context, JSON.stringify({ id, ended: true }));
    else say(context, `Ended the session ${id}. Its next request takes its turn on the wheel.`);
  }
}
