import { createLog, type OpenLog } from "../telemetry/log.ts";
import { Redactor } from "../telemetry/redactor.ts";
import { bannerFor } from "./banner.ts";
import type { Gateway } from "./serve/gateway.ts";
import { clearRunning } from "./serve/ready-file.ts";
import { onStopSignal } from "./serve/signals.ts";
import type { Flags } from "./settings.ts";
import { readStartOptions, type StartOptions } from "./start-options.ts";
import { type Terminal, wantsColor } from "./terminal.ts";
import { programVersion } from "./version.ts";

/** What of the control plane still runs when the gateway stops may take this long; nobody waits for its end. */
const controlMs = 2000;
const longestDeathMs = 3000;
/** A start that takes longer is explained. */
const slowMs = 2000;

/** Starts the gateway and serves until a signal stops it. */
export async function start(flags: Flags, terminal: Terminal): Promise<void> {
  const options = readStartOptions(flags, terminal.environment);
  const redactor = new Redactor();
  const log = openLog(options, terminal, redactor);
  if (options.readyFile !== undefined) clearRunning(options.readyFile);

  const ending: Ending = { gateway: undefined };
  dieLoudly(ending, log);
  const { startGateway } = await import("./serve/gateway.ts");
  const slow = setTimeout(() => log.log.info({ dataDir: options.dataDir }, "Still opening the data directory"), slowMs);
  const gateway = await startGateway({ options, environment: terminal.environment, log, redactor }).finally(() =>
    clearTimeout(slow),
  );
  ending.gateway = gateway;
  const stopped = onStopSignal({
    stop: (signal) => stop(gateway, log, { signal, graceMs: options.graceSeconds * 1000 }),
    cut: () => gateway.cut(),
  });
  terminal.out(bannerFor(gateway, { dataDir: options.dataDir, version: programVersion() }, terminal));
  log.log.info({ url: gateway.url, dataDir: options.dataDir, version: programVersion(), pid: process.pid }, "Serving");
  await log.flush();
  // Last: who waits for it finds everything in place, and everything said.
  await announce(gateway);
  if (options.open) (await import("./open-browser.ts")).openBrowser(gateway.createSignInLink(), terminal);
  await stopped;
}

async function announce(gateway: Gateway): Promise<void> {
  try {
    gateway.announce();
  } catch (error) {
    await gateway.stop({ graceMs: 0, controlMs: 0 });
    throw error;
  }
}

/** What has to be ended when the process must. */
interface Ending {
  gateway: Gateway | undefined;
}

function openLog({ logLevel, logFormat }: StartOptions, terminal: Terminal, redactor: Redactor): OpenLog {
  const isTerminal = process.stderr.isTTY;
  return createLog({
    level: logLevel,
    format: logFormat ?? (isTerminal ? "pretty" : "json"),
    color: isTerminal && wantsColor(terminal.environment),
    redact: redactor.redact,
    sink: process.stderr.fd,
  });
}

async function stop(
  gateway: Gateway,
  { log, flush }: OpenLog,
  { signal, graceMs }: { readonly signal: NodeJS.Signals; readonly graceMs: number },
): Promise<void> {
  log.info({ signal, running: gateway.running(), graceMs }, "Stopping; what runs may end, a second signal cuts it off");
  const { cutOff } = await gateway.stop({ graceMs, controlMs: Math.min(controlMs, graceMs) });
  if (cutOff > 0) log.warn({ cutOff }, "Responses were cut off because they did not end in time");
  log.info({}, "Stopped");
  await flush();
}

/** What nobody has caught leaves the process in a state that nobody knows: it is said, and the process ends. */
function dieLoudly(ending: Ending, { log, flush }: OpenLog): void {
  let isDying = false;
  const die = (error: unknown): void => {
    log.error({ err: error }, "Keywheel ends because of a fault of its own");
    if (isDying) return;
    isDying = true;
    // A database that hangs must not keep the process.
    setTimeout(() => process.exit(1), longestDeathMs);
    void saveWhatIsKnown(ending, flush);
  };
  process.on("uncaughtException", die);
  process.on("unhandledRejection", die);
}

/** What the pools know is worth a moment. */
async function saveWhatIsKnown({ gateway }: Ending, flush: OpenLog["flush"]): Promise<void> {
  try {
    await flush();
    await gateway?.stop({ graceMs: 0, controlMs: 0 });
  } finally {
    process.exit(1);
  }
}
