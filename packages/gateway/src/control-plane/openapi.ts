import type { ControlApp } from "./app.ts";

/** Both ways in; named by every call under /api but the one that signs in. */
export const security = [{ adminToken: [] }, { browserSession: [] }];

/** Serves the document that is made from the very schemas that validate. To be called after all routes of /api. */
export function addDocument(app: ControlApp, version: string): void {
  app.openAPIRegistry.registerComponent("securitySchemes", "adminToken", {
    type: "http",
    scheme: "bearer",
    description: "The admin token: KEYWHEEL_ADMIN_TOKEN, or the one that was printed at the first start.",
  });
  app.openAPIRegistry.registerComponent("securitySchemes", "browserSession", {
    type: "apiKey",
    in: "cookie",
    name: "keywheel_session",
    description: "Set by signing in at /ui/.",
  });
  app.doc31("/api/openapi.json", {
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
      { name: "gateway", description: "State, events, health." },
      { name: "sign-in", description: "Browsers." },
    ],
  });
}
