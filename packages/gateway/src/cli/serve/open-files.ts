import { readFileSync } from "node:fs";

/** For the database, the log, the pages, what is loaded and what is looked up. */
const ownFiles = 256;

export interface ConnectionLimits {
  /** Connections of clients. */
  readonly mostConnections: number;
  /** Requests under way, each of which takes a connection to its provider too. */
  readonly mostRunning: number;
}

/**
 * How many connections the system lets this process have. A request takes two: the client's and the provider's.
 *
 * @param mostRunning what the operator allows, if he does
 * @param openFiles `ulimit -n`; default: this process's, where the system tells it (on Linux)
 */
export function connectionLimits(mostRunning: number | undefined, openFiles = readOpenFiles()): ConnectionLimits {
  const pairs = Math.max(16, Math.floor((openFiles - ownFiles) / 2));
  const running = Math.min(mostRunning ?? Infinity, pairs);
  // A few more may come in to be told that there is no room.
  return { mostRunning: running, mostConnections: Math.max(pairs, running + 64) };
}

function readOpenFiles(): number {
  try {
    const soft = /^Max open files\s+(\S+)/m.exec(readFileSync("/proc/self/limits", "utf8"))?.[1];
    return soft === undefined || soft === "unlimited" ? Infinity : Number(soft);
  } catch {
    // No Linux. Node raises the limit to the most that is allowed as it starts, which is high wherever it is low at first.
    return Infinity;
  }
}
