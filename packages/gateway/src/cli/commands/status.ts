import { finish } from "../client/explain.ts";
import { type Column, formatTable } from "../table.ts";
import type { Palette } from "../terminal.ts";
import { type Context, printJson } from "./context.ts";
import { affinityOf, readAffinity, withAffinity } from "./status-affinity.ts";
import type { PoolAffinity, Status } from "./wire.ts";
import { countsOf, duration, percent } from "./words.ts";

export type ProviderStatus = Status["providers"][number];

export async function showStatus(context: Context): Promise<void> {
  const status = await context.client.call<Status>("GET", "/status");
  const affinity = await readAffinity(context);
  if (context.json) printJson(context, JSON.stringify(withAffinity(status, affinity)));
  else context.terminal.out(describe(context, status, affinity ?? []));
}

function describe(context: Context, status: Status, affinity: readonly PoolAffinity[]): string {
  const { colors } = context.terminal;
  return [
    ...headOf(context, status).map((line) => `${line}\n`),
    "\n",
    status.providers.length === 0
      ? "There is no provider yet. Add one: keywheel provider add openai\n"
      : formatTable(columnsOf(colors, affinity), status.providers, colors),
  ].join("");
}

/** Whether it runs, and what is wrong with it, a line each. */
export function headOf({ client, terminal }: Context, status: Status): readonly string[] {
  const { colors } = terminal;
  const running =
    client.url === undefined
      ? `${colors.yellow("not running")}  The data directory is ${client.where}. Start it: keywheel start`
      : `${colors.green("running")}  ${client.url}  since ${duration(status.uptime_ms)}, version ${status.version}`;
  const warnings = [
    ...storeWarnings(status.store),
    status.shared_state.trouble === null
      ? ""
      : `Redis is away, the gateway goes on alone: ${status.shared_state.trouble}`,
    ...configWarnings(status.config),
    status.master_key_ok ? "" : "Stored keys were encrypted with another master key and cannot be read.",
  ].filter((line) => line !== "");

  return [running, ...warnings.map((line) => `${colors.red("!")} ${line}`)];
}

/** The pools, a line each; affinity of the last day, if there was any. */
export function columnsOf(colors: Palette, affinity: readonly PoolAffinity[]): readonly Column<ProviderStatus>[] {
  const shareOf = (name: "kept_share" | "cached_share", { id }: ProviderStatus): string => {
    const pool = affinityOf(affinity, id);
    return percent(pool === undefined ? null : name === "kept_share" ? pool.kept_share : pool.total.cached_share);
  };
  const ofLastDay = [
    {
      heading: "Kept key",
      value: (provider: ProviderStatus) => shareOf("kept_share", provider),
      align: "right" as const,
    },
    {
      heading: "Cached",
      value: (provider: ProviderStatus) => shareOf("cached_share", provider),
      align: "right" as const,
    },
  ];
  const paint = (shown: string, provider: ProviderStatus): string =>
    provider.can_serve ? colors.green(shown) : colors.red(shown);
  return [
    { heading: "Provider", value: ({ slug }: ProviderStatus) => slug },
    { heading: "State", value: stateOf, paint },
    { heading: "Keys", value: ({ keys }: ProviderStatus) => countsOf(keys) },
    // Columns of dashes would tell nobody anything.
    ...(affinity.length === 0 ? [] : ofLastDay),
    { heading: "Base URL", value: (provider: ProviderStatus) => provider.base_url },
  ];
}

export function stateOf({ enabled, can_serve: canServe, next_available_at: next }: ProviderStatus): string {
  if (!enabled) return "disabled";
  if (canServe) return "serving";
  return next === null ? "no usable key" : `resting, ${duration(Date.parse(next) - Date.now())} left`;
}

function configWarnings(config: Status["config"]): readonly string[] {
  if (config === null || config.problem === null) return [];
  return [
    `The configuration file ${config.file} cannot be taken; what was taken up before goes on. ${finish(config.problem)}`,
    "All of its mistakes: keywheel config status",
  ];
}

function storeWarnings({ trouble, hint, damaged }: Status["store"]): readonly string[] {
  if (trouble === null) return [];
  return [damaged ? trouble : `The database cannot be written: ${trouble}`, hint ?? ""];
}
