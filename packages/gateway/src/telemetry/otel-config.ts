/** What the environment says of OpenTelemetry, as far as the exporters do not read it themselves. */
export interface OtelConfig {
  /** Undefined while traces are not wanted. */
  readonly traces: OtelProtocol | undefined;
  readonly metrics: OtelProtocol | undefined;
  /** How long an export may take, its repetitions included, ms; undefined where the environment says so itself. */
  readonly exportMs: number | undefined;
  readonly serviceName: string;
  readonly sampler: OtelSampler;
  /** Between two exports of metrics, ms. */
  readonly metricsEveryMs: number;
  /** How long spans wait for others, ms. */
  readonly spansEveryMs: number;
}

export type OtelProtocol = "http/protobuf" | "http/json";

export interface OtelSampler {
  readonly kind: "always_on" | "always_off" | "traceidratio";
  /** Whether the caller's decision counts first. */
  readonly isParentBased: boolean;
  /** 0 to 1. */
  readonly ratio: number;
}

const timeoutVariables = ["", "TRACES_", "METRICS_"].map((signal) => `OTEL_EXPORTER_OTLP_${signal}TIMEOUT`);
/** The specification has 10 s; a gateway that stops while the collector is away waits for it, and shall not for so long. */
const defaultExportMs = 3_000;

type Environment = Readonly<Record<string, string | undefined>>;

/** A variable that says what cannot be done. */
export class OtelConfigError extends Error {
  override readonly name = "OtelConfigError";
}

/** Values of these are secrets, or hold them. */
export const otelSecretVariables = ["", "TRACES_", "METRICS_"].map((signal) => `OTEL_EXPORTER_OTLP_${signal}HEADERS`);

/**
 * Off unless the environment names an endpoint or an exporter, so that nothing is loaded for it.
 *
 * @see https://opentelemetry.io/docs/specs/otel/configuration/sdk-environment-variables/
 * @throws OtelConfigError with what was expected
 */
export function readOtelConfig(environment: Environment): OtelConfig | undefined {
  const read = (name: string): string | undefined => {
    const value = environment[name]?.trim();
    return value === "" ? undefined : value;
  };
  if (read("OTEL_SDK_DISABLED")?.toLowerCase() === "true") return undefined;
  const traces = protocolOf("TRACES", read);
  const metrics = protocolOf("METRICS", read);
  if (traces === undefined && metrics === undefined) return undefined;
  return {
    traces,
    metrics,
    exportMs: timeoutVariables.some((name) => read(name) !== undefined) ? undefined : defaultExportMs,
    serviceName: read("OTEL_SERVICE_NAME") ?? "keywheel",
    sampler: samplerOf(read),
    metricsEveryMs: durationOf("OTEL_METRIC_EXPORT_INTERVAL", read) ?? 60_000,
    spansEveryMs: durationOf("OTEL_BSP_SCHEDULE_DELAY", read) ?? 5_000,
  };
}

type Read = (name: string) => string | undefined;

/** @returns undefined if this signal is not wanted */
function protocolOf(signal: "TRACES" | "METRICS", read: Read): OtelProtocol | undefined {
  const exporter = read(`OTEL_${signal}_EXPORTER`);
  if (exporter === "none") return undefined;
  if (exporter !== undefined && exporter !== "otlp")
    throw new OtelConfigError(`OTEL_${signal}_EXPORTER must be otlp or none, not ${exporter}.`);
  const isNamed = read("OTEL_EXPORTER_OTLP_ENDPOINT") ?? read(`OTEL_EXPORTER_OTLP_${signal}_ENDPOINT`);
  if (exporter === undefined && isNamed === undefined) return undefined;
  const own = `OTEL_EXPORTER_OTLP_${signal}_PROTOCOL`;
  const name = read(own) === undefined ? "OTEL_EXPORTER_OTLP_PROTOCOL" : own;
  const protocol = read(name) ?? "http/protobuf";
  if (protocol === "http/protobuf" || protocol === "http/json") return protocol;
  throw new OtelConfigError(
    `${name} must be http/protobuf or http/json, not ${protocol}: name the port of OTLP over HTTP (4318).`,
  );
}

function samplerOf(read: Read): OtelSampler {
  const named = read("OTEL_TRACES_SAMPLER") ?? "parentbased_always_on";
  const isParentBased = named.startsWith("parentbased_");
  const kind = named.replace(/^parentbased_/, "");
  if (kind === "always_on" || kind === "always_off") return { kind, isParentBased, ratio: 1 };
  if (kind !== "traceidratio")
    throw new OtelConfigError(
      `OTEL_TRACES_SAMPLER must be always_on, always_off or traceidratio, or one of these with parentbased_ before it, not ${named}.`,
    );
  const text = read("OTEL_TRACES_SAMPLER_ARG") ?? "1";
  const ratio = Number(text);
  if (!(ratio >= 0 && ratio <= 1))
    throw new OtelConfigError(`OTEL_TRACES_SAMPLER_ARG must be a number from 0 to 1, not ${text}.`);
  return { kind, isParentBased, ratio };
}

function durationOf(name: string, read: Read): number | undefined {
  const text = read(name);
  if (text === undefined) return undefined;
  const ms = Number(text);
  if (!Number.isInteger(ms) || ms < 1 || ms > 2 ** 31 - 1)
    throw new OtelConfigError(`${name} must be a whole number of milliseconds from 1 up, not ${text}.`);
  return ms;
}
