import type { PoolEvent } from "@keywheel/pool";
import type { CatalogView } from "../../catalog/catalog.ts";
import type { RequestRecord } from "../../data-plane/request-record.ts";
import type { RequestTracing } from "../../data-plane/request-tracing.ts";
import { OtelConfigError, otelSecretVariables, readOtelConfig } from "../../telemetry/otel-config.ts";
import type { Redactor } from "../../telemetry/redactor.ts";
import { wrongWords } from "../exit.ts";
import type { Environment } from "../settings.ts";
import { programVersion } from "../version.ts";

/** What is told to OpenTelemetry, while the environment asks for that. */
export interface OtelRoom extends RequestTracing {
  readonly ended: (record: RequestRecord) => void;
  readonly poolEvent: (event: PoolEvent) => void;
  /** Sends what is left. */
  readonly close: () => Promise<void>;
}

export interface OtelParts {
  readonly environment: Environment;
  readonly catalog: Pick<CatalogView, "bySlug">;
  readonly now: () => number;
  readonly redactor: Pick<Redactor, "learn" | "redactAgain">;
}

/** @throws CommandError (2) for a variable that says what cannot be done */
export async function openOtel({ environment, catalog, now, redactor }: OtelParts): Promise<OtelRoom | undefined> {
  const config = configOf(environment);
  if (config === undefined) return undefined;
  // Keys of whoever collects them.
  const secrets = otelSecretVariables.flatMap((name) => environment[name]?.split(",") ?? []);
  redactor.learn(secrets.flatMap((pair) => pair.split("=").slice(1).join("=").trim() || []));
  const { Otel } = await import("../../telemetry/otel.ts");
  return await Otel.open({
    config,
    version: programVersion(),
    now,
    redact: redactor.redactAgain,
    provider: (slug) => {
      const runtime = catalog.bySlug(slug);
      if (runtime === undefined) return undefined;
      const { kind, preset } = runtime.record;
      return { slug, kind, preset, labelOf: (keyId) => runtime.labelOf(keyId) };
    },
  });
}

function configOf(environment: Environment): ReturnType<typeof readOtelConfig> {
  try {
    return readOtelConfig(environment);
  } catch (error) {
    if (error instanceof OtelConfigError) throw wrongWords(error.message);
    throw error;
  }
}
