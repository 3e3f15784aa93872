import { fileURLToPath } from "node:url";
import type { ControlApp, GatewayInfo } from "../../control-plane/app.ts";
import type { KeyTestResult } from "../../contract/key.ts";
import type { Log } from "../../telemetry/log.ts";
import type { Core } from "./core.ts";

/** As far up from `src/cli/serve` as from `dist/cli/serve`. */
const pagesFolder = fileURLToPath(new URL("../../../dist/ui", import.meta.url));

export interface ControlPlaneParts {
  readonly core: Core;
  readonly info: GatewayInfo;
  readonly testKey: (providerId: string, keyId: string, signal: AbortSignal) => Promise<KeyTestResult>;
  readonly listModels: (provider: string, signal: AbortSignal) => Promise<readonly string[]>;
  readonly notReady?: () => string | undefined;
  readonly log: Log;
}

/** The control plane over a data directory. Loaded when it is first needed: its schemas take their time. */
export async function openControlPlane(parts: ControlPlaneParts): Promise<ControlApp> {
  const { core, info, testKey, listModels, notReady, log } = parts;
  const [{ createControlPlane }, { openPages }] = await Promise.all([
    import("../../control-plane/app.ts"),
    import("../../control-plane/pages.ts"),
  ]);
  return createControlPlane({
    catalog: core.catalog,
    store: core.store,
    auth: core.auth,
    activity: core.activity.kept,
    notices: core.activity.notices,
    events: core.events,
    clock: core.clock,
    info,
    testKey,
    listModels,
    flushSessions: async () => void (await core.sessions.flush()),
    ...(notReady === undefined ? {} : { notReady }),
    pages: openPages(pagesFolder),
    onError: (error, request) => log.error({ err: error, ...request }, "A call of the control plane failed"),
  });
}
