import { createRoute, z } from "@hono/zod-openapi";
import type { ControlApp, ControlPlaneDeps } from "../app.ts";
import { eventSchema } from "../../contract/event.ts";
import { eventStream } from "../event-stream.ts";
import { security } from "../security.ts";
import { socketOf } from "../signed-in.ts";
import { guarded, problems } from "../problems.ts";

const route = createRoute({
  method: "get",
  path: "/api/events",
  tags: ["gateway"],
  summary: "What happens, as it happens (server-sent events)",
  description:
    "Each event's `data` is JSON as in the schema. `Last-Event-ID` resumes: what was missed comes first, or `resync` " +
    "when that is no longer known, which means to load anew what is shown. A reader that is too slow is cut off.",
  security,
  request: {
    headers: z.object({
      "last-event-id": z.string().optional().openapi({ description: "The last id that was seen." }),
    }),
  },
  responses: {
    200: { description: "A stream without end", content: { "text/event-stream": { schema: eventSchema } } },
    ...problems(...guarded),
  },
});

export function addEventRoutes(app: ControlApp, { events, keepAliveMs }: ControlPlaneDeps): void {
  app.openapi(route, (c) => {
    // `no-transform` and `x-accel-buffering` keep proxies from holding events back.
    const headers = {
      "content-type": "text/event-stream",
      "cache-control": "no-store, no-transform",
      "x-accel-buffering": "no",
    };
    // Nobody would ever read the stream, nor end it.
    if (c.req.method === "HEAD") return c.body(null, 200, headers);
    const stream = eventStream(events, {
      lastEventId: c.req.valid("header")["last-event-id"],
      signal: c.req.raw.signal,
      isStillAllowed: c.get("isStillAllowed"),
      cutOff: () => socketOf(c)?.destroy(),
      ...(keepAliveMs === undefined ? {} : { keepAliveMs }),
    });
    return c.body(stream, 200, headers);
  });
}
