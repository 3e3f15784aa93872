import type { Socket } from "node:net";
import { KeywheelError } from "@keywheel/pool";
import type { Context, MiddlewareHandler } from "hono";
import { deleteCookie, getCookie, setCookie } from "hono/cookie";
import type { ControlEnv } from "./app.ts";
import type { AdminAuth } from "./auth.ts";
import { type BrowserSessions, sessionLifeMs } from "./browser-sessions.ts";

/** The only calls without a token: they are how one is shown. */
const open: ReadonlySet<string> = new Set(["POST /api/sign-in"]);

/** Lets in whoever shows the admin token or the cookie of a browser that did. */
export function signedIn(auth: AdminAuth): MiddlewareHandler<ControlEnv> {
  return async (c, next) => {
    if (!open.has(`${c.req.method} ${c.req.path}`)) c.set("isStillAllowed", admitCaller(c, auth));
    await next();
  };
}

/** @returns whether the caller is still let in, to be asked later */
function admitCaller(c: Context<ControlEnv>, auth: AdminAuth): () => boolean {
  const authorization = c.req.header("authorization");
  if (authorization !== undefined) {
    const token = /^bearer\s+(\S+)\s*$/i.exec(authorization)?.[1];
    if (token === undefined) throw new KeywheelError("unauthorized", "Expected `authorization: Bearer <admin token>`");
    auth.check(token, peerOf(c));
    return () => auth.accepts(token);
  }
  const cookie = getCookie(c, auth.browsers.cookieName);
  if (cookie === undefined || !auth.browsers.isValid(cookie)) throw new KeywheelError("unauthorized");
  return () => auth.browsers.isValid(cookie);
}

/** The address of the caller; one word for calls in process. */
export function peerOf(c: Context<ControlEnv>): string {
  return socketOf(c)?.remoteAddress ?? "in-process";
}

/** The connection of the caller; undefined for calls in process. */
export function socketOf(c: Context<ControlEnv>): Socket | undefined {
  // In process there is no environment at all, whatever the type says.
  const bindings = c.env as ControlEnv["Bindings"] | undefined;
  return bindings?.incoming?.socket;
}

type Named = Pick<BrowserSessions, "cookieName">;

/** Signs the browser in. */
export function giveCookie(c: Context<ControlEnv>, { cookieName }: Named, value: string): void {
  setCookie(c, cookieName, value, { ...cookieOptions(c), maxAge: sessionLifeMs / 1000 });
}

/** @returns its value, for the last time */
export function takeCookie(c: Context<ControlEnv>, { cookieName }: Named): string | undefined {
  const value = getCookie(c, cookieName);
  deleteCookie(c, cookieName, cookieOptions(c));
  return value;
}

function cookieOptions(c: Context<ControlEnv>) {
  const secure = new URL(c.req.url).protocol === "https:" || c.req.header("x-forwarded-proto") === "https";
  return { path: "/", httpOnly: true, sameSite: "Strict", secure } as const;
}
