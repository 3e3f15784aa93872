/** Exit code of a command that did what it was asked. */
export const done = 0;

/**
 * A command that ends without having done what it was asked. The message is for people, is complete and holds no secret;
 * nothing else is printed.
 */
export class CommandError extends Error {
  /** 1: it failed. 2: the words of the call are off. */
  readonly exitCode: 1 | 2;

  constructor(exitCode: 1 | 2, message: string, options?: ErrorOptions) {
    super(message, options);
    this.name = "CommandError";
    this.exitCode = exitCode;
  }
}

/** It was asked rightly and could not be done. */
export function failed(message: string, cause?: unknown): CommandError {
  return new CommandError(1, message, cause === undefined ? undefined : { cause });
}

/** The words of the call, or of the environment, are off. */
export function wrongWords(message: string): CommandError {
  return new CommandError(2, message);
}
