import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";

/** The wall clock of a gateway, as the machine's own would be set under it. Its monotonic clock goes on as it does. */
export interface WallClock extends Disposable {
  /** For the gateway's environment. */
  readonly env: Readonly<Record<string, string>>;
  /** From now on, in gateways that run and in those that are started, the clock is off by so much. */
  set(offsetMs: number): void;
}

/** A wall clock that a test can set. The gateway loads the shift before its own code. */
export function aWallClock(): WallClock {
  const folder = mkdtempSync(join(tmpdir(), "keywheel-clock-"));
  const offsetFile = join(folder, "offset");
  const shift = join(folder, "shift.mjs");
  const set = (offsetMs: number): void => writeFileSync(offsetFile, String(offsetMs));
  set(0);
  writeFileSync(
    shift,
    `import { readFileSync } from "node:fs";
    const now = Date.now.bind(Date);
    Date.now = () => now() + Number(readFileSync(${JSON.stringify(offsetFile)}, "utf8"));`,
  );
  return {
    env: { NODE_OPTIONS: `--import=${shift}` },
    set,
    [Symbol.dispose]: () => rmSync(folder, { recursive: true, force: true }),
  };
}
