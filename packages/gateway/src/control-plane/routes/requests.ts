import { createRoute, z } from "@hono/zod-openapi";
import { KeywheelError } from "@keywheel/pool";
import { requestListSchema, requestQuerySchema, requestSchema } from "../../contract/request.ts";
import type { RequestFilter } from "../../store/store.ts";
import { requestToWire } from "../activity-wire.ts";
import type { ControlApp, ControlPlaneDeps } from "../app.ts";
import { guarded, problems } from "../problems.ts";
import { security } from "../security.ts";

const routes = {
  list: createRoute({
    method: "get",
    path: "/api/requests",
    tags: ["activity"],
    summary: "Requests that have ended, newest first, each with its explanation",
    description: "Every attempt with its key, outcome and time; why that key, and which were passed over. Kept 7 days.",
    security,
    request: { query: requestQuerySchema },
    responses: {
      200: { description: "One page", content: { "application/json": { schema: requestListSchema } } },
      ...problems(...guarded, 404, 422, 503),
    },
  }),
  get: createRoute({
    method: "get",
    path: "/api/requests/{id}",
    tags: ["activity"],
    summary: "One request with its explanation",
    security,
    request: { params: z.object({ id: z.string() }) },
    responses: {
      200: { description: "The request", content: { "application/json": { schema: requestSchema } } },
      ...problems(...guarded, 404, 503),
    },
  }),
};

export function addRequestRoutes(app: ControlApp, { catalog, activity }: ControlPlaneDeps): void {
  app.openapi(routes.list, async (c) => {
    const { provider, key, session, status, limit, cursor } = c.req.valid("query");
    const filter: RequestFilter = {
      limit,
      ...(provider === undefined ? {} : { providerId: providerIdOf(catalog, provider) }),
      ...(key === undefined ? {} : { keyId: key }),
      ...(session === undefined ? {} : { sessionId: session }),
      ...(status === undefined ? {} : ofStatus(status)),
      ...(cursor === undefined ? {} : { beforeSeq: Number(cursor) }),
    };
    const { requests, next } = await activity.requests(filter);
    const data = requests.map((request) => requestToWire(request, catalog));
    return c.json({ data, next_cursor: next === undefined ? null : String(next) }, 200);
  });
  app.openapi(routes.get, async (c) => {
    const request = await activity.request(c.req.valid("param").id);
    if (request === undefined)
      throw new KeywheelError("not_found", "There is no such request, or it is no longer kept");
    return c.json(requestToWire(request, catalog), 200);
  });
}

/** What went through a provider stays when it goes, and its id is all that is left of it. @throws KeywheelError unknown_provider */
export function providerIdOf(catalog: ControlPlaneDeps["catalog"], idOrSlug: string): string {
  return idOrSlug.startsWith("prv_") ? idOrSlug : catalog.providers.get(idOrSlug).record.id;
}

function ofStatus(status: string): Pick<RequestFilter, "status" | "failed" | "failover"> {
  if (status === "failed" || status === "succeeded") return { failed: status === "failed" };
  if (status === "failover") return { failover: true };
  const from = Number(status.replace("xx", "00"));
  return { status: { from, to: status.endsWith("xx") ? from + 99 : from } };
}
