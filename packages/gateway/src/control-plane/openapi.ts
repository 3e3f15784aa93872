import { createRoute, z } from "@hono/zod-openapi";
import type { ControlApp } from "./app.ts";
import { guarded, problems } from "./problems.ts";
import type { BrowserSessions } from "./browser-sessions.ts";
import { security } from "./security.ts";

const route = createRoute({
  method: "get",
  path: "/api/openapi.json",
  tags: ["gateway"],
  summary: "This document",
  security,
  responses: {
    200: { description: "OpenAPI 3.1", content: { "application/json": { schema: z.looseObject({}) } } },
    ...problems(...guarded),
  },
});

/** Serves the document that is made from the very schemas that validate. To be called after all routes of /api. */
export function addDocument(
  app: ControlApp,
  { version, browsers }: { readonly version: string; readonly browsers: Pick<BrowserSessions, "cookieName"> },
): void {
  let made: object | undefined;
  app.openapi(route, (c) => {
    if (!made) {
      describeWaysIn(app, browsers.cookieName);
      made = app.getOpenAPI31Document(head(version));
    }
    return c.json({ ...made }, 200);
  });
}

function describeWaysIn(app: ControlApp, cookieName: string): void {
  app.openAPIRegistry.registerComponent("securitySchemes", "adminToken", {
    type: "http",
    scheme: "bearer",
    description: "The admin token: KEYWHEEL_ADMIN_TOKEN, or the one that was printed at the first start.",
  });
  app.openAPIRegistry.registerComponent("securitySchemes", "browserSession", {
    type: "apiKey",
    in: "cookie",
    name: cookieName,
    description: "Set by signing in at /ui/. Its name ends with a word of this gateway's own.",
  });
}

function head(version: string) {
  return {
    openapi: "3.1.0",
    info: {
      title: "Keywheel control plane",
      version,
      description:
        "JSON in and out, snake_case, RFC 3339 times in UTC, durations in `_ms`. Errors are " +
        "application/problem+json (RFC 9457). A change has taken effect when its call is answered.",
    },
    tags: [
      { name: "providers", description: "Where requests go." },
      { name: "keys", description: "The API key pool of a provider." },
      { name: "tokens", description: "What clients show to the gateway." },
      { name: "sessions", description: "Which session is bound to which key." },
      { name: "activity", description: "What went through, and what it used." },
      { name: "gateway", description: "State, events, health." },
      { name: "sign-in", description: "Browsers." },
    ],
  };
}
