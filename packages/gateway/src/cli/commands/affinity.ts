import { wrongWords } from "../exit.ts";
import { formatTable } from "../table.ts";
import { type Context, present, printJson, say, segment } from "./context.ts";
import type { Affinity, CachedInput, PoolAffinity, SessionAffinity } from "./wire.ts";
import { counted, dateTime, percent } from "./words.ts";

const dayMs = 86_400_000;
const mostDays = 400;

export interface PoolAffinityFlags {
  readonly days?: string;
}

/** What keeping sessions on their keys was worth to a pool. @throws CommandError (2) if the days are none */
export async function showPoolAffinity(context: Context, slug: string, flags: PoolAffinityFlags): Promise<void> {
  const days = readDays(flags.days ?? "1");
  const query = new URLSearchParams({ provider: slug, from: new Date(Date.now() - days * dayMs).toISOString() });
  const text = await context.client.text("GET", `/affinity?${query.toString()}`);
  if (context.json) return printJson(context, text);
  const [pool] = (JSON.parse(text) as Affinity).data;
  if (pool === undefined) return say(context, `No request has asked a key of ${slug} in ${counted(days, "day")}.`);
  context.terminal.out(describePool(context, pool));
}

/** Which requests of a session kept their key, and what came from the cache. */
export async function showSession(context: Context, id: string, flags: { readonly provider?: string }): Promise<void> {
  const query = new URLSearchParams(present({ provider: flags.provider }) as Record<string, string>);
  const path = `/sessions/${segment(id)}/affinity${query.size === 0 ? "" : `?${query.toString()}`}`;
  const text = await context.client.text("GET", path);
  if (context.json) return printJson(context, text);
  context.terminal.out(describeSession(context, JSON.parse(text) as SessionAffinity));
}

function readDays(text: string): number {
  const days = /^\d{1,3}$/.test(text) ? Number(text) : 0;
  if (days < 1 || days > mostDays)
    throw wrongWords(`--days must be a whole number from 1 to ${mostDays}, got ${text}.`);
  return days;
}

function describePool(context: Context, pool: PoolAffinity): string {
  const { colors } = context.terminal;
  const counts = (value: (source: PoolAffinity["sources"][number]) => number | string) => ({
    value: (source: PoolAffinity["sources"][number]) => String(value(source)),
    align: "right" as const,
  });
  const sources = formatTable(
    [
      { heading: "Tied by", value: ({ source }) => source },
      { heading: "Requests", ...counts(({ requests }) => requests) },
      { heading: "Kept", ...counts(({ kept }) => kept) },
      { heading: "First", ...counts(({ new: first }) => first) },
      { heading: "Left", ...counts(({ left }) => left) },
      { heading: "Cached", ...counts(({ cached_share: share }) => percent(share)) },
    ],
    pool.sources,
    colors,
  );
  const reasons = pool.reasons.map(
    ({ reason, requests }) => `  ${reason.replaceAll("_", " ")}: ${counted(requests, "request")}\n`,
  );
  return [
    fatesTable(context, [...fatesOf(pool), ["tied to no key", pool.untied]]),
    `\n${percent(pool.kept_share)} of the requests that had a key kept it; `,
    `${percent(pool.left_share)} of all had to leave theirs${reasons.length === 0 ? ".\n" : ":\n"}`,
    ...reasons,
    `\n${sources}`,
  ].join("");
}

function describeSession(context: Context, session: SessionAffinity): string {
  const nameOf = ({ label, api_key: masked, key_id: id }: SessionAffinity["keys"][number]): string =>
    label || masked || id;
  const keys = formatTable(
    [
      { heading: "Key", value: nameOf },
      { heading: "Requests", value: ({ requests }) => String(requests), align: "right" },
      { heading: "Cached", value: ({ cached_share: share }) => percent(share), align: "right" },
    ],
    session.keys,
    context.terminal.colors,
  );
  const moves = session.steps
    .filter(({ left }) => left !== null)
    .map(
      ({ ended_at: at, left, fate, label, api_key: masked }) =>
        `  ${dateTime(at)}  ${left?.label || left?.api_key || left?.key_id || ""} → ${label || masked || "no key"}: ` +
        `${fate.replaceAll("_", " ")}\n`,
    );
  const heading = moves.length === 0 ? "\nIt has not changed its key.\n" : "\nIt changed its key:\n";
  return [fatesTable(context, fatesOf(session)), `\n${keys}`, heading, ...moves].join("");
}

type Line = readonly [string, CachedInput];

function fatesOf({ kept, left, new: first }: Pick<PoolAffinity, "kept" | "left" | "new">): readonly Line[] {
  return [
    ["kept their key", kept],
    ["had to leave it", left],
    ["first requests", first],
  ];
}

function fatesTable({ terminal }: Context, lines: readonly Line[]): string {
  const input = ([, counts]: Line): number =>
    counts.input_tokens + counts.cache_read_tokens + counts.cache_write_tokens;
  return formatTable(
    [
      { heading: "Requests that", value: ([name]: Line) => name },
      { heading: "Requests", value: ([, { requests }]) => String(requests), align: "right" },
      { heading: "Input tokens", value: (line) => String(input(line)), align: "right" },
      { heading: "From the cache", value: ([, { cached_share: share }]) => percent(share), align: "right" },
    ],
    lines,
    terminal.colors,
  );
}
