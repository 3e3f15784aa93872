import { createLog, type OpenLog } from "../telemetry/log.ts";
import type { Redactor } from "../telemetry/redactor.ts";
import type { Environment } from "./settings.ts";
import type { StartOptions } from "./start-options.ts";
import { wantsColor } from "./terminal.ts";

/** The log of this process, on its standard error. */
export function openLog({
  logLevel,
  logFormat,
  redactor,
  environment,
  worker,
}: Pick<StartOptions, "logLevel" | "logFormat"> & {
  readonly redactor: Redactor;
  readonly environment: Environment;
  /** Which of several processes this is, to be said in each line. */
  readonly worker?: number;
}): OpenLog {
  const isTerminal = process.stderr.isTTY;
  return createLog({
    level: logLevel,
    format: logFormat ?? (isTerminal ? "pretty" : "json"),
    color: wantsColor(environment, isTerminal),
    redact: redactor.redact,
    sink: process.stderr.fd,
    ...(worker === undefined ? {} : { fields: { worker } }),
  });
}
