import type { CellState, Fingerprint, Health, StatusReason, Ticket } from "@keywheel/pool";

/** What the script answers and tells; short names, since every decision carries them. */
export interface WireHealth {
  readonly f: number;
  readonly c: number;
  readonly s: number;
  readonly a: number;
  readonly u: number;
  readonly w: Health["wait"];
}

export interface WireCell {
  /** The pool's version when it was written; what an instance tells of its own has none. */
  readonly v?: number;
  readonly sv: number;
  readonly g: number;
  readonly ref?: boolean;
  readonly held: number;
  readonly trial: number;
  readonly h: WireHealth;
  readonly r?: StatusReason;
  /** An empty list of the script's is an object. */
  readonly m: readonly { readonly n: string; readonly h: WireHealth; readonly r?: StatusReason }[] | object;
}

interface WireMark {
  readonly c: number;
  readonly s: number;
}

/** @see `script/changes.ts` */
export interface Answer {
  /** The pool is not there: the server was emptied. */
  readonly missing?: boolean;
  /** Tells the pool from one that was there before the server was emptied. */
  readonly n: string;
  /** The pool's version before and after. */
  readonly f: number;
  readonly v: number;
  readonly c?: Readonly<Record<string, WireCell>>;
  readonly all?: Readonly<Record<string, WireCell>>;
  readonly k?: string;
  readonly w?: "session" | "continuation" | "turn" | "pin";
  /** The key that the request belonged to. */
  readonly b?: string;
  readonly po?: readonly string[] | object;
  readonly t?: { readonly sv: number; readonly g: number; readonly mk: WireMark; readonly mm?: WireMark };
  readonly applied?: boolean;
  readonly turns?: readonly string[] | object;
}

/** What all instances are told after a change. */
export interface Push {
  readonly p: string;
  readonly n: string;
  /** Who asked for it and knows from the answer; empty for what nobody was answered. */
  readonly o: string;
  readonly f: number;
  readonly v: number;
  readonly c: Readonly<Record<string, WireCell>>;
  /** Name, key (false: ended), instant. */
  readonly b: readonly (readonly [string, string | false, number])[] | object;
}

export function listOf<T>(list: readonly T[] | object | undefined): readonly T[] {
  return Array.isArray(list) ? (list as readonly T[]) : [];
}

/** @returns undefined for what others may say over the same channel */
export function readPush(text: string): Push | undefined {
  try {
    const push: unknown = JSON.parse(text);
    const isOurs = typeof push === "object" && push !== null && "p" in push && "c" in push && "v" in push;
    return isOurs ? (push as Push) : undefined;
  } catch {
    // No JSON.
    return undefined;
  }
}

/** The name of a binding below its pool: sessions `s`, conversations `c`, objects `o`. */
export function bindingName(kind: "s" | "c" | "o", { high, low }: Fingerprint): string {
  return `${kind}:${hex(high)}${hex(low)}`;
}

export function readBindingName(name: string): { kind: string; fingerprint: Fingerprint } {
  const high = Number.parseInt(name.slice(2, 10), 16);
  const low = Number.parseInt(name.slice(10, 18), 16);
  return { kind: name.slice(0, 1), fingerprint: { high, low } };
}

export interface WireTicket extends NonNullable<Answer["t"]> {
  readonly id: string;
  readonly model: string | undefined;
}

export function toWireTicket(ticket: Ticket): WireTicket {
  return { id: ticket.keyId, model: ticket.model, ...toAnswerTicket(ticket) };
}

/** What `toWireTicket` made, read again where the decision is made. */
export function readWireTicket(poolId: string, ticket: WireTicket): Ticket {
  const { id: keyId, model, ...rest } = ticket;
  return readTicket(rest, { poolId, keyId, model });
}

/** As an answer carries it. */
export function toAnswerTicket({ secretVersion, generation, mark, modelMark }: Ticket): NonNullable<Answer["t"]> {
  const mk = { c: mark.cooldowns, s: mark.failuresSeen };
  const mm = modelMark === undefined ? {} : { mm: { c: modelMark.cooldowns, s: modelMark.failuresSeen } };
  return { sv: secretVersion, g: generation, mk, ...mm };
}

export function readTicket(
  { sv, g, mk, mm }: NonNullable<Answer["t"]>,
  known: { readonly poolId: string; readonly keyId: string; readonly model: string | undefined },
): Ticket {
  const modelMark = mm === undefined ? undefined : { cooldowns: mm.c, failuresSeen: mm.s };
  return {
    ...known,
    secretVersion: sv,
    generation: g,
    mark: { cooldowns: mk.c, failuresSeen: mk.s },
    modelMark,
  };
}

export function toWireCell(state: CellState): WireCell {
  return {
    sv: state.secretVersion,
    g: state.generation,
    ...(state.refused ? { ref: true } : {}),
    held: 0,
    trial: 0,
    h: toWireHealth(state.health),
    ...(state.reason === undefined ? {} : { r: state.reason }),
    m: state.models.map(({ model, health, reason }) => ({
      n: model,
      h: toWireHealth(health),
      ...(reason === undefined ? {} : { r: reason }),
    })),
  };
}

export function readCell(cell: WireCell): CellState {
  const models = listOf<{ n: string; h: WireHealth; r?: StatusReason }>(cell.m);
  return {
    secretVersion: cell.sv,
    generation: cell.g,
    refused: cell.ref === true,
    heldUntil: cell.held,
    trialUntil: cell.trial,
    health: readHealth(cell.h),
    reason: cell.r,
    models: models.map(({ n, h, r }) => ({ model: n, health: readHealth(h), reason: r })),
  };
}

function toWireHealth({ failures, cooldowns, failuresSeen, cooledAt, coolUntil, wait }: Health): WireHealth {
  return { f: failures, c: cooldowns, s: failuresSeen, a: cooledAt, u: coolUntil, w: wait };
}

function readHealth({ f, c, s, a, u, w }: WireHealth): Health {
  return { failures: f, cooldowns: c, failuresSeen: s, cooledAt: a, coolUntil: u, wait: w };
}

function hex(half: number): string {
  return half.toString(16).padStart(8, "0");
}
