import { createRoute, z } from "@hono/zod-openapi";
import { KeywheelError } from "@keywheel/pool";
import { affinityQuerySchema, affinitySchema, sessionAffinitySchema } from "../../contract/affinity.ts";
import { toTime } from "../../contract/wire.ts";
import { cachedInputOf, poolAffinityToWire, sessionAffinityToWire } from "../affinity-wire.ts";
import type { ControlApp, ControlPlaneDeps } from "../app.ts";
import { guarded, problems } from "../problems.ts";
import { security } from "../security.ts";
import { usageQueryOf } from "../usage-query.ts";
import { providerIdOf } from "./requests.ts";

/** Of one session: some 20 ms to read and to sum up. */
const requestsOfSession = 2_000;

const routes = {
  pools: createRoute({
    method: "get",
    path: "/api/affinity",
    tags: ["activity"],
    summary: "What keeping sessions on their keys was worth",
    description:
      "By pool: how many requests were served by the key that they belong to (`kept`), were the first of their session or " +
      "conversation (`new`), had to leave their key (`left`) and why, or are tied to none (`untied`), and what part of their input the provider had in its cache. Pools that asked no key in that time have no row. " +
      "Kept by the hour for 400 days.",
    security,
    request: { query: affinityQuerySchema },
    responses: {
      200: { description: "The pools", content: { "application/json": { schema: affinitySchema } } },
      ...problems(...guarded, 404, 422, 503),
    },
  }),
  session: createRoute({
    method: "get",
    path: "/api/sessions/{id}/affinity",
    tags: ["sessions"],
    summary: "The requests of a session: which kept their key, and what came from the cache",
    description: "By the session's id, also of one that has ended. Requests are kept 7 days.",
    security,
    request: {
      params: z.object({ id: z.string() }),
      query: z.strictObject({
        provider: z
          .string()
          .optional()
          .openapi({ description: "Id or slug: sessions of others may have the same id." }),
      }),
    },
    responses: {
      200: { description: "The session", content: { "application/json": { schema: sessionAffinitySchema } } },
      ...problems(...guarded, 404, 422, 503),
    },
  }),
};

export function addAffinityRoutes(app: ControlApp, { catalog, activity, clock }: ControlPlaneDeps): void {
  app.openapi(routes.pools, async (c) => {
    const { provider, ...range } = c.req.valid("query");
    const { from, to } = usageQueryOf({ ...range, by: ["hour"] }, clock.now());
    const only = provider === undefined ? {} : { providerId: providerIdOf(catalog, provider) };
    const sums = await activity.affinity({ from, to, ...only });
    const ids = [...new Set(sums.map(({ providerId }) => providerId))];
    const data = ids.map((id) =>
      poolAffinityToWire(
        { id, slug: catalog.byId(id)?.record.slug ?? null },
        sums.filter((sum) => sum.providerId === id),
      ),
    );
    return c.json({ from: toTime(from), to: toTime(to), data, total: cachedInputOf(sums) }, 200);
  });
  app.openapi(routes.session, async (c) => {
    const { id } = c.req.valid("param");
    const { provider } = c.req.valid("query");
    const only = provider === undefined ? {} : { providerId: providerIdOf(catalog, provider) };
    const session = await activity.session({ sessionId: id, limit: requestsOfSession, ...only });
    if (session.steps.length === 0) throw new KeywheelError("not_found", "No request of this session is kept");
    return c.json(sessionAffinityToWire(id, session, catalog), 200);
  });
}
