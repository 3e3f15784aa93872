import type { OpenLog } from "../telemetry/log.ts";

/** A database that hangs must not keep the process. */
const longestDeathMs = 3000;

/**
 * What nobody has caught leaves the process in a state that nobody knows: it is said, and the process ends.
 *
 * @param save saves what is worth it
 */
export function dieLoudly({ log, flush }: OpenLog, save: () => Promise<void>): void {
  let isDying = false;
  const die = (error: unknown): void => {
    log.error({ err: error }, "Keywheel ends because of a fault of its own");
    if (isDying) return;
    isDying = true;
    setTimeout(() => process.exit(1), longestDeathMs);
    void end(flush, save);
  };
  process.on("uncaughtException", die);
  process.on("unhandledRejection", die);
}

async function end(flush: OpenLog["flush"], save: () => Promise<void>): Promise<void> {
  try {
    await flush();
    await save();
  } finally {
    process.exit(1);
  }
}
