import { setTimeout as sleep } from "node:timers/promises";
import type { AbsenceEntry, RunningGateway } from "@keywheel/testkit";
import { now } from "../observer.ts";

/** A decision of the shared state is waited for so long; what was pushed before that may have been lost as well. */
const patienceMs = 2 * 250 + 100;

/**
 * When a gateway said that it decides alone. A busy machine may bring that about by itself, for a moment: then the gateway is
 * without the shared state as much as when that is cut off.
 */
export function saidAlone(gateway: RunningGateway, instance: number): AbsenceEntry[] {
  const absences: AbsenceEntry[] = [];
  let from: number | undefined;
  for (const { time, msg } of linesOf(gateway.logs())) {
    const at = Date.parse(time);
    if (msg.startsWith("Redis is away")) from ??= at - patienceMs;
    if (msg.startsWith("Redis is back") && from !== undefined) {
      absences.push({ instance, of: "state", from, to: at + 5 });
      from = undefined;
    }
  }
  return from === undefined ? absences : [...absences, { instance, of: "state", from, to: Infinity }];
}

interface Line {
  readonly time: string;
  readonly msg: string;
}

function linesOf(log: string): Line[] {
  return log.split("\n").flatMap((text) => {
    const line: unknown = text.startsWith("{") ? JSON.parse(text) : undefined;
    return isLine(line) ? [line] : [];
  });
}

function isLine(line: unknown): line is Line {
  return typeof line === "object" && line !== null && "time" in line && "msg" in line && typeof line.msg === "string";
}

/** Waits until the gateway shares its state. @returns when it said so */
export async function sharesState(gateway: RunningGateway): Promise<number> {
  await until(`the state to be shared`, async () => {
    const { shared_state: state } = await gateway.api<{ shared_state: { ok: boolean } }>("GET", "/status");
    return state.ok;
  });
  return now();
}

/**
 * Waits until the gateway takes up what others write.
 *
 * @param keyId whose label is changed for that; of another key for each gateway
 * @returns when that was seen
 */
export async function seesDatabase(
  gateway: RunningGateway,
  { writer, keyId }: { readonly writer: RunningGateway; readonly keyId: string },
): Promise<number> {
  const label = `seen ${Math.random()}`;
  await until(
    "a change to be written",
    async () =>
      (await writer.apiResponse("PATCH", `/keys/${keyId}`, { label })).ok && (await fetch(`${gateway.url}/readyz`)).ok,
  );
  await until("a change to be seen", async () => (await gateway.key(keyId)).label === label);
  return now();
}

/** How long anything may take to be as before, ms: TCP itself may wait for ten seconds before it sends again. */
const recoveryMs = 30_000;

async function until(what: string, isSo: () => Promise<boolean>): Promise<void> {
  const deadline = now() + recoveryMs;
  while (!(await isSo())) {
    if (now() > deadline) throw new Error(`Waited ${recoveryMs} ms in vain for ${what}`);
    await sleep(20);
  }
}
