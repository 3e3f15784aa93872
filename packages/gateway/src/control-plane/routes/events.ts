import { createRoute, z } from "@hono/zod-openapi";
import type { ControlApp, ControlPlaneDeps } from "../app.ts";
import { eventSchema, recentEventQuerySchema, recentEventSchema } from "../../contract/event.ts";
import { listOf } from "../../contract/wire.ts";
import type { NumberedEvent } from "../event-hub.ts";
import { eventStream, eventToWire } from "../event-stream.ts";
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

const recentRoute = createRoute({
  method: "get",
  path: "/api/recent-events",
  tags: ["gateway"],
  summary: "What happened lately, newest first",
  description:
    "Since the gateway was started, 200 at the most: what happened to keys and what people changed, not what comes with " +
    "every request.",
  security,
  request: { query: recentEventQuerySchema },
  responses: {
    200: { description: "The events", content: { "application/json": { schema: listOf(recentEventSchema) } } },
    ...problems(...guarded, 422),
  },
});

export function addEventRoutes(app: ControlApp, { catalog, events, keepAliveMs }: ControlPlaneDeps): void {
  app.openapi(recentRoute, (c) => {
    const data = events.recent(c.req.valid("query").limit).map((event) => recentToWire(event, catalog));
    return c.json({ data }, 200);
  });
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

function recentToWire(numbered: NumberedEvent, catalog: ControlPlaneDeps["catalog"]) {
  const keyId = onlyKeyOf(numbered.event);
  const label = keyId === undefined ? null : (catalog.labelOfKey(keyId) ?? null);
  const api_key = keyId === undefined ? null : (catalog.maskedOfKey(keyId) ?? null);
  return { ...eventToWire(numbered), label, api_key } as z.infer<typeof recentEventSchema>;
}

/** The key that an event is about, if it is one alone. */
function onlyKeyOf(event: NumberedEvent["event"]): string | undefined {
  if ("keyIds" in event) return event.keyIds.length === 1 ? event.keyIds[0] : undefined;
  return "keyId" in event ? event.keyId : undefined;
}
