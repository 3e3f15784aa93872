import { connect, createServer } from "node:net";
import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import type { Prepared } from "./contender.ts";
import { type Pinned, startPinned } from "./processes.ts";

/** A contender that runs. */
export interface Instance extends AsyncDisposable {
  readonly prepared: Prepared;
  readonly pid: number;
  /** From the start of its process to the end of its first answer, ms. */
  readonly startMs: number;
  stop(): Promise<void>;
}

/** Starts what was prepared. @throws if it gives no good answer within half a minute */
export async function startInstance(prepared: Prepared, core: number, folder: string): Promise<Instance> {
  const { command, env = {}, cwd } = prepared;
  const log = join(folder, "output.log");
  const began = performance.now();
  const process = startPinned(command, { core, env, log, ...(cwd === undefined ? {} : { cwd }) });
  try {
    await firstAnswer(prepared, process, log);
  } catch (error) {
    await process.stop();
    throw error;
  }
  const startMs = performance.now() - began;
  const stop = (): Promise<void> => process.stop();
  return { prepared, pid: process.pid, startMs, stop, [Symbol.asyncDispose]: stop };
}

async function firstAnswer({ port, path, token, headers }: Prepared, process: Pinned, log: string): Promise<void> {
  const named = new Headers(
    headers.map((header): [string, string] => [header.split(": ", 1)[0] ?? "", header.slice(header.indexOf(": ") + 2)]),
  );
  named.set("authorization", `Bearer ${token}`);
  named.set("content-type", "application/json");
  const request = {
    method: "POST",
    headers: named,
    body: JSON.stringify({ model: "bench", max_tokens: 16, messages: [{ role: "user", content: "first" }] }),
  };
  const deadline = performance.now() + 30_000;
  let last = "no answer";
  while (performance.now() < deadline) {
    if (process.child.exitCode !== null) throw new Error(`It ended at once; what it said is in ${log}`);
    const answer = await fetch(`http://127.0.0.1:${port}${path}`, request).catch(() => undefined);
    const text = await answer?.text().catch(() => undefined);
    if (answer?.ok === true && text !== undefined) return;
    if (answer !== undefined) last = `${answer.status} ${text?.slice(0, 200) ?? ""}`;
    await sleep(5);
  }
  throw new Error(`It gave no good answer within 30 s (${last}); what it said is in ${log}`);
}

/** Waits until something listens there. @throws after ten seconds */
export async function listens(port: number): Promise<void> {
  const deadline = performance.now() + 10_000;
  while (performance.now() < deadline) {
    const isThere = await new Promise<boolean>((resolve) => {
      const socket = connect(port, "127.0.0.1", () => resolve(true));
      socket.on("error", () => resolve(false));
      socket.on("connect", () => socket.destroy());
    });
    if (isThere) return;
    await sleep(20);
  }
  throw new Error(`Nothing listens on port ${port}.`);
}

/** A port that nobody listens on. */
export async function freePort(): Promise<number> {
  const server = createServer();
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  const address = server.address();
  await new Promise((resolve) => server.close(resolve));
  if (address === null || typeof address === "string") throw new Error("The system gave no port.");
  return address.port;
}
