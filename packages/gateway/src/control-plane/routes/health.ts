import { createRoute } from "@hono/zod-openapi";
import type { StoreTrouble } from "../../store/store.ts";
import type { ControlApp, ControlPlaneDeps } from "../app.ts";
import { healthSchema } from "../../contract/status.ts";

const content = { "application/json": { schema: healthSchema } };

const alive = createRoute({
  method: "get",
  path: "/healthz",
  tags: ["gateway"],
  summary: "Whether the process is alive",
  security: [],
  responses: { 200: { description: "It is", content } },
});

const ready = createRoute({
  method: "get",
  path: "/readyz",
  tags: ["gateway"],
  summary: "Whether it can serve",
  description:
    "503 while it starts or stops, or the database cannot be written or is damaged. With Redis away it is ready and says so. A gateway without providers, or whose keys all " +
    "rest, is ready: it answers with what is wrong, and is managed over the same port.",
  security: [],
  responses: { 200: { description: "It can", content }, 503: { description: "It cannot", content } },
});

/** For whoever watches the process: no names, no token. */
export function addHealthRoutes(app: ControlApp, { store, info, notReady }: ControlPlaneDeps): void {
  app.openapi(alive, (c) => c.json({ status: "ok" as const }, 200));
  app.openapi(ready, (c) => {
    const detail = notReady?.() ?? wordFor(store.trouble);
    if (detail !== undefined) return c.json({ status: "not_ready" as const, detail }, 503);
    // It serves: taking it out of rotation would only make matters worse.
    return info.sharing.trouble() === undefined
      ? c.json({ status: "ready" as const }, 200)
      : c.json({ status: "ready" as const, detail: "Redis is away: this gateway decides alone" }, 200);
  });
}

/** No path and no name: this is open to everybody. */
function wordFor(trouble: StoreTrouble | undefined): string | undefined {
  if (trouble === undefined) return undefined;
  return trouble.isDamage ? "the database is damaged" : "the database cannot be written";
}
