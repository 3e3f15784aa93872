import { setTimeout as wait } from "node:timers/promises";
import { failed } from "../exit.ts";
import { clip } from "../table.ts";
import { type Context, printJson, say } from "./context.ts";
import { changesBetween, poolsTableOf, rowsOf, tableOf } from "./watch-table.ts";
import { Rates } from "./rates.ts";
import { headOf } from "./status.ts";
import { readAffinity, withAffinity } from "./status-affinity.ts";
import type { KeyOnTheWire, List, PoolAffinity, Status } from "./wire.ts";

/** Everything that is shown, at one instant. */
export interface Look {
  /** Epoch ms. */
  readonly at: number;
  readonly status: Status;
  readonly keys: ReadonlyMap<string, readonly KeyOnTheWire[]>;
  /** Of the last day. */
  readonly affinity: { readonly at: number; readonly pools: readonly PoolAffinity[] | undefined };
}

const periodMs = 1000;
/** With more keys than this they are asked for less often: their list is long. */
const manyKeys = 1000;
const longPeriodMs = 5000;
/** The sums of a day change slowly, and the database is asked for them. */
const affinityPeriodMs = 5000;

/**
 * Follows how the gateway and its keys stand until it is interrupted, or nobody takes the results any more: on a terminal in a
 * tables that stay in their place, else with a line for each change, with `--json` the status once a second.
 *
 * @throws CommandError (1) if no gateway runs: watching would keep the data directory from one that is to be started
 */
export async function watchStatus(context: Context, signal: AbortSignal): Promise<void> {
  const { client, terminal, json } = context;
  if (client.url === undefined) throw failed(`No gateway runs on ${client.where}: there is nothing to watch.`);
  if (json) return printEverySecond(context, signal);
  return terminal.isInteractive ? showLive(context, signal) : tellChanges(context, signal);
}

async function printEverySecond(context: Context, signal: AbortSignal): Promise<void> {
  let affinity: Look["affinity"] | undefined;
  await everySecond(signal, async () => {
    const status = await context.client.call<Status>("GET", "/status");
    affinity = await lookAtAffinity(context, affinity);
    printJson(context, JSON.stringify(withAffinity(status, affinity.pools)));
  });
}

async function tellChanges(context: Context, signal: AbortSignal): Promise<void> {
  let before: Look | undefined;
  await everySecond(signal, async () => {
    const look = await lookAt(context, before);
    const at = new Date(look.at).toISOString().replace(/\.\d+Z$/, "Z");
    for (const sentence of changesBetween(before, look)) say(context, `${at}  ${sentence}`);
    before = look;
  });
}

async function showLive(context: Context, signal: AbortSignal): Promise<void> {
  const { out, screen } = context.terminal;
  const rates = new Rates();
  let look: Look | undefined;
  const draw = (): void => {
    if (look !== undefined) out(frameOf(linesOf(context, look, rates), screen.size()));
  };
  const restore = (): void => out(leaveScreen);
  out(enterScreen);
  // Also where a fault ends the process.
  process.once("exit", restore);
  const unwatch = screen.onResize(draw);
  try {
    await everySecond(signal, async () => {
      look = await lookAt(context, look);
      rates.note(look);
      draw();
    });
  } finally {
    unwatch();
    process.off("exit", restore);
    restore();
  }
}

/** The other screen of the terminal, which leaves what was on this one as it is, and no cursor. @see xterm, "DECSET 1049, 25" */
const enterScreen = "\u001b[?1049h\u001b[?25l";
const leaveScreen = "\u001b[?25h\u001b[?1049l";

/** The lines in the place of what stood there; no more of them than there is room for, and no longer. */
function frameOf(
  lines: readonly string[],
  { columns, rows }: { readonly columns: number; readonly rows: number },
): string {
  const shown = lines.slice(0, rows).map((line) => `${clip(line, columns)}\u001b[K`);
  // Redrawing over the old text does not flicker.
  return `\u001b[H${shown.join("\n")}\u001b[J`;
}

function linesOf(context: Context, look: Look, rates: Rates): readonly string[] {
  const { colors, screen } = context.terminal;
  const head = [...headOf(context, look.status), ""];
  const foot = ["", colors.dim("Ctrl-C ends it.")];
  const room = Math.max(1, screen.size().rows - head.length - foot.length);
  const pools = poolsTableOf(look, { room, colors });
  const keys = tableOf(rowsOf(look, rates), { now: Date.now(), room: room - pools.length, colors });
  return [...head, ...pools, ...keys, ...foot];
}

async function lookAt(context: Context, before: Look | undefined): Promise<Look> {
  const { client } = context;
  const affinity = await lookAtAffinity(context, before?.affinity);
  const status = await client.call<Status>("GET", "/status");
  const at = Date.now();
  const isRecent = before !== undefined && at - before.at < longPeriodMs;
  if (before !== undefined && isRecent && status.counts.keys.total > manyKeys)
    return { at: before.at, status, affinity, keys: before.keys };
  const lists = await Promise.all(
    status.providers.map(async ({ id }) => {
      const { data } = await client.call<List<KeyOnTheWire>>("GET", `/providers/${id}/keys`);
      return [id, data] as const;
    }),
  );
  return { at, status, affinity, keys: new Map(lists) };
}

async function lookAtAffinity(context: Context, before: Look["affinity"] | undefined): Promise<Look["affinity"]> {
  if (before !== undefined && Date.now() - before.at < affinityPeriodMs) return before;
  const pools = await readAffinity(context);
  return { at: Date.now(), pools };
}

async function everySecond(signal: AbortSignal, act: () => Promise<void>): Promise<void> {
  while (!signal.aborted) {
    await act();
    // An interruption is the usual end of it.
    await wait(periodMs, undefined, { signal }).catch(() => undefined);
  }
}
