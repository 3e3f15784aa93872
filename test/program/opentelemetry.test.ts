import { createServer, type Server } from "node:http";
import { gunzipSync } from "node:zlib";
import { reply, runGateway } from "@keywheel/testkit";
import { describe, expect, it } from "vitest";
import { eventually, poolOf } from "../pooled-provider.ts";
import { aHome, runCommand } from "./run-command.ts";

interface Value {
  readonly stringValue?: string;
  readonly intValue?: number | string;
  readonly doubleValue?: number;
}

interface Attribute {
  readonly key: string;
  readonly value: Value;
}

interface Span {
  readonly traceId: string;
  readonly spanId: string;
  readonly parentSpanId?: string;
  readonly name: string;
  readonly kind: number;
  readonly startTimeUnixNano: string;
  readonly endTimeUnixNano: string;
  readonly attributes: readonly Attribute[];
  readonly status: { readonly code?: number };
}

interface Point {
  readonly attributes: readonly Attribute[];
  readonly sum?: number;
  readonly count?: number | string;
  readonly asInt?: number | string;
  readonly asDouble?: number;
}

interface Metric {
  readonly name: string;
  readonly histogram?: { readonly dataPoints: readonly Point[] };
  readonly sum?: { readonly dataPoints: readonly Point[] };
}

interface Resource {
  readonly resource: { readonly attributes: readonly Attribute[] };
  readonly scopeSpans?: readonly { readonly spans: readonly Span[] }[];
  readonly scopeMetrics?: readonly { readonly metrics: readonly Metric[] }[];
}

interface Sent {
  readonly resourceSpans?: readonly Resource[];
  readonly resourceMetrics?: readonly Resource[];
}

/** Takes OTLP over HTTP as a collector does, and keeps it. */
class Collector implements AsyncDisposable {
  readonly types: string[] = [];
  readonly headers: (string | undefined)[] = [];
  readonly bodies: { readonly path: string; readonly body: Buffer }[] = [];
  url = "";
  #server: Server | undefined;

  static async open(): Promise<Collector> {
    const collector = new Collector();
    collector.#server = createServer((request, response) => {
      const pieces: Buffer[] = [];
      request.on("data", (piece: Buffer) => pieces.push(piece));
      request.on("end", () => {
        const sent = Buffer.concat(pieces);
        const body = request.headers["content-encoding"] === "gzip" ? gunzipSync(sent) : sent;
        collector.types.push(request.headers["content-type"] ?? "");
        collector.headers.push(request.headers["x-team"]?.toString());
        collector.bodies.push({ path: request.url ?? "", body });
        response.writeHead(200, { "content-type": "application/json" }).end("{}");
      });
    });
    await new Promise<void>((resolve) => collector.#server?.listen(0, "127.0.0.1", resolve));
    const address = collector.#server.address();
    collector.url = `http://127.0.0.1:${typeof address === "object" ? address?.port : ""}`;
    return collector;
  }

  get text(): string {
    return this.bodies.map(({ body }) => body.toString("latin1")).join("\n");
  }

  get spans(): readonly Span[] {
    const sent = this.#sentTo("/v1/traces");
    return sent.flatMap(({ resourceSpans = [] }) =>
      resourceSpans.flatMap(({ scopeSpans = [] }) => scopeSpans.flatMap(({ spans }) => spans)),
    );
  }

  get resources(): readonly Resource[] {
    return this.#sentTo("/v1/traces").flatMap(({ resourceSpans = [] }) => resourceSpans);
  }

  /** As they were told last. */
  points(name: string): readonly Point[] {
    const sent = this.#sentTo("/v1/metrics");
    const metrics = sent.map(({ resourceMetrics = [] }) =>
      resourceMetrics.flatMap(({ scopeMetrics = [] }) => scopeMetrics.flatMap(({ metrics: all }) => all)),
    );
    const found = metrics
      .findLast((all) => all.some((metric) => metric.name === name))
      ?.find((metric) => metric.name === name);
    return (found?.histogram ?? found?.sum)?.dataPoints ?? [];
  }

  async traced(count: number): Promise<readonly Span[]> {
    return eventually(
      () => this.spans,
      (spans) => spans.length >= count,
      { what: `${count} spans`, timeoutMs: 15_000 },
    );
  }

  #sentTo(path: string): readonly Sent[] {
    return this.bodies
      .filter((sent) => sent.path === path)
      .map(({ body }) => JSON.parse(body.toString("utf8")) as Sent);
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.#server?.closeAllConnections();
    await new Promise((resolve) => this.#server?.close(resolve));
  }
}

function attributesOf({ attributes }: { readonly attributes: readonly Attribute[] }): Record<string, unknown> {
  return Object.fromEntries(
    attributes.map(({ key, value }) => [
      key,
      value.stringValue ?? value.doubleValue ?? (value.intValue === undefined ? undefined : Number(value.intValue)),
    ]),
  );
}

function toCollector({ url }: Collector, more: Readonly<Record<string, string>> = {}): Record<string, string> {
  return {
    OTEL_EXPORTER_OTLP_ENDPOINT: url,
    OTEL_EXPORTER_OTLP_PROTOCOL: "http/json",
    OTEL_EXPORTER_OTLP_HEADERS: "x-team=secret-of-the-collector",
    OTEL_BSP_SCHEDULE_DELAY: "50",
    OTEL_METRIC_EXPORT_INTERVAL: "300",
    OTEL_RESOURCE_ATTRIBUTES: "deployment.environment.name=test",
    ...more,
  };
}

const traceId = "0af7651916cd43dd8448eb211c80319c";
const traced = { traceparent: `00-${traceId}-b7ad6b7169203331-01`, tracestate: "vendor=a,other=b" };

describe.each([
  { what: "one process", flags: [] },
  { what: "several processes", flags: ["--workers", "2"] },
])("with a collector, a gateway of $what", ({ flags }) => {
  it("tells of a request and of each time that a key was asked, in the trace of its client", async () => {
    await using collector = await Collector.open();
    await using gateway = await runGateway({ flags, env: toCollector(collector) });
    await using pool = await poolOf(gateway, { weights: [1, 1] });
    pool.provider.on({ key: pool.valueOf("A") }).always(reply.status(429));

    await (await pool.send({ headers: traced })).arrayBuffer();
    const spans = await collector.traced(3);

    const [first, second] = pool.provider.requests;
    const root = spans.find(({ kind }) => kind === 2);
    const attempts = spans
      .filter(({ kind }) => kind === 3)
      .sort((one, other) => Number(one.startTimeUnixNano) - Number(other.startTimeUnixNano));
    expect(spans.map((span) => span.traceId)).toEqual([traceId, traceId, traceId]);
    expect(root).toMatchObject({ name: "chat gpt-test", parentSpanId: "b7ad6b7169203331" });
    expect(attributesOf(root ?? { attributes: [] })).toMatchObject({
      "gen_ai.operation.name": "chat",
      "gen_ai.provider.name": "openai",
      "gen_ai.request.model": "gpt-test",
      "http.response.status_code": 200,
      "keywheel.provider.slug": pool.record.slug,
      "keywheel.attempts": 2,
    });
    expect(attempts.map(({ parentSpanId }) => parentSpanId)).toEqual([root?.spanId, root?.spanId]);
    const [refused, served] = attempts.map(attributesOf);
    expect(refused).toMatchObject({
      "keywheel.key.id": pool.keys[0]?.id,
      "keywheel.key.label": "A",
      "keywheel.outcome": "rate_limited",
      "keywheel.cooldown.reason": "rate_limited",
      "error.type": "rate_limited",
    });
    expect(refused?.["keywheel.cooldown.duration_ms"]).toBeGreaterThan(59_000);
    expect(refused?.["keywheel.cooldown.duration_ms"]).toBeLessThanOrEqual(60_000);
    expect(attempts[0]?.status.code).toBe(2);
    expect(served).toMatchObject({ "keywheel.key.label": "B", "keywheel.outcome": "succeeded" });
    expect(served).toHaveProperty(["gen_ai.usage.input_tokens"]);
    expect(served).not.toHaveProperty(["error.type"]);

    // The provider is told of the very attempt, and of what else the trace carries.
    expect([first, second].map((request) => request?.header("traceparent"))).toEqual(
      attempts.map(({ spanId }) => `00-${traceId}-${spanId}-01`),
    );
    expect(second?.header("tracestate")).toBe("vendor=a,other=b");
    expect(attributesOf(collector.resources[0]?.resource ?? { attributes: [] })).toMatchObject({
      "service.name": "keywheel",
      "deployment.environment.name": "test",
    });
    for (const value of pool.values) expect(collector.text).not.toContain(value);
    expect(gateway.logs()).not.toContain("secret-of-the-collector");
    expect(new Set(collector.headers)).toEqual(new Set(["secret-of-the-collector"]));
  }, 60_000);

  it("tells how long requests took, what they cost, and how keys did", async () => {
    await using collector = await Collector.open();
    await using gateway = await runGateway({ flags, env: toCollector(collector) });
    await using pool = await poolOf(gateway, { weights: [1] });
    await pool.turns(3, { headers: { connection: "keep-alive" } });

    const took = await eventually(
      () => collector.points("gen_ai.client.operation.duration"),
      (points) => points.length > 0,
      { what: "metrics", timeoutMs: 15_000 },
    );
    const labels = attributesOf(took[0] ?? { attributes: [] });
    expect(labels).toEqual({
      "gen_ai.operation.name": "chat",
      "gen_ai.provider.name": "openai",
      "gen_ai.request.model": "gpt-test",
    });
    const tokens = collector
      .points("gen_ai.client.token.usage")
      .map((point) => attributesOf(point)["gen_ai.token.type"]);
    expect(new Set(tokens)).toEqual(new Set(["input", "output"]));
    const [asked] = collector.points("keywheel.attempts");
    expect(attributesOf(asked ?? { attributes: [] })).toMatchObject({
      "keywheel.key.id": pool.keys[0]?.id,
      "keywheel.outcome": "succeeded",
    });
  }, 60_000);
});

describe("a gateway", () => {
  it("begins a trace where the client has none, and sends what is left when it stops", async () => {
    await using collector = await Collector.open();
    await using gateway = await runGateway({ env: toCollector(collector, { OTEL_BSP_SCHEDULE_DELAY: "60000" }) });
    await using pool = await poolOf(gateway, { weights: [1] });

    await (await pool.send()).arrayBuffer();
    expect(collector.spans).toEqual([]);
    await gateway.stop();

    const [one, other] = collector.spans;
    expect(collector.spans).toHaveLength(2);
    expect(one?.traceId).toBe(other?.traceId);
    expect(pool.provider.requests[0]?.header("traceparent")).toMatch(
      new RegExp(`^00-${one?.traceId}-[0-9a-f]{16}-01$`),
    );
  });

  it("follows the decision of its caller not to trace", async () => {
    await using collector = await Collector.open();
    await using gateway = await runGateway({ env: toCollector(collector) });
    await using pool = await poolOf(gateway, { weights: [1] });

    await (await pool.send({ headers: { traceparent: `00-${traceId}-b7ad6b7169203331-00` } })).arrayBuffer();
    await (await pool.send()).arrayBuffer();
    await collector.traced(2);

    expect(pool.provider.requests[0]?.header("traceparent")).toMatch(new RegExp(`^00-${traceId}-[0-9a-f]{16}-00$`));
    expect(collector.spans.map((span) => span.traceId)).not.toContain(traceId);
  });

  it("speaks protobuf unless it is told otherwise", async () => {
    await using collector = await Collector.open();
    const { OTEL_EXPORTER_OTLP_PROTOCOL: _, ...env } = toCollector(collector);
    await using gateway = await runGateway({ env });
    await using pool = await poolOf(gateway, { weights: [1] });

    await (await pool.send()).arrayBuffer();
    await eventually(
      () => collector.bodies.map(({ path }) => path),
      (paths) => paths.includes("/v1/traces") && paths.includes("/v1/metrics"),
      { what: "both signals", timeoutMs: 15_000 },
    );

    expect(new Set(collector.types)).toEqual(new Set(["application/x-protobuf"]));
    for (const word of ["gen_ai.provider.name", pool.keys[0]?.id ?? "", "gen_ai.client.operation.duration"])
      expect(collector.text).toContain(word);
  });

  it("serves as ever while the collector is away", async () => {
    await using gateway = await runGateway({
      env: { OTEL_EXPORTER_OTLP_ENDPOINT: "http://127.0.0.1:9", OTEL_BSP_SCHEDULE_DELAY: "20" },
    });
    await using pool = await poolOf(gateway, { weights: [1] });

    expect(await pool.turns(5)).toBe("AAAAA");
    expect(await gateway.stop(8_000)).toBe(0);
  });

  it("passes what a client says of its trace through untouched while nobody collects", async () => {
    await using gateway = await runGateway();
    await using pool = await poolOf(gateway, { weights: [1] });

    await (await pool.send({ headers: traced })).arrayBuffer();

    const [arrived] = pool.provider.requests;
    expect([arrived?.header("traceparent"), arrived?.header("tracestate")]).toEqual(Object.values(traced));
  });

  it("does not start with words that mean nothing, and says what it expected", async () => {
    using home = aHome();
    const env = { OTEL_EXPORTER_OTLP_ENDPOINT: "http://127.0.0.1:4317", OTEL_EXPORTER_OTLP_PROTOCOL: "grpc" };

    const { code, stderr } = await runCommand(["start", "--port", "0", "--data-dir", `${home.home}/data`], {
      home: home.home,
      env,
    });

    expect(code).toBe(2);
    expect(stderr).toContain("OTEL_EXPORTER_OTLP_PROTOCOL must be http/protobuf or http/json, not grpc");
  });
});
