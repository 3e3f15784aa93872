import { createRoute, z } from "@hono/zod-openapi";
import type { ControlApp, ControlPlaneDeps } from "../app.ts";
import {
  deliverySchema,
  newWebhookSchema,
  webhookCreateSchema,
  webhookPatchSchema,
  webhookRotationSchema,
  webhookSchema,
  webhookTestSchema,
} from "../../contract/webhook.ts";
import { listOf } from "../../contract/wire.ts";
import { security } from "../security.ts";
import { guarded, problems, withBody } from "../problems.ts";
import type { WebhookRecord } from "../../store/store.ts";
import { deliveryToWire, webhookToWire } from "../webhook-wire.ts";

const params = z.object({ id: z.string().openapi({ example: "whk_k3m5q2x7a4b6c2d5e7f3" }) });
const deliveriesShown = 50;

const routes = {
  list: createRoute({
    method: "get",
    path: "/api/webhooks",
    tags: ["webhooks"],
    summary: "List webhooks",
    security,
    responses: {
      200: { description: "In order of creation", content: { "application/json": { schema: listOf(webhookSchema) } } },
      ...problems(...guarded),
    },
  }),
  create: createRoute({
    method: "post",
    path: "/api/webhooks",
    tags: ["webhooks"],
    summary: "Have events sent to a URL",
    description:
      "What is sent is signed as Standard Webhooks says. The secret is shown in this answer and never again.",
    security,
    request: { body: { required: true, content: { "application/json": { schema: webhookCreateSchema } } } },
    responses: {
      201: { description: "The webhook", content: { "application/json": { schema: newWebhookSchema } } },
      ...problems(...withBody, 409),
    },
  }),
  change: createRoute({
    method: "patch",
    path: "/api/webhooks/{id}",
    tags: ["webhooks"],
    summary: "Change a webhook",
    description: "What is left out stays, and so does the secret: `rotate` changes that.",
    security,
    request: { params, body: { required: true, content: { "application/json": { schema: webhookPatchSchema } } } },
    responses: {
      200: { description: "The webhook", content: { "application/json": { schema: webhookSchema } } },
      ...problems(...withBody, 404),
    },
  }),
  remove: createRoute({
    method: "delete",
    path: "/api/webhooks/{id}",
    tags: ["webhooks"],
    summary: "Remove a webhook",
    description: "What waits to be sent there goes with it.",
    security,
    request: { params },
    responses: { 204: { description: "It is removed" }, ...problems(...guarded, 404, 503) },
  }),
  test: createRoute({
    method: "post",
    path: "/api/webhooks/{id}/test",
    tags: ["webhooks"],
    summary: "Send a test",
    description: "One message of the type `webhook.test`, once, whether or not the webhook is enabled.",
    security,
    request: { params },
    responses: {
      200: { description: "What became of it", content: { "application/json": { schema: webhookTestSchema } } },
      ...problems(...guarded, 404, 503),
    },
  }),
  rotate: createRoute({
    method: "post",
    path: "/api/webhooks/{id}/rotate",
    tags: ["webhooks"],
    summary: "Make the secret of a webhook anew",
    description:
      "The new secret is shown in this answer and never again. For `overlap_ms` what is sent has a signature of each, so that " +
      "the receiver can be changed meanwhile and refuses nothing. Up to four former secrets may overlap.",
    security,
    request: { params, body: { required: true, content: { "application/json": { schema: webhookRotationSchema } } } },
    responses: {
      200: { description: "The webhook", content: { "application/json": { schema: newWebhookSchema } } },
      ...problems(...withBody, 404, 409),
    },
  }),
  deliveries: createRoute({
    method: "get",
    path: "/api/webhooks/{id}/deliveries",
    tags: ["webhooks"],
    summary: "The last deliveries",
    security,
    request: { params },
    responses: {
      200: {
        description: `Newest first, ${deliveriesShown} at the most`,
        content: { "application/json": { schema: listOf(deliverySchema) } },
      },
      ...problems(...guarded, 404, 503),
    },
  }),
};

export function addWebhookRoutes(app: ControlApp, { catalog, store, clock, testWebhook }: ControlPlaneDeps): void {
  const { webhooks } = catalog;
  const toWire = (record: WebhookRecord) => webhookToWire(record, clock.now());
  app.openapi(routes.list, (c) => c.json({ data: webhooks.list().map(toWire) }, 200));
  app.openapi(routes.create, async (c) => {
    const { record, secret } = await webhooks.add(c.req.valid("json"));
    return c.json({ ...toWire(record), secret: secret.reveal() }, 201);
  });
  app.openapi(routes.change, async (c) => {
    const { name, url, events, enabled } = c.req.valid("json");
    const record = await webhooks.change(c.req.valid("param").id, { name, url, events, enabled });
    return c.json(toWire(record), 200);
  });
  app.openapi(routes.rotate, async (c) => {
    const { overlap_ms: overlapMs } = c.req.valid("json");
    const { record, secret } = await webhooks.rotate(c.req.valid("param").id, overlapMs);
    return c.json({ ...toWire(record), secret: secret.reveal() }, 200);
  });
  app.openapi(routes.remove, async (c) => {
    await webhooks.remove(c.req.valid("param").id);
    return c.body(null, 204);
  });
  app.openapi(routes.test, async (c) => {
    const outcome = await testWebhook(webhooks.get(c.req.valid("param").id), c.req.raw.signal);
    const { delivered, status = null, problem: message, durationMs } = outcome;
    return c.json({ delivered, http_status: status, message, duration_ms: Math.round(durationMs) }, 200);
  });
  app.openapi(routes.deliveries, async (c) => {
    const { id } = webhooks.get(c.req.valid("param").id);
    const deliveries = await store.listDeliveries(id, deliveriesShown);
    return c.json({ data: deliveries.map(deliveryToWire) }, 200);
  });
}
