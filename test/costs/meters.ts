import { once } from "node:events";
import { readdirSync, readFileSync } from "node:fs";
import { connect, type Socket } from "node:net";
import { setTimeout as sleep } from "node:timers/promises";
import { queryPostgres } from "../../packages/testkit/src/postgres.ts";

/** Of Linux: how many of its ticks are a second. */
const ticksPerSecond = 100;

/** Processor time of a process and its threads, ms; with `andEnded`, of its children that have ended as well. */
export function processorMsOf(pid: number, { andEnded = false } = {}): number {
  const text = readFileSync(`/proc/${pid}/stat`, "utf8");
  // The name before may hold anything, brackets included.
  const fields = text.slice(text.lastIndexOf(")") + 2).split(" ");
  const [user, system, endedUser, endedSystem] = fields.slice(11, 15).map(Number);
  const own = (user ?? 0) + (system ?? 0);
  const ended = andEnded ? (endedUser ?? 0) + (endedSystem ?? 0) : 0;
  return ((own + ended) / ticksPerSecond) * 1000;
}

/** Resident memory of a process, MiB. */
export function memoryMibOf(pid: number): number {
  return Number(/^VmRSS:\s+(\d+) kB/m.exec(readFileSync(`/proc/${pid}/status`, "utf8"))?.[1]) / 1024;
}

/** What a process has for itself, MiB: of PostgreSQL, not the buffers that all its processes share. */
export function privateMibOf(pid: number): number {
  const text = readFileSync(`/proc/${pid}/smaps_rollup`, "utf8");
  const kib = [...text.matchAll(/^Private_\w+:\s+(\d+) kB/gm)].reduce((sum, [, size]) => sum + Number(size), 0);
  return kib / 1024;
}

function childrenOf(pid: number): number[] {
  return readdirSync(`/proc/${pid}/task`).flatMap((task) =>
    readFileSync(`/proc/${pid}/task/${task}/children`, "utf8").trim().split(" ").filter(Boolean).map(Number),
  );
}

/** A PostgreSQL server, as its own statistics and the system tell of it. */
export class PostgresMeter {
  readonly #url: string;
  readonly #postmaster: number;

  private constructor(url: string, postmaster: number) {
    this.#url = url;
    this.#postmaster = postmaster;
  }

  static async of(url: string): Promise<PostgresMeter> {
    const [row] = await queryPostgres<{ text: string }>(url, "select pg_read_file('postmaster.pid') as text");
    return new PostgresMeter(url, Number(row?.text.split("\n")[0]));
  }

  /** Of all its processes, ms. */
  processorMs(): number {
    const living = childrenOf(this.#postmaster).map((pid) => {
      try {
        return processorMsOf(pid);
      } catch {
        // It ended just now, and counts with its parent next time.
        return 0;
      }
    });
    return living.reduce((sum, ms) => sum + ms, processorMsOf(this.#postmaster, { andEnded: true }));
  }

  async walBytes(): Promise<number> {
    const statement = "select pg_wal_lsn_diff(pg_current_wal_insert_lsn(), '0/0')::float8 as bytes";
    const [row] = await queryPostgres<{ bytes: number }>(this.#url, statement);
    return row?.bytes ?? NaN;
  }

  /** The processes that serve gateways. */
  async connections(): Promise<number[]> {
    const statement = "select pid from pg_stat_activity where application_name = 'keywheel'";
    return (await queryPostgres<{ pid: number }>(this.#url, statement)).map(({ pid }) => pid);
  }
}

/** A Redis or Valkey server. */
export class RedisMeter {
  readonly #port: number;

  constructor(port: number) {
    this.#port = port;
  }

  /** ms */
  async processorMs(): Promise<number> {
    const text = await this.#info("cpu");
    return (figureIn(text, "used_cpu_sys") + figureIn(text, "used_cpu_user")) * 1000;
  }

  async sentBytes(): Promise<number> {
    return figureIn(await this.#info("stats"), "total_net_output_bytes");
  }

  /** Besides the one that asks. */
  async connections(): Promise<number> {
    return figureIn(await this.#info("clients"), "connected_clients") - 1;
  }

  /** Publishes over a channel of its own. @returns how many messages the listeners got together */
  async tell({ messages, listeners, text }: { messages: number; listeners: number; text: string }): Promise<number> {
    const marker = "$7\r\nmessage";
    const sockets = await Promise.all(Array.from({ length: listeners }, () => this.#say("SUBSCRIBE costs\r\n")));
    let heard = 0;
    for (const socket of sockets) {
      let rest = "";
      socket.setEncoding("latin1").on("data", (piece: string) => {
        const parts = (rest + piece).split(marker);
        heard += parts.length - 1;
        // A marker may be cut in two.
        rest = (parts.at(-1) ?? "").slice(1 - marker.length);
      });
    }
    // In parts, as they come in life: a listener that is behind would be cut off.
    for (let sent = 0; sent < messages; sent += 10) {
      const teller = await this.#say(`PUBLISH costs ${text}\r\n`.repeat(Math.min(10, messages - sent)));
      teller.destroy();
      while (heard < Math.min(sent + 10, messages) * listeners) await sleep(1);
    }
    for (const socket of sockets) socket.destroy();
    return heard;
  }

  /** @returns the connection, once something was answered */
  async #say(words: string): Promise<Socket> {
    const socket = connect(this.#port, "127.0.0.1");
    await once(socket, "connect");
    socket.write(words);
    await once(socket, "data");
    return socket;
  }

  async #info(section: string): Promise<string> {
    const socket = connect(this.#port, "127.0.0.1");
    try {
      await once(socket, "connect");
      socket.write(`INFO ${section}\r\n`);
      let text = "";
      for (;;) {
        const [bytes] = (await once(socket, "data")) as [Buffer];
        text += bytes.toString();
        const length = Number(/^\$(\d+)\r\n/.exec(text)?.[1]);
        if (text.length >= length) return text;
      }
    } finally {
      socket.destroy();
    }
  }
}

function figureIn(text: string, name: string): number {
  const found = new RegExp(`^${name}:([\\d.]+)`, "m").exec(text)?.[1];
  if (found === undefined) throw new Error(`no ${name} in ${text}`);
  return Number(found);
}
