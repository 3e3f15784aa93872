import { createRoute, z } from "@hono/zod-openapi";
import type { ControlApp, ControlPlaneDeps } from "../app.ts";
import {
  newTokenSchema,
  tokenCreateSchema,
  tokenPatchSchema,
  tokenSchema,
  tokenWishesOf,
} from "../../contract/token.ts";
import { listOf } from "../../contract/wire.ts";
import { security } from "../security.ts";
import { guarded, problems, withBody } from "../problems.ts";
import type { TokenRecord } from "../../catalog/catalog.ts";
import { tokenToWire } from "../wire.ts";

const params = z.object({ id: z.string().openapi({ example: "tok_k3m5q2x7a4b6c2d5e7f3" }) });

const routes = {
  list: createRoute({
    method: "get",
    path: "/api/tokens",
    tags: ["tokens"],
    summary: "List gateway tokens",
    security,
    responses: {
      200: { description: "In order of creation", content: { "application/json": { schema: listOf(tokenSchema) } } },
      ...problems(...guarded),
    },
  }),
  create: createRoute({
    method: "post",
    path: "/api/tokens",
    tags: ["tokens"],
    summary: "Make a token for a client",
    description: "The token is shown in this answer and never again.",
    security,
    request: { body: { required: true, content: { "application/json": { schema: tokenCreateSchema } } } },
    responses: {
      201: { description: "The token", content: { "application/json": { schema: newTokenSchema } } },
      ...problems(...withBody),
    },
  }),
  change: createRoute({
    method: "patch",
    path: "/api/tokens/{id}",
    tags: ["tokens"],
    summary: "Change what a token is good for",
    description: "What is left out stays, and so does the token itself. Requests under way are not touched.",
    security,
    request: { params, body: { required: true, content: { "application/json": { schema: tokenPatchSchema } } } },
    responses: {
      200: { description: "The token", content: { "application/json": { schema: tokenSchema } } },
      ...problems(...withBody, 404, 409),
    },
  }),
  remove: createRoute({
    method: "delete",
    path: "/api/tokens/{id}",
    tags: ["tokens"],
    summary: "Revoke a token",
    security,
    request: { params },
    responses: { 204: { description: "It is revoked" }, ...problems(...guarded, 404, 409, 503) },
  }),
};

export function addTokenRoutes(app: ControlApp, { catalog: { tokens, declared } }: ControlPlaneDeps): void {
  const toWire = (record: TokenRecord) => tokenToWire(record, declared.isManaged(record.id));
  app.openapi(routes.list, (c) => c.json({ data: tokens.list().map(toWire) }, 200));
  app.openapi(routes.create, async (c) => {
    const { name, ...terms } = c.req.valid("json");
    const { record, token } = await tokens.add(name, tokenWishesOf(terms));
    return c.json({ ...toWire(record), token: token.reveal() }, 201);
  });
  app.openapi(routes.change, async (c) => {
    const { name, ...terms } = c.req.valid("json");
    const named = name === undefined ? {} : { name };
    const record = await tokens.change(c.req.valid("param").id, { ...tokenWishesOf(terms), ...named });
    return c.json(toWire(record), 200);
  });
  app.openapi(routes.remove, async (c) => {
    await tokens.remove(c.req.valid("param").id);
    return c.body(null, 204);
  });
}
