import type { Secret } from "@keywheel/pool";
import type { OpenLog } from "../../telemetry/log.ts";
import type { Redactor } from "../../telemetry/redactor.ts";
import type { Environment } from "../settings.ts";
import type { StartOptions } from "../start-options.ts";
import { openCore } from "./core.ts";
import type { Patience } from "./server.ts";

export interface GatewayParts {
  readonly options: StartOptions;
  readonly environment: Environment;
  readonly log: OpenLog;
  readonly redactor: Redactor;
}

/** So long PostgreSQL may take to start beside the gateway; whoever starts both does not have to order them. */
const databasePatienceMs = 60_000;

/** A gateway that serves. */
export interface Gateway {
  readonly url: string;
  /** The admin token, if this is the first start. */
  readonly madeToken: Secret | undefined;
  /** A link to the settings page that signs a browser in, once. */
  readonly createSignInLink: () => string;
  /** How many requests of clients are under way. */
  readonly running: () => number;
  /** Writes down where it serves, for those who wait for that. */
  readonly announce: () => void;
  /** Lets running requests end and writes down what is left. */
  readonly stop: (patience: Patience) => Promise<{ readonly cutOff: number }>;
  /** Cuts off what still runs, to be called while it stops. */
  readonly cut: () => void;
}

/**
 * Starts everything: first the database, which opens beside what is loaded here.
 *
 * @throws CommandError, KeywheelError; nothing is left behind then
 */
export async function startGateway(parts: GatewayParts): Promise<Gateway> {
  const { options, environment, log, redactor } = parts;
  const core = await openCore({
    ...options,
    environment,
    config: { file: options.config },
    requireToken: options.requireToken ?? false,
    databasePatienceMs,
    log: log.log,
    redactor,
    meanwhile: async () => (await import("./serve.ts")).reachOf(options.host),
  });
  try {
    const { refuseOpenDoors, serve } = await import("./serve.ts");
    refuseOpenDoors(core, options);
    return await serve(core, parts);
  } catch (error) {
    await core.close();
    throw error;
  }
}
