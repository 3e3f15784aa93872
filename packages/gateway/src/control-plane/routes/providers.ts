import { createRoute, z } from "@hono/zod-openapi";
import type { ControlApp, ControlPlaneDeps } from "../app.ts";
import { presetSchema, providerCreateSchema, providerPatchSchema, providerSchema } from "../../contract/provider.ts";
import { listOf } from "../../contract/wire.ts";
import { security } from "../security.ts";
import { guarded, problems, withBody } from "../problems.ts";
import { providerToWire } from "../wire.ts";

export const providerParams = z.object({
  id: z.string().openapi({ description: "The provider's id or slug.", example: "openai" }),
});

const one = { description: "The provider", content: { "application/json": { schema: providerSchema } } };

const routes = {
  presets: createRoute({
    method: "get",
    path: "/api/provider-presets",
    tags: ["providers"],
    summary: "The providers that are known, to choose from",
    security,
    responses: {
      200: {
        description: "In the order to offer them",
        content: { "application/json": { schema: listOf(presetSchema) } },
      },
      ...problems(...guarded),
    },
  }),
  list: createRoute({
    method: "get",
    path: "/api/providers",
    tags: ["providers"],
    summary: "List providers",
    security,
    responses: {
      200: { description: "In order of creation", content: { "application/json": { schema: listOf(providerSchema) } } },
      ...problems(...guarded),
    },
  }),
  create: createRoute({
    method: "post",
    path: "/api/providers",
    tags: ["providers"],
    summary: "Add a provider",
    description: "`preset` alone, or `base_url` alone, is enough: what is left out follows from the rest.",
    security,
    request: { body: { required: true, content: { "application/json": { schema: providerCreateSchema } } } },
    responses: { 201: one, ...problems(...withBody, 409) },
  }),
  get: createRoute({
    method: "get",
    path: "/api/providers/{id}",
    tags: ["providers"],
    summary: "Show a provider",
    security,
    request: { params: providerParams },
    responses: { 200: one, ...problems(...guarded, 404) },
  }),
  change: createRoute({
    method: "patch",
    path: "/api/providers/{id}",
    tags: ["providers"],
    summary: "Change a provider",
    description: "What is left out stays. Another host needs `confirm_host_change` while keys are stored (409).",
    security,
    request: {
      params: providerParams,
      body: { required: true, content: { "application/json": { schema: providerPatchSchema } } },
    },
    responses: { 200: one, ...problems(...withBody, 404, 409) },
  }),
  models: createRoute({
    method: "get",
    path: "/api/providers/{id}/models",
    tags: ["providers"],
    summary: "The models that the provider names",
    description: "Asked for with a key of the pool, which is not judged by the answer; no turn of the wheel is taken.",
    security,
    request: { params: providerParams },
    responses: {
      200: {
        description: "In the provider's order",
        content: { "application/json": { schema: listOf(z.object({ id: z.string() }).openapi("Model")) } },
      },
      ...problems(...guarded, 404, 502, 503),
    },
  }),
  remove: createRoute({
    method: "delete",
    path: "/api/providers/{id}",
    tags: ["providers"],
    summary: "Delete a provider with its keys and sessions",
    security,
    request: { params: providerParams },
    responses: { 204: { description: "It is gone" }, ...problems(...guarded, 404, 409, 503) },
  }),
};

export function addProviderRoutes(app: ControlApp, { catalog, listModels }: ControlPlaneDeps): void {
  app.openapi(routes.presets, (c) => {
    const data = catalog.presets.map(({ slug, name, kind, baseUrl }) => ({ slug, name, kind, base_url: baseUrl }));
    return c.json({ data }, 200);
  });
  app.openapi(routes.models, async (c) => {
    const models = await listModels(c.req.valid("param").id, c.req.raw.signal);
    return c.json({ data: models.map((id) => ({ id })) }, 200);
  });
  app.openapi(routes.list, (c) => c.json({ data: catalog.providers.list().map(providerToWire) }, 200));
  app.openapi(routes.create, async (c) => {
    const provider = await catalog.providers.add(c.req.valid("json"));
    return c.json(providerToWire(provider), 201, { location: `/api/providers/${provider.record.id}` });
  });
  app.openapi(routes.get, (c) => c.json(providerToWire(catalog.providers.get(c.req.valid("param").id)), 200));
  app.openapi(routes.change, async (c) => {
    const provider = await catalog.providers.change(c.req.valid("param").id, c.req.valid("json"));
    return c.json(providerToWire(provider), 200);
  });
  app.openapi(routes.remove, async (c) => {
    await catalog.providers.remove(c.req.valid("param").id);
    return c.body(null, 204);
  });
}
