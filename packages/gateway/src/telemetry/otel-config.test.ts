import { readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, it } from "vitest";
import { readOtelConfig } from "./otel-config.ts";
import { operationOf, providerNameOf } from "./otel-words.ts";

const endpoint = { OTEL_EXPORTER_OTLP_ENDPOINT: "http://127.0.0.1:4318" };

describe("OpenTelemetry", () => {
  it.each([
    ["nothing is said", {}],
    ["there are other words of it alone", { OTEL_SERVICE_NAME: "gateway", OTEL_TRACES_SAMPLER: "always_on" }],
    ["it is switched off", { ...endpoint, OTEL_SDK_DISABLED: "true" }],
    ["an endpoint is empty", { OTEL_EXPORTER_OTLP_ENDPOINT: "" }],
    ["nothing is exported", { ...endpoint, OTEL_TRACES_EXPORTER: "none", OTEL_METRICS_EXPORTER: "none" }],
  ])("is off while %s", (_, environment) => {
    expect(readOtelConfig(environment)).toBeUndefined();
  });

  it("is on once an endpoint is named, with the defaults of the specification", () => {
    expect(readOtelConfig(endpoint)).toEqual({
      traces: "http/protobuf",
      metrics: "http/protobuf",
      exportMs: 3_000,
      serviceName: "keywheel",
      sampler: { kind: "always_on", isParentBased: true, ratio: 1 },
      metricsEveryMs: 60_000,
      spansEveryMs: 5_000,
    });
  });

  it("takes each signal by its own words", () => {
    const config = readOtelConfig({
      OTEL_EXPORTER_OTLP_TRACES_ENDPOINT: "http://127.0.0.1:4318/v1/traces",
      OTEL_EXPORTER_OTLP_PROTOCOL: "http/json",
      OTEL_EXPORTER_OTLP_METRICS_PROTOCOL: "grpc",
      OTEL_SERVICE_NAME: "gateway",
      OTEL_TRACES_SAMPLER: "traceidratio",
      OTEL_TRACES_SAMPLER_ARG: "0.25",
      OTEL_BSP_SCHEDULE_DELAY: "200",
    });

    expect(config).toMatchObject({
      traces: "http/json",
      metrics: undefined,
      serviceName: "gateway",
      sampler: { kind: "traceidratio", isParentBased: false, ratio: 0.25 },
      spansEveryMs: 200,
    });
  });

  it.each([
    [{ OTEL_EXPORTER_OTLP_PROTOCOL: "grpc" }, "OTEL_EXPORTER_OTLP_PROTOCOL must be http/protobuf or http/json"],
    [{ OTEL_TRACES_EXPORTER: "zipkin" }, "OTEL_TRACES_EXPORTER must be otlp or none"],
    [{ OTEL_TRACES_SAMPLER: "sometimes" }, "OTEL_TRACES_SAMPLER must be"],
    [{ OTEL_TRACES_SAMPLER: "traceidratio", OTEL_TRACES_SAMPLER_ARG: "2" }, "a number from 0 to 1, not 2"],
    [{ OTEL_METRIC_EXPORT_INTERVAL: "soon" }, "OTEL_METRIC_EXPORT_INTERVAL must be a whole number"],
  ])("says of %j what was expected", (wrong, words) => {
    expect(() => readOtelConfig({ ...endpoint, ...wrong })).toThrow(words);
  });

  it("is loaded where it is asked for, and nowhere else", () => {
    const source = join(import.meta.dirname, "..");
    const importing = readdirSync(source, { recursive: true, encoding: "utf8" })
      .filter((file) => file.endsWith(".ts") && !file.endsWith(".test.ts"))
      .map((file) => ({ file, text: readFileSync(join(source, file), "utf8") }));

    const users = importing.filter(({ text }) => text.includes('"@opentelemetry/')).map(({ file }) => file);
    const loaders = importing.filter(({ text }) => /from ".*\/otel\.ts"/.test(text)).map(({ file }) => file);
    expect(users).toEqual([join("telemetry", "otel.ts")]);
    expect(loaders).toEqual([]);
  });
});

it.each([
  ["/v1/chat/completions", "chat"],
  ["/v1/messages", "chat"],
  ["/responses", "chat"],
  ["/v1beta/models/gemini:streamGenerateContent", "generate_content"],
  ["/v1beta/models/gemini:batchEmbedContents", "embeddings"],
  ["/v1/embeddings", "embeddings"],
  ["/v1/completions", "text_completion"],
  ["/v1/files", undefined],
  ["/v1/messages/count_tokens", undefined],
])("calls what %s does %s", (path, operation) => {
  expect(operationOf(path)).toBe(operation);
});

it.each([
  [{ slug: "main", kind: "openai", preset: "openai" }, "openai"],
  [{ slug: "g", kind: "gemini", preset: "gemini" }, "gcp.gemini"],
  [{ slug: "a", kind: "azure-openai", preset: null }, "azure.ai.openai"],
  [{ slug: "m", kind: "openai-compatible", preset: "mistral" }, "mistral_ai"],
  [{ slug: "own-server", kind: "openai-compatible", preset: null }, "own-server"],
])("names the provider %j as the conventions do", (provider, name) => {
  expect(providerNameOf(provider)).toBe(name);
});
