import type { IncomingHttpHeaders } from "node:http";
import { parse } from "hono/utils/cookie";
import type { BrowserSessions } from "./browser-sessions.ts";
import { isOwnOrigin } from "./doors.ts";

/**
 * Whether a call of the data plane is made by the gateway's own pages in a browser that is signed in: such a call needs no
 * gateway token.
 *
 * A cookie alone proves nothing, since the browser adds it to what any page of this host makes it send (`SameSite` does not
 * look at ports). So all of this is asked:
 *
 * - the header, which a page of another origin can send only after a preflight, and the doors answer none with credentials;
 * - that the browser calls it same-origin, where it says so: it does not to an address without TLS beyond loopback;
 * - that the origin is our own, where one is named: an origin of `--allow-origin` shows its own token.
 *
 * A WebSocket of a page carries cookies and cannot carry the header: none is let in here.
 *
 * @param ownPageHeader the name of that header, in lower case
 * @see contract §2 `unauthorized`, §5
 */
export function isOwnPage(
  headers: IncomingHttpHeaders,
  browsers: Pick<BrowserSessions, "cookieName" | "isValid">,
  ownPageHeader: string,
): boolean {
  const { host = "", origin, cookie, upgrade, "sec-fetch-site": site } = headers;
  if (headers[ownPageHeader] === undefined || upgrade !== undefined || cookie === undefined) return false;
  if (site !== undefined && site !== "same-origin") return false;
  if (origin !== undefined && !isOwnOrigin(origin, host)) return false;
  const value = parse(cookie, browsers.cookieName)[browsers.cookieName];
  return value !== undefined && browsers.isValid(value);
}
