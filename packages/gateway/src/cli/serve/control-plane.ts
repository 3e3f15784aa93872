import { setImmediate } from "node:timers/promises";
import { fileURLToPath } from "node:url";
import type { ControlApp, GatewayInfo } from "../../control-plane/app.ts";
import type { KeyTestResult } from "../../contract/key.ts";
import { packageRoot } from "../../package-root.ts";
import type { Log } from "../../telemetry/log.ts";
import type { Core } from "./core.ts";
import type { WebhookTest } from "./webhooks-room.ts";

const pagesFolder = fileURLToPath(new URL("dist/ui", packageRoot));

export interface ControlPlaneParts {
  readonly core: Core;
  readonly info: GatewayInfo;
  readonly testKey: (providerId: string, keyId: string, signal: AbortSignal) => Promise<KeyTestResult>;
  readonly testWebhook: WebhookTest;
  readonly listModels: (provider: string, signal: AbortSignal) => Promise<readonly string[]>;
  readonly notReady?: () => string | undefined;
  readonly log: Log;
}

/** In pieces, each of which holds up the requests of others for as long as it takes to read and run it. */
const pieces = [
  () => import("zod"),
  () => import("@hono/zod-openapi"),
  () => import("../../contract/wire.ts"),
  () => import("../../contract/provider.ts"),
  () => import("../../contract/request.ts"),
];

/** The control plane over a data directory. Loaded when it is first needed: most gateways are at work without it. */
export async function openControlPlane(parts: ControlPlaneParts): Promise<ControlApp> {
  const { core, info, testKey, testWebhook, listModels, notReady, log } = parts;
  for (const load of pieces) {
    await load();
    await setImmediate();
  }
  const { createControlPlane } = await import("../../control-plane/app.ts");
  const { openPages } = await import("../../control-plane/pages.ts");
  return createControlPlane({
    catalog: core.catalog,
    store: core.store,
    auth: core.auth,
    activity: core.activity.kept,
    notices: core.activity.notices,
    config: core.configFile,
    events: core.events,
    clock: core.clock,
    info,
    testKey,
    testWebhook,
    listModels,
    flushSessions: async () => void (await core.sessions.flush()),
    ...(notReady === undefined ? {} : { notReady }),
    pages: openPages(pagesFolder),
    onError: (error, request) => log.error({ err: error, ...request }, "A call of the control plane failed"),
  });
}
