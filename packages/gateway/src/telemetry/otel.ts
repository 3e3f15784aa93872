import { randomUUID } from "node:crypto";
import { setTimeout as delay } from "node:timers/promises";
import type { AttemptRecord, PoolEvent } from "@keywheel/pool";
import {
  type Attributes,
  type Context,
  type Counter,
  type Histogram,
  ROOT_CONTEXT,
  type Span,
  SpanKind,
  SpanStatusCode,
  trace,
  type Tracer,
} from "@opentelemetry/api";
import { W3CTraceContextPropagator } from "@opentelemetry/core";
import {
  defaultResource,
  detectResources,
  resourceAttributesEnvDetector,
  resourceFromAttributes,
  serviceNameEnvDetector,
} from "@opentelemetry/resources";
import { MeterProvider, PeriodicExportingMetricReader, type PushMetricExporter } from "@opentelemetry/sdk-metrics";
import {
  AlwaysOffSampler,
  AlwaysOnSampler,
  BatchSpanProcessor,
  ParentBasedSampler,
  type Sampler,
  type SpanExporter,
  TraceIdRatioBasedSampler,
  TracerProvider,
} from "@opentelemetry/sdk-trace";
import type { ServedRequest } from "./metrics.ts";
import type { OtelConfig, OtelProtocol, OtelSampler } from "./otel-config.ts";
import { type NamedProvider, operationOf, providerNameOf } from "./otel-words.ts";

/** A request that has ended, as far as traces tell of it. */
export interface TracedRequest extends ServedRequest {
  readonly requestId: string;
  readonly slug: string;
  readonly method: string;
  readonly path: string;
  readonly model?: string;
  readonly startedAt: number;
  readonly keyId?: string;
  readonly attempts: readonly AttemptRecord[];
}

export interface OtelDeps {
  readonly config: OtelConfig;
  readonly version: string;
  /** Undefined for a slug that no provider has. */
  readonly provider: (slug: string) => (NamedProvider & { readonly labelOf: (keyId: string) => string }) | undefined;
  readonly now: () => number;
  /** Takes every secret out of a text. */
  readonly redact: (text: string) => string;
}

interface Course {
  readonly root: Span;
  readonly context: Context;
  readonly attempts: Span[];
}

/** As the conventions advise, seconds and tokens. */
const durationBuckets = [0.01, 0.02, 0.04, 0.08, 0.16, 0.32, 0.64, 1.28, 2.56, 5.12, 10.24, 20.48, 40.96, 81.92];
const tokenBuckets = Array.from({ length: 14 }, (_, power) => 4 ** power);
/** Of attempts that went well; no error. */
const succeeded = "succeeded";
const mostCooldowns = 10_000;
/** A gateway that stops does not wait longer for a collector that is away. */
const closeMs = 3_000;
const propagator = new W3CTraceContextPropagator();
const setter = { set: (carrier: string[], name: string, value: string) => void carrier.push(name, value) };

/**
 * Traces and metrics for OpenTelemetry: one span for a request, and one below it for each time that a key was asked.
 *
 * Loaded only where somebody collects them. The names are those of the conventions for GenAI as of version 1.37 and later; what they have no
 * name for begins with `keywheel.`. No attribute holds a value of a key, nor anything of what was said.
 *
 * @see https://opentelemetry.io/docs/specs/semconv/gen-ai/
 */
export class Otel {
  readonly #deps: OtelDeps;
  readonly #tracerProvider: TracerProvider | undefined;
  readonly #meterProvider: MeterProvider | undefined;
  readonly #tracer: Tracer | undefined;
  readonly #instruments: Instruments | undefined;
  readonly #courses = new Map<string, Course>();
  /** By key, its last cooldown: which attempt it came of is seen from the times. */
  readonly #cooldowns = new Map<string, { readonly at: number; readonly until: number; readonly reason: string }>();

  static async open(deps: OtelDeps): Promise<Otel> {
    const { traces, metrics, exportMs } = deps.config;
    const [spans, points] = await Promise.all([
      traces === undefined ? undefined : openSpanExporter(traces, exportMs),
      metrics === undefined ? undefined : openMetricExporter(metrics, exportMs),
    ]);
    return new Otel(deps, spans, points);
  }

  private constructor(deps: OtelDeps, spans: SpanExporter | undefined, points: PushMetricExporter | undefined) {
    this.#deps = deps;
    const { config, version } = deps;
    const own = { "service.name": config.serviceName, "service.version": version, "service.instance.id": randomUUID() };
    const resource = defaultResource()
      .merge(resourceFromAttributes(own))
      .merge(detectResources({ detectors: [resourceAttributesEnvDetector, serviceNameEnvDetector] }));
    if (spans !== undefined) {
      const processor = new BatchSpanProcessor({ exporter: spans, scheduledDelayMillis: config.spansEveryMs });
      const sampler = samplerOf(config.sampler);
      this.#tracerProvider = new TracerProvider({ resource, sampler, spanProcessors: [processor] });
      this.#tracer = this.#tracerProvider.getTracer("keywheel", version);
    }
    if (points !== undefined) {
      const exportIntervalMillis = config.metricsEveryMs;
      const exportTimeoutMillis = Math.min(exportIntervalMillis, 30_000);
      const reader = new PeriodicExportingMetricReader({ exporter: points, exportIntervalMillis, exportTimeoutMillis });
      this.#meterProvider = new MeterProvider({ resource, readers: [reader] });
      this.#instruments = createInstruments(this.#meterProvider, version);
    }
  }

  began({
    requestId,
    header,
    startedAt,
  }: {
    readonly requestId: string;
    readonly header: (name: string) => string | undefined;
    readonly startedAt: number;
  }): void {
    if (this.#tracer === undefined) return;
    const caller = propagator.extract(ROOT_CONTEXT, undefined, { get: (_, name) => header(name), keys: () => [] });
    const root = this.#tracer.startSpan("request", { kind: SpanKind.SERVER, startTime: startedAt }, caller);
    this.#courses.set(requestId, { root, context: trace.setSpan(caller, root), attempts: [] });
  }

  attempt(requestId: string, headers: string[]): void {
    const course = this.#courses.get(requestId);
    if (course === undefined || this.#tracer === undefined) return;
    const options = { kind: SpanKind.CLIENT, startTime: this.#deps.now() };
    const span = this.#tracer.startSpan("attempt", options, course.context);
    course.attempts.push(span);
    removeContext(headers);
    propagator.inject(trace.setSpan(course.context, span), headers, setter);
  }

  poolEvent(event: PoolEvent): void {
    if (event.type !== "key-cooled") return;
    const { keyId, at, until, reason } = event;
    if (this.#cooldowns.size >= mostCooldowns) this.#cooldowns.clear();
    this.#cooldowns.set(keyId, { at, until, reason });
  }

  ended(record: TracedRequest): void {
    const words = this.#wordsOf(record);
    if (this.#instruments !== undefined) measure(this.#instruments, record, words);
    const course = this.#courses.get(record.requestId);
    if (course === undefined) return;
    this.#courses.delete(record.requestId);
    const endedAt = record.startedAt + record.durationMs;
    for (const [index, span] of course.attempts.entries()) {
      const attempt = record.attempts[index];
      const isLast = index === course.attempts.length - 1;
      this.#endAttempt(span, { record, words, attempt, isLast, endedAt });
    }
    const { root } = course;
    root.updateName(words.name);
    root.setAttributes({
      ...words.attributes,
      "http.request.method": record.method,
      "url.path": this.#deps.redact(record.path),
      ...(record.status > 0 && { "http.response.status_code": record.status }),
      ...(record.error !== undefined && { "error.type": record.error }),
      "keywheel.request.id": record.requestId,
      "keywheel.provider.slug": words.slug,
      "keywheel.attempts": record.attempts.length,
      "keywheel.ending": record.ending,
    });
    if (record.status >= 500 || record.ending === "truncated" || record.ending === "failed")
      root.setStatus({ code: SpanStatusCode.ERROR });
    root.end(endedAt);
  }

  /** Sends what is left, unless the collector does not take it soon. May be called twice. */
  async close(): Promise<void> {
    const sent = new AbortController();
    const shutdown = Promise.allSettled([this.#tracerProvider?.shutdown(), this.#meterProvider?.shutdown()]);
    const late = delay(closeMs, undefined, { signal: sent.signal }).catch(() => {});
    await Promise.race([shutdown, late]);
    sent.abort();
  }

  #endAttempt(
    span: Span,
    {
      record,
      words,
      attempt,
      isLast,
      endedAt,
    }: {
      readonly record: TracedRequest;
      readonly words: Words;
      /** Undefined for one with the provider-level key, which nobody judges. */
      readonly attempt: AttemptRecord | undefined;
      readonly isLast: boolean;
      readonly endedAt: number;
    },
  ): void {
    span.updateName(words.name);
    span.setAttributes(words.attributes);
    const serves = isLast && record.keyId !== undefined;
    if (serves) span.setAttributes(usageAttributes(record));
    if (attempt !== undefined) this.#describe(span, attempt, words);
    // The one that served goes on for as long as its answer does.
    span.end(serves || attempt === undefined ? endedAt : attempt.startedAt + attempt.durationMs);
  }

  #describe(span: Span, { keyId, why, outcome, status, startedAt }: AttemptRecord, { labelOf }: Words): void {
    const cooldown = this.#cooldowns.get(keyId);
    const isOfThis = cooldown !== undefined && outcome !== succeeded && cooldown.at >= startedAt;
    span.setAttributes({
      "keywheel.key.id": keyId,
      "keywheel.key.label": this.#deps.redact(labelOf(keyId)),
      "keywheel.key.why": why,
      "keywheel.outcome": outcome,
      ...(status !== undefined && { "http.response.status_code": status }),
      ...(isOfThis && {
        "keywheel.cooldown.reason": cooldown.reason,
        "keywheel.cooldown.duration_ms": cooldown.until - cooldown.at,
      }),
      ...(outcome !== succeeded && { "error.type": outcome }),
    });
    if (outcome !== succeeded && outcome !== "client_gone")
      span.setStatus({ code: SpanStatusCode.ERROR, message: outcome });
  }

  #wordsOf({ slug, path, method, model }: TracedRequest): Words {
    const provider = this.#deps.provider(slug);
    const operation = operationOf(path);
    const shown = model === undefined ? undefined : this.#deps.redact(model);
    const attributes = {
      ...(operation !== undefined && { "gen_ai.operation.name": operation }),
      ...(provider !== undefined && { "gen_ai.provider.name": providerNameOf(provider) }),
      ...(shown !== undefined && { "gen_ai.request.model": shown }),
    };
    // What names no provider is the client's word and may be anything.
    const known = provider?.slug ?? "";
    const name = operation === undefined ? `${method} ${known}`.trim() : `${operation} ${shown ?? ""}`.trim();
    return { name, slug: known, attributes, labelOf: (keyId) => provider?.labelOf(keyId) ?? "" };
  }
}

interface Words {
  readonly name: string;
  readonly slug: string;
  readonly attributes: Attributes;
  readonly labelOf: (keyId: string) => string;
}

interface Instruments {
  readonly duration: Histogram;
  readonly firstChunk: Histogram;
  readonly tokens: Histogram;
  readonly attempts: Counter;
}

function createInstruments(provider: MeterProvider, version: string): Instruments {
  const meter = provider.getMeter("keywheel", version);
  const seconds = { unit: "s", advice: { explicitBucketBoundaries: durationBuckets } };
  return {
    duration: meter.createHistogram("gen_ai.client.operation.duration", {
      ...seconds,
      description: "From a request to the end of its answer.",
    }),
    firstChunk: meter.createHistogram("gen_ai.client.operation.time_to_first_chunk", {
      ...seconds,
      description: "From a request to the head of its answer.",
    }),
    tokens: meter.createHistogram("gen_ai.client.token.usage", {
      unit: "{token}",
      description: "Tokens that answers tell of.",
      advice: { explicitBucketBoundaries: tokenBuckets },
    }),
    attempts: meter.createCounter("keywheel.attempts", {
      unit: "{attempt}",
      description: "Times that a key was asked, by key and outcome.",
    }),
  };
}

function measure(instruments: Instruments, record: TracedRequest, { attributes, slug }: Words): void {
  const { error, status, firstByteMs, durationMs, attempts, usage } = record;
  for (const { keyId, outcome } of attempts) {
    const labels = { "keywheel.provider.slug": slug, "keywheel.key.id": keyId, "keywheel.outcome": outcome };
    instruments.attempts.add(1, labels);
  }
  // What is no operation of a model, as a list of files, is none of these.
  if (attributes["gen_ai.operation.name"] === undefined) return;
  const failure = error ?? (status >= 400 ? String(status) : undefined);
  instruments.duration.record(durationMs / 1_000, {
    ...attributes,
    ...(failure !== undefined && { "error.type": failure }),
  });
  if (firstByteMs !== undefined && failure === undefined)
    instruments.firstChunk.record(firstByteMs / 1_000, attributes);
  if (usage === undefined) return;
  instruments.tokens.record(inputOf(usage), { ...attributes, "gen_ai.token.type": "input" });
  instruments.tokens.record(usage.outputTokens, { ...attributes, "gen_ai.token.type": "output" });
}

type Usage = NonNullable<ServedRequest["usage"]>;

function usageAttributes({ usage }: TracedRequest): Attributes {
  if (usage === undefined) return {};
  return {
    "gen_ai.usage.input_tokens": inputOf(usage),
    "gen_ai.usage.output_tokens": usage.outputTokens,
    "gen_ai.usage.cache_read.input_tokens": usage.cacheReadTokens,
    "gen_ai.usage.cache_creation.input_tokens": usage.cacheWriteTokens,
    "gen_ai.usage.reasoning.output_tokens": usage.reasoningTokens,
  };
}

/** The conventions count cached tokens among those of the input. */
function inputOf({ inputTokens, cacheReadTokens, cacheWriteTokens }: Usage): number {
  return inputTokens + cacheReadTokens + cacheWriteTokens;
}

function removeContext(headers: string[]): void {
  for (let index = headers.length - 2; index >= 0; index -= 2) {
    const name = headers[index]?.toLowerCase();
    if (name === "traceparent" || name === "tracestate") headers.splice(index, 2);
  }
}

function samplerOf({ kind, isParentBased, ratio }: OtelSampler): Sampler {
  const own =
    kind === "always_on"
      ? new AlwaysOnSampler()
      : kind === "always_off"
        ? new AlwaysOffSampler()
        : new TraceIdRatioBasedSampler(ratio);
  return isParentBased ? new ParentBasedSampler({ root: own }) : own;
}

async function openSpanExporter(protocol: OtelProtocol, timeoutMillis: number | undefined): Promise<SpanExporter> {
  const { OTLPTraceExporter } =
    protocol === "http/json"
      ? await import("@opentelemetry/exporter-trace-otlp-http")
      : await import("@opentelemetry/exporter-trace-otlp-proto");
  return new OTLPTraceExporter(timeoutMillis === undefined ? {} : { timeoutMillis });
}

async function openMetricExporter(
  protocol: OtelProtocol,
  timeoutMillis: number | undefined,
): Promise<PushMetricExporter> {
  const { OTLPMetricExporter } =
    protocol === "http/json"
      ? await import("@opentelemetry/exporter-metrics-otlp-http")
      : await import("@opentelemetry/exporter-metrics-otlp-proto");
  return new OTLPMetricExporter(timeoutMillis === undefined ? {} : { timeoutMillis });
}
