import { pino } from "pino";
import { formatLine } from "./pretty.ts";

export const logLevels = ["trace", "debug", "info", "warn", "error", "silent"] as const;
export type LogLevel = (typeof logLevels)[number];

export const logFormats = ["json", "pretty"] as const;
export type LogFormat = (typeof logFormats)[number];

type Write = (fields: object, message: string) => void;

/** The structured log. Fields first, so that a message never has to carry data; an error goes in the field `err`. */
export interface Log {
  readonly trace: Write;
  readonly debug: Write;
  readonly info: Write;
  readonly warn: Write;
  readonly error: Write;
}

export interface LogOptions {
  readonly level: LogLevel;
  /** `json`: one object a line, for machines. `pretty`: for people at a terminal. */
  readonly format: LogFormat;
  readonly color: boolean;
  /** Goes over each finished line, whatever wrote it. */
  readonly redact: (line: string) => string;
  /** Where lines go: a file descriptor (2 is the standard error), or a function for tests. */
  readonly sink: number | ((line: string) => void);
}

/** A log, and the hold on what it has not written yet. */
export interface OpenLog {
  readonly log: Log;
  /** Whether lines of this level are written; asked before something dear is put together. */
  readonly isWritten: (level: LogLevel) => boolean;
  /** Writes what is held back, before the process ends. May be called twice. */
  readonly flush: () => void;
}

/** Lines are held back until there are this many bytes or this much time has passed: one system call for many lines. */
const heldBackBytes = 8192;
const heldBackMs = 200;
/** What may wait for a reader that has stopped reading. Beyond it lines are lost, rather than memory or the traffic. */
const waitingBytes = 16 * 1024 * 1024;

export function createLog(options: LogOptions): OpenLog {
  const { level, format, color, redact, sink } = options;
  const destination = typeof sink === "number" ? openDescriptor(sink, format) : { write: sink, flushSync: () => {} };
  const shape = (line: string): string => (format === "pretty" ? formatLine(redact(line), color) : redact(line));

  const logger = pino(
    {
      level,
      base: null,
      timestamp: pino.stdTimeFunctions.isoTime,
      formatters: { level: (label) => ({ level: label }) },
      hooks: { streamWrite: shape },
    },
    destination,
  );

  return { log: logger, isWritten: (asked) => logger.isLevelEnabled(asked), flush: () => flushQuietly(destination) };
}

function openDescriptor(descriptor: number, format: LogFormat): ReturnType<typeof pino.destination> {
  // People watch their lines come.
  const holdBack = format === "json" ? { minLength: heldBackBytes, periodicFlush: heldBackMs } : {};
  const destination = pino.destination({ dest: descriptor, sync: false, maxLength: waitingBytes, ...holdBack });
  // Whoever read the log is gone (EPIPE). That is no reason to stop serving, and there is nowhere to say it.
  destination.on("error", () => {});
  return destination;
}

function flushQuietly(destination: { flushSync(): void }): void {
  try {
    destination.flushSync();
  } catch {
    // Not open yet, or its reader is gone: nothing can be written any more, and the process is about to end.
  }
}
