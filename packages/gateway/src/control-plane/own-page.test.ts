import type { IncomingHttpHeaders } from "node:http";
import { expect, it } from "vitest";
import { ownPageHeader } from "../data-plane/headers.ts";
import { isOwnPage } from "./own-page.ts";

const browsers = { cookieName: "keywheel_session_1a2b3c4d", isValid: (cookie: string) => cookie === "right" };
const own: IncomingHttpHeaders = {
  host: "127.0.0.1:8787",
  cookie: "keywheel_session_1a2b3c4d=right",
  origin: "http://127.0.0.1:8787",
  "sec-fetch-site": "same-origin",
  "x-keywheel-page": "chat",
};

it.each<[what: string, headers: IncomingHttpHeaders]>([
  ["a call of ours", own],
  ["a GET, to which browsers add no origin", { ...own, origin: undefined }],
  ["without TLS beyond loopback, where browsers say nothing of the site", { ...own, "sec-fetch-site": undefined }],
  ["with other cookies beside", { ...own, cookie: "a=1; keywheel_session_1a2b3c4d=right; b=2" }],
])("lets in %s", (_, headers) => {
  expect(isOwnPage(headers, browsers, ownPageHeader)).toBe(true);
});

it.each<[what: string, headers: IncomingHttpHeaders]>([
  ["no cookie", { ...own, cookie: undefined }],
  ["another cookie", { ...own, cookie: "keywheel_session_1a2b3c4d=wrong" }],
  ["the cookie of another gateway on this host", { ...own, cookie: "keywheel_session_5e6f7a8b=right" }],
  ["a cookie of a like name", { ...own, cookie: "xkeywheel_session_1a2b3c4d=right" }],
  ["the cookie alone, as a form or an image of any page sends it", { ...own, "x-keywheel-page": undefined }],
  ["a page on another port of this host", { ...own, origin: "http://127.0.0.1:9999", "sec-fetch-site": "same-site" }],
  ["that page, asking for an image", { ...own, origin: undefined, "sec-fetch-site": "same-site" }],
  ["another site", { ...own, origin: "https://evil.example", "sec-fetch-site": "cross-site" }],
  [
    "another site, in a browser that says no more",
    { ...own, origin: "https://evil.example", "sec-fetch-site": undefined },
  ],
  ["an origin that hides", { ...own, origin: "null" }],
  ["an address that a person typed", { ...own, origin: undefined, "sec-fetch-site": "none" }],
  ["a connection that is to be a WebSocket", { ...own, upgrade: "websocket" }],
])("refuses %s", (_, headers) => {
  expect(isOwnPage(headers, browsers, ownPageHeader)).toBe(false);
});
