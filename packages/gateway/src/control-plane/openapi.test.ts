import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { type ControlBench, openControlBench } from "./control-plane.test-bench.ts";
import { defaultSettings } from "../catalog/settings.ts";
import { eventTypes } from "../contract/event.ts";

interface Operation {
  readonly summary?: string;
  readonly tags?: readonly string[];
  readonly security?: readonly object[];
  readonly parameters?: readonly { readonly name: string; readonly in: string }[];
  readonly requestBody?: { readonly content: Record<string, { readonly schema: object }> };
  readonly responses: Record<string, { readonly description: string; readonly content?: Record<string, unknown> }>;
}

let bench: ControlBench;
// oxlint-disable-next-line typescript/no-explicit-any -- a document of another standard, looked into by hand
let document: any;
let operations: [string, Operation][];
beforeAll(async () => {
  bench = await openControlBench();
  document = (await bench.call("GET", "/api/openapi.json")).body;
  operations = Object.entries(document.paths as Record<string, Record<string, Operation>>).flatMap(([path, methods]) =>
    Object.entries(methods).map(([method, operation]): [string, Operation] => [
      `${method.toUpperCase()} ${path}`,
      operation,
    ]),
  );
});
afterAll(() => bench.close());

function every(value: unknown, look: (node: Record<string, unknown>) => void): void {
  if (typeof value !== "object" || value === null) return;
  look(value as Record<string, unknown>);
  for (const part of Object.values(value)) every(part, look);
}

describe("the OpenAPI document", () => {
  it("is of version 3.1 and describes the ways in", () => {
    expect(document).toMatchObject({ openapi: "3.1.0", info: { version: "0.0.0-test" } });
    expect(document.components.securitySchemes).toMatchObject({
      adminToken: { type: "http", scheme: "bearer" },
      browserSession: { type: "apiKey", in: "cookie", name: bench.auth.browsers.cookieName },
    });
  });

  it("has every route of /api, and no other", () => {
    const routes = new Set(
      bench.app.routes
        .filter(({ method, path }) => method !== "ALL" && !/^\/(ui|$)/.test(path))
        .map(({ method, path }) => `${method} ${path.replaceAll(/:(\w+)/g, "{$1}")}`),
    );

    expect(operations.map(([name]) => name).sort()).toEqual([...routes].sort());
    expect(routes.size).toBeGreaterThan(25);
  });

  it("resolves every reference", () => {
    const references = new Set<string>();
    every(document, (node) => {
      if (typeof node["$ref"] === "string") references.add(node["$ref"]);
    });

    const unresolved = [...references].filter((reference) => {
      const steps = reference.replace("#/", "").split("/");
      return (
        steps.reduce<unknown>((node, step) => (node as Record<string, unknown> | undefined)?.[step], document) ===
        undefined
      );
    });
    expect(references.size).toBeGreaterThan(10);
    expect(unresolved).toEqual([]);
  });

  it("says of every call what it is for, whom it lets in and how it fails", () => {
    for (const [name, { summary, tags, security, responses }] of operations) {
      expect([name, summary, tags]).toEqual([name, expect.any(String), [expect.any(String)]]);
      const isOpen = /healthz|readyz|sign-in$/.test(name);
      expect([name, security?.length]).toEqual([name, isOpen ? 0 : 2]);
      const shapes = Object.entries(responses)
        .filter(([status]) => Number(status) >= 400)
        .flatMap(([, { content = {} }]) => Object.keys(content));
      const isHealth = /\/(healthz|readyz)$/.test(name);
      expect([name, "401" in responses]).toEqual([name, !isHealth]);
      expect([name, new Set(shapes)]).toEqual([name, new Set(isHealth ? shapes : ["application/problem+json"])]);
    }
  });

  it("names the parameters that its paths hold", () => {
    for (const [name, { parameters = [] }] of operations) {
      const inPath = [...name.matchAll(/{(\w+)}/g)].map((match) => match[1]);
      expect([
        name,
        parameters.filter((parameter) => parameter.in === "path").map((parameter) => parameter.name),
      ]).toEqual([name, inPath]);
    }
  });

  it("describes bodies by name, with an example that is taken", async () => {
    const bodies = operations.flatMap(([name, { requestBody }]) =>
      requestBody ? [[name, requestBody.content["application/json"]?.schema as { $ref?: string }] as const] : [],
    );

    expect(bodies.length).toBeGreaterThan(8);
    for (const [name, schema] of bodies)
      expect([name, schema.$ref]).toEqual([name, expect.stringMatching(/^#\/components/)]);
    const { example } = document.components.schemas.ProviderCreate;
    expect((await bench.call("POST", "/api/providers", example)).status).toBe(201);
    const key = await bench.call("POST", "/api/providers/openai/keys", document.components.schemas.KeyCreate.example);
    expect(key.status).toBe(201);
    expect(
      (await bench.call("PATCH", `/api/keys/${key.body.id}`, document.components.schemas.KeyPatch.example)).status,
    ).toBe(200);
    expect((await bench.call("POST", "/api/tokens", document.components.schemas.TokenCreate.example)).status).toBe(201);
    expect(
      (await bench.call("POST", "/api/providers/openai/keys/import", document.components.schemas.KeyImport.example))
        .status,
    ).toBe(200);
  });

  it("keeps what is sent closed and says the limits that are held", () => {
    const { KeyCreate, ProviderPatch, SettingsPatch } = document.components.schemas;

    expect([KeyCreate.additionalProperties, ProviderPatch.additionalProperties]).toEqual([false, false]);
    expect(KeyCreate.properties.weight).toMatchObject({ type: "integer", minimum: 1, maximum: 100, default: 1 });
    expect(KeyCreate.required).toEqual(["api_key"]);
    expect(SettingsPatch.properties.cooldown.properties.base_ms).toMatchObject({ minimum: 100, maximum: 86_400_000 });
  });

  it("holds only patterns that a validator can read", () => {
    const patterns: string[] = [];
    every(document, (node) => {
      if (typeof node["pattern"] === "string") patterns.push(node["pattern"]);
    });

    expect(patterns.length).toBeGreaterThan(2);
    for (const pattern of patterns) expect(pattern).toMatch(/^\^.*\$$/);
  });

  it("names every event", () => {
    expect(document.components.schemas.Event.properties.type.enum).toEqual([...eventTypes]);
  });

  it("holds no secret and no default that is not one", () => {
    expect(JSON.stringify(document)).not.toMatch(/bench-admin-token/);
    expect(defaultSettings.maxBodyBytes).toBe(67_108_864);
  });
});
