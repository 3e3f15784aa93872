import { createRoute, z } from "@hono/zod-openapi";
import type { SkippedKey } from "../../catalog/import-text.ts";
import type { ControlApp, ControlPlaneDeps } from "../app.ts";
import {
  keyBulkResultSchema,
  keyBulkSchema,
  keyCreateSchema,
  keyImportResultSchema,
  keyImportSchema,
  keyOrderSchema,
  keyPatchSchema,
  keySchema,
  keyTestResultSchema,
} from "../../contract/key.ts";
import { integerQuery } from "../../contract/session.ts";
import { listOf } from "../../contract/wire.ts";
import { security } from "../security.ts";
import { testMany } from "../key-tests.ts";
import { guarded, problems, withBody } from "../problems.ts";
import { keyToWire } from "../wire.ts";
import { providerParams } from "./providers.ts";

const keyParams = z.object({ id: z.string().openapi({ example: "key_k3m5q2x7a4b6c2d5e7f3" }) });
const one = { description: "The key", content: { "application/json": { schema: keySchema } } };
const inOrder = { description: "In wheel order", content: { "application/json": { schema: listOf(keySchema) } } };

function bodyOf<Schema extends z.ZodType>(schema: Schema) {
  return { required: true, content: { "application/json": { schema } } } as const;
}

const ofProvider = {
  list: createRoute({
    method: "get",
    path: "/api/providers/{id}/keys",
    tags: ["keys"],
    summary: "List the keys of a provider",
    security,
    request: { params: providerParams },
    responses: { 200: inOrder, ...problems(...guarded, 404) },
  }),
  create: createRoute({
    method: "post",
    path: "/api/providers/{id}/keys",
    tags: ["keys"],
    summary: "Add a key",
    security,
    request: { params: providerParams, body: bodyOf(keyCreateSchema) },
    responses: { 201: one, ...problems(...withBody, 404, 409) },
  }),
  import: createRoute({
    method: "post",
    path: "/api/providers/{id}/keys/import",
    tags: ["keys"],
    summary: "Add the keys of a pasted list",
    description: "What cannot be added is told line by line and stops nothing. At most 50,000 keys in one call.",
    security,
    request: { params: providerParams, body: bodyOf(keyImportSchema) },
    responses: {
      200: { description: "What became of it", content: { "application/json": { schema: keyImportResultSchema } } },
      ...problems(...withBody, 404),
    },
  }),
  order: createRoute({
    method: "put",
    path: "/api/providers/{id}/keys/order",
    tags: ["keys"],
    summary: "Put the keys of a provider in an order",
    security,
    request: { params: providerParams, body: bodyOf(keyOrderSchema) },
    responses: { 200: inOrder, ...problems(...withBody, 404, 409) },
  }),
  bulk: createRoute({
    method: "post",
    path: "/api/providers/{id}/keys/bulk",
    tags: ["keys"],
    summary: "Enable, disable, delete, reset or test many keys",
    description:
      "Either `ids` or `where`. All or none; but `test` changes nothing, tries a few keys at a time, and stops with the " +
      "caller: who wants to see how far it is names some keys a call.",
    security,
    request: { params: providerParams, body: bodyOf(keyBulkSchema) },
    responses: {
      200: { description: "Done", content: { "application/json": { schema: keyBulkResultSchema } } },
      ...problems(...withBody, 404, 409),
    },
  }),
  preview: createRoute({
    method: "get",
    path: "/api/providers/{id}/preview",
    tags: ["keys"],
    summary: "The next turns of the wheel, taking none",
    security,
    request: { params: providerParams, query: z.strictObject({ n: integerQuery(1, 1000, 12) }) },
    responses: {
      200: { description: "Key ids", content: { "application/json": { schema: listOf(z.string()) } } },
      ...problems(...guarded, 404, 422),
    },
  }),
};

const ofKey = {
  get: createRoute({
    method: "get",
    path: "/api/keys/{id}",
    tags: ["keys"],
    summary: "Show a key",
    security,
    request: { params: keyParams },
    responses: { 200: one, ...problems(...guarded, 404) },
  }),
  change: createRoute({
    method: "patch",
    path: "/api/keys/{id}",
    tags: ["keys"],
    summary: "Change a key",
    description: "What is left out stays. A new value clears cooldown, count and a refusal by the provider.",
    security,
    request: { params: keyParams, body: bodyOf(keyPatchSchema) },
    responses: { 200: one, ...problems(...withBody, 404, 409) },
  }),
  remove: createRoute({
    method: "delete",
    path: "/api/keys/{id}",
    tags: ["keys"],
    summary: "Delete a key",
    security,
    request: { params: keyParams },
    responses: { 204: { description: "It is gone" }, ...problems(...guarded, 404, 409, 503) },
  }),
  test: createRoute({
    method: "post",
    path: "/api/keys/{id}/test",
    tags: ["keys"],
    summary: "Call the provider with exactly this key, changing nothing",
    security,
    request: { params: keyParams },
    responses: {
      200: { description: "What came of it", content: { "application/json": { schema: keyTestResultSchema } } },
      ...problems(...guarded, 404),
    },
  }),
  reset: createRoute({
    method: "post",
    path: "/api/keys/{id}/reset",
    tags: ["keys"],
    summary: "Clear the cooldown and the failure count of a key",
    description: "A disabled key stays disabled.",
    security,
    request: { params: keyParams },
    responses: { 200: one, ...problems(...guarded, 404, 503) },
  }),
};

export function addKeyRoutes(app: ControlApp, { catalog, testKey }: ControlPlaneDeps): void {
  const { keys } = catalog;
  app.openapi(ofProvider.list, async (c) => {
    return c.json({ data: (await keys.list(c.req.valid("param").id)).map(keyToWire) }, 200);
  });
  app.openapi(ofProvider.create, async (c) => {
    const key = await keys.add(c.req.valid("param").id, c.req.valid("json"));
    return c.json(keyToWire(key), 201, { location: `/api/keys/${key.record.id}` });
  });
  app.openapi(ofProvider.import, async (c) => {
    const { text, dry_run: isDryRun = false, group } = c.req.valid("json");
    const options = { dryRun: isDryRun, group };
    const { added, skipped, understood } = await keys.import(c.req.valid("param").id, text, options);
    const shown = understood.map(({ line, masked, label, weight }) => ({ line, api_key: masked, label, weight }));
    const body = {
      added: added.map(keyToWire),
      skipped: skipped.map(skippedToWire),
      ...(isDryRun ? { understood: shown } : {}),
    };
    return c.json(body, 200);
  });
  app.openapi(ofProvider.order, async (c) => {
    const ordered = await keys.order(c.req.valid("param").id, c.req.valid("json").ids);
    return c.json({ data: ordered.map(keyToWire) }, 200);
  });
  app.openapi(ofProvider.bulk, async (c) => {
    const { action, ids, where } = c.req.valid("json");
    const selection = {
      ...(ids === undefined ? {} : { ids }),
      ...(where === undefined ? {} : { where: definedOf(where) }),
    };
    const provider = c.req.valid("param").id;
    if (action !== "test") return c.json({ ids: [...(await keys.bulk(provider, action, selection))] }, 200);
    const { signal } = c.req.raw;
    const meant = await keys.select(provider, selection);
    const { id: providerId } = catalog.providers.get(provider).record;
    const results = await testMany(meant, (id) => testKey(providerId, id, signal), signal);
    return c.json({ ids: results.map(({ id }) => id), results }, 200);
  });
  app.openapi(ofProvider.preview, async (c) => {
    return c.json({ data: [...(await keys.preview(c.req.valid("param").id, c.req.valid("query").n))] }, 200);
  });

  app.openapi(ofKey.get, async (c) => c.json(keyToWire(await keys.get(c.req.valid("param").id)), 200));
  app.openapi(ofKey.change, async (c) => {
    return c.json(keyToWire(await keys.change(c.req.valid("param").id, c.req.valid("json"))), 200);
  });
  app.openapi(ofKey.remove, async (c) => {
    await keys.remove(c.req.valid("param").id);
    return c.body(null, 204);
  });
  app.openapi(ofKey.test, async (c) => {
    const { record } = await keys.get(c.req.valid("param").id);
    return c.json(await testKey(record.providerId, record.id, c.req.raw.signal), 200);
  });
  app.openapi(ofKey.reset, async (c) => c.json(keyToWire(await keys.reset(c.req.valid("param").id)), 200));
}

/** Drops fields that are there and undefined. */
function definedOf<T extends object>(value: T): { [Name in keyof T]?: Exclude<T[Name], undefined> } {
  const entries = Object.entries(value).filter(([, part]) => part !== undefined);
  return Object.fromEntries(entries) as { [Name in keyof T]?: Exclude<T[Name], undefined> };
}

function skippedToWire({ line, code, fault, masked }: SkippedKey) {
  const { message, code: kind, params } = fault;
  return {
    line,
    code,
    reason: message,
    fault: kind,
    ...(params === undefined ? {} : { params: { ...params } }),
    masked,
  };
}
