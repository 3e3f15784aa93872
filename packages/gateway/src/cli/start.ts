import type { OpenLog } from "../telemetry/log.ts";
import { Redactor } from "../telemetry/redactor.ts";
import { bannerAsJson, bannerFor } from "./banner.ts";
import { dieLoudly } from "./die-loudly.ts";
import { openLog } from "./open-log.ts";
import type { Gateway } from "./serve/gateway.ts";
import { allocateAllAsNew, startFrugally } from "./heap-flags.ts";
import { clearRunning } from "./serve/ready-file.ts";
import { onStopSignal } from "./serve/signals.ts";
import type { Flags } from "./settings.ts";
import { readStartOptions } from "./start-options.ts";
import type { Terminal } from "./terminal.ts";
import { programVersion } from "./version.ts";

/** What of the control plane still runs when the gateway stops may take this long; nobody waits for its end. */
const controlMs = 2000;
/** A start that takes longer is explained. */
const slowMs = 2000;

/** Starts the gateway and serves until a signal stops it. */
export async function start(flags: Flags, terminal: Terminal): Promise<void> {
  const options = readStartOptions(flags, terminal.environment);
  const redactor = new Redactor();
  const log = openLog({ ...options, redactor, environment: terminal.environment });
  if (options.readyFile !== undefined) clearRunning(options.readyFile);

  allocateAllAsNew();
  const grow = startFrugally();
  const ending: Ending = { gateway: undefined };
  // What the pools know is worth a moment.
  dieLoudly(log, async () => void (await ending.gateway?.stop({ graceMs: 0, controlMs: 0 })));
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
  const facts = { dataDir: options.dataDir, version: programVersion() };
  terminal.out(flags["json"] === true ? bannerAsJson(gateway, facts) : bannerFor(gateway, facts, terminal));
  log.log.info({ url: gateway.url, dataDir: options.dataDir, version: programVersion(), pid: process.pid }, "Serving");
  await log.flush();
  grow();
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
