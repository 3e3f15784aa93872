import type { TFunction } from "i18next";
import type { Provider, UsageRow } from "../../api/openapi.ts";
import type { ChartRow } from "../../parts/chart/chart-figure.tsx";
import { keyNameOf } from "../../parts/key-name.ts";

export const groups = ["key", "label", "provider", "token", "model"] as const;
export type Group = (typeof groups)[number];

export const counts = [
  "requests",
  "errors",
  "failovers",
  "input_tokens",
  "cache_read_tokens",
  "output_tokens",
] as const;
export type CountName = (typeof counts)[number];
export type Sums = Readonly<Record<CountName, number>>;

/** One thing that usage is told apart by. */
export interface GroupSum {
  readonly id: string;
  readonly name: string;
  /** Tells it from others of the same name; of keys, their provider. */
  readonly detail: string;
  readonly sums: Sums;
}

export const noSums: Sums = {
  requests: 0,
  errors: 0,
  failovers: 0,
  input_tokens: 0,
  cache_read_tokens: 0,
  output_tokens: 0,
};

type Row = UsageRow;

/** Input is all that was sent: that which was written to a cache, too, is no cheaper than the rest. */
function countsOf(row: Row): Sums {
  const { requests, errors, failovers, cache_read_tokens, output_tokens } = row;
  const input_tokens = row.input_tokens + row.cache_write_tokens + cache_read_tokens;
  return { requests, errors, failovers, input_tokens, cache_read_tokens, output_tokens };
}

/** The columns of a file. Those that say what they are a part of are in that already, and must not be added to it. */
export const fileCounts = [
  "requests",
  "errors",
  "failovers",
  "input_tokens",
  "of_input_cache_read_tokens",
  "of_input_cache_write_tokens",
  "output_tokens",
  "of_output_reasoning_tokens",
] as const;

/** The same numbers as the page tells, and those that they are made of. */
export function fileCountsOf(row: Row): Readonly<Record<(typeof fileCounts)[number], number>> {
  const { requests, errors, failovers, input_tokens, output_tokens } = countsOf(row);
  return {
    requests,
    errors,
    failovers,
    input_tokens,
    of_input_cache_read_tokens: row.cache_read_tokens,
    of_input_cache_write_tokens: row.cache_write_tokens,
    output_tokens,
    of_output_reasoning_tokens: row.reasoning_tokens,
  };
}

export function plus(one: Sums, other: Sums): Sums {
  const entries = counts.map((name) => [name, one[name] + other[name]] as const);
  return Object.fromEntries(entries) as Record<CountName, number>;
}

/** What tells a row's group from others. */
export function idOf(row: Row, group: Group): string {
  switch (group) {
    case "key":
      // The provider-level keys of several providers have one id.
      return row.key_id === "provider" ? `provider ${row.provider_id ?? ""}` : (row.key_id ?? "");
    case "label":
      return row.label ?? "";
    case "provider":
      return row.provider_id ?? "";
    case "token":
      return row.token_id ?? "";
    case "model":
      return row.model ?? "";
  }
}

/** What a row's group is called. */
export function nameOf(row: Row, group: Group, { t, providers }: NameWords): string {
  switch (group) {
    case "key":
      return keyNameOf(row, t) || t("usage.noKey");
    case "label":
      return row.label === "" || row.label === undefined ? t("usage.noLabel") : row.label;
    case "provider": {
      const found = providers.find(({ id }) => id === row.provider_id);
      return found?.name ?? row.provider ?? t("usage.goneProvider", { id: row.provider_id ?? "" });
    }
    case "token":
      if (row.token_id === null || row.token_id === undefined) return t("usage.noToken");
      return row.token_name ?? t("usage.goneToken", { id: row.token_id });
    case "model":
      if (row.model === null || row.model === undefined) return t("usage.noModel");
      return row.model === otherModels ? t("usage.otherModels") : row.model;
  }
}

function detailOf(row: Row, group: Group, words: NameWords): string {
  const isKey = group === "key" && row.key_id !== null && row.provider_id !== undefined;
  return isKey ? nameOf(row, "provider", words) : "";
}

/** Stands for the models beyond those that the gateway tells apart. */
const otherModels = "other";

export interface NameWords {
  readonly t: TFunction;
  readonly providers: readonly Provider[];
}

/** Summed up over time, most requests first. */
export function sumUp(rows: readonly Row[], group: Group, words: NameWords): readonly GroupSum[] {
  const found = new Map<string, GroupSum>();
  for (const row of rows) {
    const id = idOf(row, group);
    const before = found.get(id);
    const sums = plus(before?.sums ?? noSums, countsOf(row));
    const { name, detail } = before ?? { name: nameOf(row, group, words), detail: detailOf(row, group, words) };
    found.set(id, { id, name, detail, sums });
  }
  return [...found.values()].sort((one, other) => other.sums.requests - one.sums.requests);
}

/** What is drawn: of everything, or of each of a few groups and the rest. */
export interface Drawn {
  /** The groups that are told apart, by id; others are drawn as one. */
  readonly ids: ReadonlySet<string>;
  readonly group: Group;
  readonly count: CountName;
}

export const restName = "rest";

/** Values by bucket: of the groups by their id, of all others under `restName`. */
export function drawnRows(rows: readonly Row[], starts: readonly number[], { ids, group, count }: Drawn): ChartRow[] {
  const buckets = new Map<number, Record<string, number>>(starts.map((at) => [at, {}]));
  for (const row of rows) {
    const values = buckets.get(Date.parse(row.at ?? ""));
    if (!values) continue;
    const id = idOf(row, group);
    const name = ids.has(id) ? seriesName(id) : restName;
    values[name] = (values[name] ?? 0) + countsOf(row)[count];
  }
  return [...buckets].map(([at, values]) => ({ at, values }));
}

/** The drawing library takes dots in names for paths. */
export function seriesName(id: string): string {
  return `g:${id.replaceAll(".", "\u2024")}`;
}
