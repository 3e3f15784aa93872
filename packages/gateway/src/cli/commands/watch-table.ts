import { type Column, formatTable } from "../table.ts";
import type { Palette } from "../terminal.ts";
import type { Rates } from "./rates.ts";
import { columnsOf as poolColumnsOf, type ProviderStatus, stateOf } from "./status.ts";
import type { Look } from "./watch.ts";
import type { KeyOnTheWire } from "./wire.ts";
import { counted, reasonOf, statusColor, statusOf } from "./words.ts";

/** A key in the live table. */
export interface Row {
  readonly provider: ProviderStatus;
  readonly key: KeyOnTheWire;
  /** Requests in the last minute. */
  readonly rate: number;
}

export function rowsOf({ status, keys }: Pick<Look, "status" | "keys">, rates: Pick<Rates, "of">): readonly Row[] {
  return status.providers.flatMap((provider) =>
    (keys.get(provider.id) ?? []).map((key) => ({ provider, key, rate: rates.of(key.id) })),
  );
}

export interface TableOptions {
  /** Epoch ms. */
  readonly now: number;
  /** How many lines it may take. */
  readonly room: number;
  readonly colors: Palette;
}

/**
 * The pools with what their affinity was worth in the last day, and an empty line below. A third of the room at the most: the
 * keys are what is watched.
 */
export function poolsTableOf(
  { status, affinity }: Pick<Look, "status" | "affinity">,
  { room, colors }: Omit<TableOptions, "now">,
): readonly string[] {
  const { pools = [] } = affinity;
  const { providers } = status;
  const shown = providers.slice(0, Math.floor(room / 3) - linesBeside);
  if (pools.length === 0 || shown.length === 0) return [];
  const lines = formatTable(poolColumnsOf(colors, pools), shown, colors).trimEnd().split("\n");
  const more = providers.length - shown.length;
  const rest = more === 0 ? [] : [colors.dim(`and ${counted(more, "more provider")}: keywheel status shows all`)];
  return [...lines, ...rest, ""];
}

/** The headings of the pools, how many are left out, and the empty line below them. */
const linesBeside = 3;

/** The keys in wheel order, pool by pool. Where there is no room for all, those that cannot serve come first. */
export function tableOf(rows: readonly Row[], { now, room, colors }: TableOptions): readonly string[] {
  if (rows.length === 0) return ["There is no key yet. Add one: keywheel key add openai"];
  const fits = rows.length + 1 <= room;
  const shown = fits ? rows : troubledFirst(rows).slice(0, Math.max(0, room - 2));
  const lines = formatTable(columnsOf(now, colors), shown, colors).trimEnd().split("\n");
  if (fits) return lines;
  const more = rows.length - shown.length;
  return [...lines, colors.dim(`and ${counted(more, "more key")}, for which there is no room here`)];
}

function troubledFirst(rows: readonly Row[]): readonly Row[] {
  return rows.toSorted((one, other) => Number(isFine(one)) - Number(isFine(other)));
}

function isFine({ key }: Row): boolean {
  return key.status === "available";
}

function columnsOf(now: number, colors: Palette): readonly Column<Row>[] {
  return [
    { heading: "Provider", value: ({ provider }) => provider.slug },
    { heading: "Key", value: ({ key }) => nameOf(key) },
    {
      heading: "State",
      value: ({ key }) => statusOf(key, now),
      paint: (text, { key }) => statusColor(colors, key.status)(text),
    },
    { heading: "Weight", value: ({ key }) => String(key.weight), align: "right" },
    { heading: "Last min", value: ({ rate }) => String(rate), align: "right" },
    { heading: "Requests", value: ({ key }) => String(key.stats.requests), align: "right" },
    { heading: "Sessions", value: ({ key }) => String(key.bound_sessions), align: "right" },
    { heading: "Reason", value: ({ key }) => reasonOf(key) },
  ];
}

function nameOf({ label, api_key: masked }: KeyOnTheWire): string {
  return label === "" ? masked : label;
}

/** What became different, as sentences; how everything stands, where nothing was seen before. */
export function changesBetween(before: Look | undefined, after: Look): readonly string[] {
  const providers = after.status.providers.flatMap((provider) => {
    const state = plainState(provider);
    const former = before?.status.providers.find(({ id }) => id === provider.id);
    return former !== undefined && plainState(former) === state ? [] : [`${provider.slug}: ${state}`];
  });
  const gone = (before?.status.providers ?? [])
    .filter(({ id }) => !after.status.providers.some((provider) => provider.id === id))
    .map(({ slug }) => `${slug}: removed`);
  return [...providers, ...gone, ...after.status.providers.flatMap((provider) => keyChanges(provider, before, after))];
}

function keyChanges({ id, slug }: ProviderStatus, before: Look | undefined, after: Look): readonly string[] {
  const former = new Map((before?.keys.get(id) ?? []).map((key) => [key.id, key]));
  const now = after.keys.get(id) ?? [];
  const changed = now.flatMap((key) => {
    const was = former.get(key.id);
    if (was?.status === key.status && was.cooldown_until === key.cooldown_until) return [];
    const reason = key.status === "available" ? "" : reasonOf(key);
    return [`${slug} ${nameOf(key)}: ${statusOf(key, after.at)}${reason === "" ? "" : `, ${reason}`}`];
  });
  const present = new Set(now.map((key) => key.id));
  const removed = [...former.values()].filter((key) => !present.has(key.id));
  return [...changed, ...removed.map((key) => `${slug} ${nameOf(key)}: removed`)];
}

/** Without the time that is left, which changes by itself. */
function plainState(provider: ProviderStatus): string {
  return stateOf(provider).replace(/,.*/, "");
}
