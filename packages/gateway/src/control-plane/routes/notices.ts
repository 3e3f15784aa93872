import { createRoute, z } from "@hono/zod-openapi";
import { KeywheelError } from "@keywheel/pool";
import type { Notice } from "../../activity/notice-book.ts";
import { noticeSchema } from "../../contract/notice.ts";
import { listOf, toTime, toTimeOrNull } from "../../contract/wire.ts";
import type { ControlApp, ControlPlaneDeps } from "../app.ts";
import { guarded, problems } from "../problems.ts";
import { security } from "../security.ts";

const routes = {
  list: createRoute({
    method: "get",
    path: "/api/notices",
    tags: ["activity"],
    summary: "What a person should look at, last happened first",
    description: "Those that hold, and those that held since the gateway was started: 200 at the most.",
    security,
    responses: {
      200: { description: "All of them", content: { "application/json": { schema: listOf(noticeSchema) } } },
      ...problems(...guarded),
    },
  }),
  dismiss: createRoute({
    method: "delete",
    path: "/api/notices/{id}",
    tags: ["activity"],
    summary: "Dismiss a notice, until it happens again or what it tells changes",
    security,
    request: { params: z.object({ id: z.string() }) },
    responses: { 204: { description: "It is gone" }, ...problems(...guarded, 404) },
  }),
};

export function addNoticeRoutes(app: ControlApp, { notices }: ControlPlaneDeps): void {
  app.openapi(routes.list, (c) => {
    notices.check();
    return c.json({ data: notices.list().map(noticeToWire) }, 200);
  });
  app.openapi(routes.dismiss, (c) => {
    if (!notices.dismiss(c.req.valid("param").id)) throw new KeywheelError("not_found", "There is no such notice");
    return c.body(null, 204);
  });
}

function noticeToWire(notice: Notice): z.infer<typeof noticeSchema> {
  const { id, code, providerId, message, hint, facts, action, at, lastAt, count, resolvedAt } = notice;
  return {
    id,
    code,
    provider_id: providerId ?? null,
    message,
    hint,
    facts: { ...facts },
    action: action === undefined ? null : { method: action.method, path: action.path, body: { ...action.body } },
    at: toTime(at),
    last_at: toTime(lastAt),
    count,
    resolved_at: toTimeOrNull(resolvedAt),
  };
}
