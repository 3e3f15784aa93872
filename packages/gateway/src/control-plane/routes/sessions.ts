import { createRoute, z } from "@hono/zod-openapi";
import { KeywheelError } from "@keywheel/pool";
import type { ControlApp, ControlPlaneDeps } from "../app.ts";
import { sessionListSchema, sessionQuerySchema } from "../../contract/session.ts";
import { security } from "../security.ts";
import { guarded, problems } from "../problems.ts";
import { sessionToWire } from "../wire.ts";

const routes = {
  list: createRoute({
    method: "get",
    path: "/api/sessions",
    tags: ["sessions"],
    summary: "List sessions that are bound to a key, newest use first",
    security,
    request: { query: sessionQuerySchema },
    responses: {
      200: { description: "One page", content: { "application/json": { schema: sessionListSchema } } },
      ...problems(...guarded, 404, 422, 503),
    },
  }),
  end: createRoute({
    method: "delete",
    path: "/api/sessions/{id}",
    tags: ["sessions"],
    summary: "End a session: its next request takes a turn on the wheel",
    description: "By its id, or by the very value that the client sent. Ending an unknown one is no error.",
    security,
    request: { params: z.object({ id: z.string() }) },
    responses: { 204: { description: "There is no such session any more" }, ...problems(...guarded, 503) },
  }),
};

export function addSessionRoutes(app: ControlApp, { catalog, store, flushSessions }: ControlPlaneDeps): void {
  app.openapi(routes.list, async (c) => {
    const { provider, key, q, limit, cursor } = c.req.valid("query");
    await flushSessions();
    const { sessions, next } = await store.listSessions({
      limit,
      ...(provider === undefined ? {} : { providerId: catalog.providers.get(provider).record.id }),
      ...(key === undefined ? {} : { keyId: key }),
      ...(q === undefined || q === "" ? {} : { search: q }),
      ...(cursor === undefined || cursor === "" ? {} : { cursor }),
    });
    return c.json({ data: sessions.map((session) => sessionToWire(session, catalog)), next_cursor: next ?? null }, 200);
  });
  app.openapi(routes.end, async (c) => {
    const { id } = c.req.valid("param");
    if (id.length > longestSessionValue) throw new KeywheelError("not_found", "No session has an id that long");
    await flushSessions();
    await catalog.endSession(id);
    return c.body(null, 204);
  });
}

const longestSessionValue = 4096;
