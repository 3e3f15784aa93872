import { pino } from "pino";
import { LineSink } from "./line-sink.ts";
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
  /** In each line. */
  readonly fields?: Readonly<Record<string, unknown>>;
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
  /**
   * Writes a line whose fields are JSON already, as `"name":value,…`, for what is written with every request. It is not
   * redacted here.
   *
   * @param message plain words
   */
  readonly entry: (level: "info" | "error", fields: string, message: string) => void;
  /** Settles when what is held back is written, or a second has passed. Never rejects; may be called twice. */
  readonly flush: () => Promise<void>;
}

/** Lines are held back until there are this many bytes or this much time has passed: one system call for many lines. */
const holdBackBytes = 65_536;
const holdBackMs = 200;
/** What may wait for a reader that has stopped reading. Beyond it lines are lost, rather than memory or the traffic. */
const waitingBytes = 16 * 1024 * 1024;

export function createLog(options: LogOptions): OpenLog {
  const { level, format, color, redact, sink, fields = null } = options;
  const destination = typeof sink === "number" ? openDescriptor(sink, format) : { write: sink, flush: async () => {} };
  const shape = (line: string): string => (format === "pretty" ? formatLine(line, color) : line);

  const logger = pino(
    {
      level,
      base: fields,
      timestamp: pino.stdTimeFunctions.isoTime,
      formatters: { level: (label) => ({ level: label }) },
      hooks: { streamWrite: (line) => shape(redact(line)) },
    },
    destination,
  );

  const common = fields === null ? "" : `${JSON.stringify(fields).slice(1, -1)},`;
  const prefix = { info: `{"level":"info","time":"`, error: `{"level":"error","time":"` } as const;
  const isoTime = createIsoTime();
  return {
    log: logger,
    isWritten: (asked) => logger.isLevelEnabled(asked),
    entry: (asked, own, message) => {
      if (!logger.isLevelEnabled(asked)) return;
      destination.write(shape(`${prefix[asked]}${isoTime()}",${common}${own},"msg":"${message}"}\n`));
    },
    flush: () => destination.flush(),
  };
}

/** The time in UTC with milliseconds; put together once for all lines of a second, but for the last digits. */
function createIsoTime(): () => string {
  let second = Number.NaN;
  let text = "";
  return () => {
    const now = Date.now();
    const ms = now % 1000;
    if (now - ms !== second) {
      second = now - ms;
      text = new Date(second).toISOString().slice(0, -4);
    }
    return `${text}${String(ms).padStart(3, "0")}Z`;
  };
}

function openDescriptor(descriptor: number, format: LogFormat): LineSink {
  // People watch their lines come.
  const holdBack = format === "json" ? { holdBackBytes, holdBackMs } : { holdBackBytes: 0, holdBackMs: 0 };
  return new LineSink({ descriptor, mostBytes: waitingBytes, ...holdBack });
}
