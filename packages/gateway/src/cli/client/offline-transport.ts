import type { Upstream } from "../../data-plane/upstream.ts";
import { createLog } from "../../telemetry/log.ts";
import { Redactor } from "../../telemetry/redactor.ts";
import type { Connection } from "../connection.ts";
import { openControlPlane } from "../serve/control-plane.ts";
import { openCore } from "../serve/core.ts";
import { createModelLister } from "../serve/list-models.ts";
import { createKeyTest } from "../serve/test-key.ts";
import { createOutbox } from "../serve/webhooks-room.ts";
import type { Environment } from "../settings.ts";
import { programVersion } from "../version.ts";
import type { Transport } from "./api-client.ts";

/**
 * The control plane in this process, on a data directory that no gateway has: what can be managed while a gateway runs can
 * be managed before it is started.
 *
 * @throws KeywheelError if the data directory cannot be used
 */
export async function createOfflineTransport(connection: Connection, environment: Environment): Promise<Transport> {
  const redactor = new Redactor();
  const { log, flush } = createLog({
    level: "warn",
    format: "pretty",
    color: false,
    redact: redactor.redact,
    sink: process.stderr.fd,
  });
  const core = await openCore({
    ...connection,
    environment,
    requireToken: false,
    log,
    redactor,
    // The admin token is left to the first start, which shows it.
    meanwhile: async () => ({ boundToLoopback: true, makesAdminToken: false }),
  });
  // Made when the first key is tried: hardly any command does that.
  let upstream: Promise<Upstream> | undefined;
  const upstreamOnce = (): Promise<Upstream> => {
    upstream ??= import("../serve/upstream.ts").then(({ openUpstream }) =>
      openUpstream({ ...connection, clock: core.clock, environment }),
    );
    return upstream;
  };
  const app = await openControlPlane({
    core,
    info: {
      version: programVersion(),
      startedAt: core.clock.now(),
      urls: () => [],
      masterKeyOk: () => core.store.masterKeyMatches,
      sharing: core.sharing,
      load: () => ({ ...core.load.state(), running: 0, mostRunning: core.load.mostRunning }),
    },
    testKey: createKeyTest(core, redactor, upstreamOnce),
    listModels: createModelLister(core, redactor, upstreamOnce),
    testWebhook: (hook, signal) => createOutbox(core, { upstream: upstreamOnce, log }).test(hook, signal),
    log,
  });

  return {
    where: connection.dataDir,
    url: undefined,
    send: async (method, path, body) => {
      const response = await app.request(path, {
        method,
        headers: { authorization: `Bearer ${core.store.operatorToken}`, "content-type": "application/json" },
        ...(body === undefined ? {} : { body: JSON.stringify(body) }),
      });
      return { status: response.status, body: await response.text() };
    },
    close: async () => {
      await (await upstream)?.close();
      await core.close();
      await flush();
    },
  };
}
