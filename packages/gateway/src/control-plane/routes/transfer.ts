import { createRoute } from "@hono/zod-openapi";
import { KeywheelError } from "@keywheel/pool";
import type { ControlApp, ControlPlaneDeps } from "../app.ts";
import { exportDocumentSchema, exportSchema, importReportSchema, importSchema } from "../../contract/transfer.ts";
import { problems, withBody } from "../problems.ts";
import { security } from "../security.ts";

const exportRoute = createRoute({
  method: "post",
  path: "/api/export",
  tags: ["transfer"],
  summary: "Providers, keys and settings as a document",
  description:
    "Not in it: usage, requests, sessions, cooldowns, gateway tokens. The values of keys only with a passphrase, which a " +
    "browser's cookie is not enough for (403).",
  security,
  request: { body: { required: true, content: { "application/json": { schema: exportSchema } } } },
  responses: {
    200: { description: "The document", content: { "application/json": { schema: exportDocumentSchema } } },
    ...problems(...withBody, 403),
  },
});

const importRoute = createRoute({
  method: "post",
  path: "/api/import",
  tags: ["transfer"],
  summary: "Take in a document that was exported",
  description:
    "All or nothing. Adds what is not here; changes nothing that is. A provider is the same by its slug, a key by its value.",
  security,
  request: { body: { required: true, content: { "application/json": { schema: importSchema } } } },
  responses: {
    200: { description: "What became of it", content: { "application/json": { schema: importReportSchema } } },
    ...problems(...withBody, 409),
  },
});

export function addTransferRoutes(app: ControlApp, { catalog }: ControlPlaneDeps): void {
  app.openapi(exportRoute, async (c) => {
    const { passphrase } = c.req.valid("json");
    // What comes back is masked everywhere in the pages; a stolen browser session must not get around it.
    if (passphrase !== undefined && c.req.header("authorization") === undefined) {
      throw new KeywheelError("forbidden", "The values of keys are exported with the admin token alone", {
        hint: "Use `keywheel export`, or send the admin token.",
      });
    }
    return c.json(await catalog.transfer.export(passphrase), 200);
  });
  app.openapi(importRoute, async (c) => {
    const { document } = await c.req.json<{ readonly document: Readonly<Record<string, unknown>> }>();
    return c.json(await catalog.transfer.import(c.req.valid("json"), document), 200);
  });
}
