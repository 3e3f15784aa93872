import { write } from "node:fs";

export interface LineSinkOptions {
  /** A file descriptor; 2 is the standard error. */
  readonly descriptor: number;
  /** Lines wait for others until there are this many bytes or this much time has passed; 0 for neither. */
  readonly holdBackBytes: number;
  readonly holdBackMs: number;
  /** What may wait for a reader that has stopped reading; lines beyond it are lost. */
  readonly mostBytes: number;
}

const retryMs = 20;

/**
 * Writes lines to a descriptor, many with one system call, and never in the way of anything else: a reader that is slow
 * costs memory up to a bound, one that is gone costs nothing.
 *
 * Pino's own destination is not used because its `flushSync` tries for ever when the reader is gone (EPIPE), with the whole
 * process standing still.
 */
export class LineSink {
  readonly #options: LineSinkOptions;
  #waiting: string[] = [];
  #waitingBytes = 0;
  #timer: NodeJS.Timeout | undefined;
  #underWay: Buffer | undefined;
  #onceWritten: (() => void)[] = [];
  #isReaderGone = false;

  constructor(options: LineSinkOptions) {
    this.#options = options;
  }

  write(line: string): void {
    if (this.#isReaderGone || this.#waitingBytes + line.length > this.#options.mostBytes) return;
    this.#waiting.push(line);
    this.#waitingBytes += line.length;
    this.#holdBack();
  }

  /** Settles when all lines are written, there is nobody to read them, or `waitMs` have passed. Never rejects. */
  flush(waitMs = 1000): Promise<void> {
    this.#begin();
    if (this.#underWay === undefined) return Promise.resolve();
    return new Promise((resolve) => {
      const timer = setTimeout(resolve, waitMs);
      this.#onceWritten.push(() => {
        clearTimeout(timer);
        resolve();
      });
    });
  }

  /** Waits for more, also behind a write: each takes a journey to another thread, however little it writes. */
  #holdBack(): void {
    const { holdBackBytes, holdBackMs } = this.#options;
    if (this.#waitingBytes >= holdBackBytes) this.#begin();
    else this.#timer ??= setTimeout(() => this.#begin(), holdBackMs).unref();
  }

  #begin(): void {
    clearTimeout(this.#timer);
    this.#timer = undefined;
    if (this.#underWay !== undefined) return;
    if (this.#waiting.length === 0) return this.#settle();
    this.#underWay = Buffer.from(this.#waiting.join(""));
    this.#waiting = [];
    this.#waitingBytes = 0;
    this.#write(this.#underWay);
  }

  #write(bytes: Buffer): void {
    write(this.#options.descriptor, bytes, (error, count) => {
      // The pipe is full and does not block: its reader is slow.
      if (error?.code === "EAGAIN") return void setTimeout(() => this.#write(bytes), retryMs).unref();
      if (error) this.#giveUp();
      else if (count < bytes.length) return this.#write(bytes.subarray(count));
      this.#underWay = undefined;
      const isAwaited = this.#onceWritten.length > 0;
      if (isAwaited || this.#waiting.length === 0) this.#begin();
      else this.#holdBack();
    });
  }

  /** There is nowhere to say it, and it is no reason to stop serving. */
  #giveUp(): void {
    this.#isReaderGone = true;
    this.#waiting = [];
    this.#waitingBytes = 0;
  }

  #settle(): void {
    for (const tell of this.#onceWritten.splice(0)) tell();
  }
}
