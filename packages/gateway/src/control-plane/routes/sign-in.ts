import { createRoute } from "@hono/zod-openapi";
import type { ControlApp, ControlPlaneDeps } from "../app.ts";
import { newAdminTokenSchema, signInLinkSchema, signInSchema } from "../../contract/sign-in.ts";
import { toTime } from "../../contract/wire.ts";
import { security } from "../security.ts";
import { guarded, problems, withBody } from "../problems.ts";
import { giveCookie, peerOf, takeCookie } from "../signed-in.ts";

const signIn = createRoute({
  method: "post",
  path: "/api/sign-in",
  tags: ["sign-in"],
  summary: "Sign a browser in with the admin token",
  security: [],
  request: { body: { required: true, content: { "application/json": { schema: signInSchema } } } },
  responses: { 204: { description: "Signed in: see `set-cookie`" }, ...problems(...withBody) },
});

const signOut = createRoute({
  method: "post",
  path: "/api/sign-out",
  tags: ["sign-in"],
  summary: "Sign this browser out",
  security,
  responses: { 204: { description: "Signed out" }, ...problems(...guarded) },
});

const makeLink = createRoute({
  method: "post",
  path: "/api/sign-in-links",
  tags: ["sign-in"],
  summary: "Make a link that signs a browser in, once, within 15 minutes",
  security,
  responses: {
    201: { description: "The link", content: { "application/json": { schema: signInLinkSchema } } },
    ...problems(...guarded),
  },
});

const rotate = createRoute({
  method: "post",
  path: "/api/admin-token/rotate",
  tags: ["sign-in"],
  summary: "Put a new admin token in the place of the present one",
  description:
    "The present token is refused from then on, every browser is signed out and unused sign-in links are void. The new " +
    "one is shown in this answer and never again. A token that `KEYWHEEL_ADMIN_TOKEN` fixes is changed there.",
  security,
  responses: {
    201: { description: "The new token", content: { "application/json": { schema: newAdminTokenSchema } } },
    ...problems(...guarded, 409, 503),
  },
});

export function addSignInRoutes(app: ControlApp, { auth, events, info }: ControlPlaneDeps): void {
  app.openapi(signIn, (c) => {
    auth.check(c.req.valid("json").token.trim(), peerOf(c));
    giveCookie(c, auth.browsers, auth.browsers.create());
    return c.body(null, 204);
  });
  app.openapi(signOut, (c) => {
    const cookie = takeCookie(c, auth.browsers);
    if (cookie !== undefined) auth.browsers.end(cookie);
    events.recheck();
    return c.body(null, 204);
  });
  app.openapi(rotate, async (c) => {
    const token = await auth.rotate();
    events.recheck();
    return c.json({ token: token.reveal() }, 201);
  });
  app.openapi(makeLink, (c) => {
    const { code, expiresAt } = auth.createSignInCode();
    const path = signInPath(code);
    return c.json({ path, urls: info.urls().map((url) => url + path), expires_at: toTime(expiresAt) }, 201);
  });
}

/** Where a sign-in code is spent. */
export function signInPath(code: string): string {
  return `/ui/sign-in?code=${code}`;
}
