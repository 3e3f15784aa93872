import type { IncomingMessage, ServerResponse } from "node:http";
import { BlockList, isIP } from "node:net";
import { errorTable } from "@keywheel/pool";
import { toProblem } from "../contract/to-problem.ts";

/** Whom the doors let in. */
export interface DoorPolicy {
  /** The address that the server is bound to (`--host`). */
  readonly boundHost: string;
  /** `--allow-host`: names, with a port if only that one is meant. */
  readonly allowHosts: readonly string[];
  /** `--allow-origin`: origins that may use the data plane from a browser. */
  readonly allowOrigins: readonly string[];
}

/** A request as the doors see it. */
export interface Visitor {
  readonly method: string;
  /** The path as it came, escapes and query included. */
  readonly url: string;
  readonly headers: Readonly<Record<string, string | string[] | undefined>>;
  /** The address of ours that the connection came to: behind a wildcard bind, it is the bound address. */
  readonly localAddress?: string | undefined;
}

export type DoorVerdict =
  /** `headers` go on the answer, whoever makes it. */
  | { readonly kind: "pass"; readonly headers: Readonly<Record<string, string>> }
  /** Answered with 204 and these headers; a browser asks before the request proper, without credentials. */
  | { readonly kind: "preflight"; readonly headers: Readonly<Record<string, string>> }
  | {
      readonly kind: "refuse";
      readonly code: "misdirected" | "forbidden";
      readonly message: string;
      readonly hint: string;
    };

/** First segments of the paths that belong to the control plane; all others are slugs. */
export const controlSegments: ReadonlySet<string> = new Set([
  "",
  "api",
  "ui",
  "healthz",
  "readyz",
  "metrics",
  "favicon.ico",
  "robots.txt",
]);

/** Whether a path is the control plane's, by its first segment as it stands, escapes included. */
export function isControlPath(url: string): boolean {
  // `http://elsewhere/api` and `*` are targets of proxies and servers, not paths.
  if (!url.startsWith("/")) return false;
  let end = 1;
  while (end < url.length && end <= longestControlSegment + 1 && !segmentEnds.has(url.charCodeAt(end))) end++;
  return controlSegments.has(url.slice(1, end));
}

const longestControlSegment = Math.max(...Array.from(controlSegments, (segment) => segment.length));
const segmentEnds: ReadonlySet<number> = new Set(Array.from("/?#", (character) => character.charCodeAt(0)));

/**
 * Whether a request may come in at all, before anything looks at what it wants.
 *
 * A page of any site can make its visitor's browser call an address on loopback: by a name that resolves there (`Host`
 * tells), or openly from another origin (`Origin`, `Sec-Fetch-Site` tell). Programs send none of these.
 *
 * @see contract §5
 */
export function judgeVisitor(visitor: Visitor, policy: DoorPolicy): DoorVerdict {
  const host = headerOf(visitor, "host");
  if (host === undefined || !isKnownAsOwn(host, visitor.localAddress, policy)) {
    const message = host === undefined ? "The request names no host" : `This gateway is not known as ${shown(host)}`;
    return { kind: "refuse", code: "misdirected", message, hint: errorTable.misdirected.hint };
  }
  const origin = headerOf(visitor, "origin");
  const isControl = isControlPath(visitor.url);
  if (origin !== undefined && !isOwnOrigin(origin, host)) {
    const isAllowed = !isControl && policy.allowOrigins.some((allowed) => sameOriginText(allowed, origin));
    return isAllowed ? welcome(visitor, origin) : refuseOrigin(origin, isControl);
  }
  // A picture or a link of another page brings no `Origin`. It may show the control plane's pages, but spend no key.
  const site = headerOf(visitor, "sec-fetch-site");
  const isForeign = site === "cross-site" || site === "same-site";
  if (isForeign && (!isControl || isWrite(visitor.method))) return refuseOrigin(origin ?? "another site", isControl);
  return { kind: "pass", headers: {} };
}

/**
 * Asks the doors and answers for them.
 *
 * @returns false if the request was refused, or was a preflight, and is answered
 */
export function admit(request: IncomingMessage, response: ServerResponse, policy: DoorPolicy): boolean {
  const { method = "GET", url = "/", headers, socket } = request;
  const verdict = judgeVisitor({ method, url, headers, localAddress: socket.localAddress }, policy);
  if (verdict.kind === "pass") {
    for (const [name, value] of Object.entries(verdict.headers)) response.setHeader(name, value);
    return true;
  }
  if (verdict.kind === "preflight") {
    response.writeHead(204, verdict.headers).end();
    return false;
  }
  const body = refusalBody(verdict);
  response.writeHead(body.status, {
    "content-type": "application/problem+json",
    "content-length": Buffer.byteLength(body.text),
    "x-keywheel-error": verdict.code,
    // What the request still sends is not read: the next one would be looked for in the middle of it.
    connection: "close",
  });
  response.end(method === "HEAD" ? undefined : body.text);
  return false;
}

/** The answer to a refused visitor, also for a socket that was to be upgraded. */
export function refusalBody(verdict: DoorVerdict & { kind: "refuse" }): {
  readonly status: number;
  readonly text: string;
} {
  const { code, message, hint } = verdict;
  const { status } = errorTable[code];
  return { status, text: JSON.stringify(toProblem({ code, status, message, hint, details: [] })) };
}

export interface BindQuestion {
  readonly host: string;
  /** `--require-token`, or a token exists, which makes such a bind require them. */
  readonly requiresToken: boolean;
  readonly hasAdminToken: boolean;
}

/** Why the gateway must not be bound to an address, as a sentence that says what to do; undefined if it may. */
export function checkBind({ host, requiresToken, hasAdminToken }: BindQuestion): string | undefined {
  if (isLoopback(host)) return undefined;
  const reach = `On ${host} this gateway can be reached from other machines`;
  if (!requiresToken) {
    return (
      `${reach}, and whoever reaches it could use your keys. Make a token for your clients first ` +
      "(keywheel token create), or start with --require-token, or leave out --host to stay on 127.0.0.1."
    );
  }
  if (!hasAdminToken) {
    return `${reach}, but no admin token is set. Set KEYWHEEL_ADMIN_TOKEN, or leave out --host to stay on 127.0.0.1.`;
  }
  return undefined;
}

const loopback = new BlockList();
loopback.addSubnet("127.0.0.0", 8, "ipv4");
loopback.addAddress("::1", "ipv6");

/** Whether a name or address means this machine alone. */
export function isLoopback(host: string): boolean {
  const name = bareName(host);
  if (name === "localhost" || name.endsWith(".localhost")) return true;
  const family = isIP(name);
  return family !== 0 && loopback.check(name, family === 4 ? "ipv4" : "ipv6");
}

/** What was said of the last hosts, by what it was said of: nearly all requests name the same one or two. */
const ownHosts = new WeakMap<DoorPolicy, Map<string, boolean>>();
const mostOwnHosts = 100;

function isKnownAsOwn(host: string, localAddress: string | undefined, policy: DoorPolicy): boolean {
  const known = ownHosts.get(policy) ?? new Map<string, boolean>();
  ownHosts.set(policy, known);
  const place = `${localAddress} ${host}`;
  const before = known.get(place);
  if (before !== undefined) return before;
  if (known.size >= mostOwnHosts) known.clear();
  const isOwn = isOwnHost(host, localAddress, policy);
  known.set(place, isOwn);
  return isOwn;
}

function isOwnHost(host: string, localAddress: string | undefined, { boundHost, allowHosts }: DoorPolicy): boolean {
  const named = splitHost(host);
  if (named === undefined) return false;
  const name = bareName(named.name);
  if (isLoopback(name) || name === bareName(boundHost)) return true;
  // An address, unlike a name, cannot be made to point elsewhere.
  if (localAddress !== undefined && isIP(name) !== 0 && name === bareName(localAddress)) return true;
  return allowHosts.some((allowed) => {
    const other = splitHost(allowed);
    return other !== undefined && bareName(other.name) === name && (other.port === "" || other.port === named.port);
  });
}

/** Own is what is served under the very host that was asked for, by http, or by https before a proxy. */
export function isOwnOrigin(origin: string, host: string): boolean {
  const url = URL.parse(origin);
  if (url === null || (url.protocol !== "http:" && url.protocol !== "https:") || url.origin !== origin) return false;
  return URL.parse(`${url.protocol}//${host}`)?.origin === origin;
}

function sameOriginText(allowed: string, origin: string): boolean {
  return allowed === origin || URL.parse(allowed)?.origin === origin;
}

/** CORS for an origin that the operator named (Fetch standard §3.2). Credentials are none of it: cookies are the pages' own. */
function welcome(visitor: Visitor, origin: string): DoorVerdict {
  const common = { "access-control-allow-origin": origin, vary: "Origin" };
  const method = headerOf(visitor, "access-control-request-method");
  if (visitor.method !== "OPTIONS" || method === undefined) {
    return { kind: "pass", headers: { ...common, "access-control-expose-headers": "*" } };
  }
  const asked = headerOf(visitor, "access-control-request-headers");
  const isPrivate = headerOf(visitor, "access-control-request-private-network") === "true";
  const headers = {
    ...common,
    vary: "Origin, Access-Control-Request-Method, Access-Control-Request-Headers",
    "access-control-allow-methods": method,
    ...(asked === undefined ? {} : { "access-control-allow-headers": asked }),
    ...(isPrivate ? { "access-control-allow-private-network": "true" } : {}),
    "access-control-max-age": "600",
  };
  return { kind: "preflight", headers };
}

function refuseOrigin(origin: string, isControl: boolean): DoorVerdict {
  const message = `Requests from ${shown(origin)} are not let in`;
  const hint = isControl
    ? "Pages of other sites never reach /api and /ui; call them from a program, or from the gateway's own pages."
    : "If that page is meant to use this gateway, start it with `--allow-origin` and the page's origin.";
  return { kind: "refuse", code: "forbidden", message, hint };
}

function isWrite(method: string): boolean {
  return method !== "GET" && method !== "HEAD" && method !== "OPTIONS";
}

function headerOf({ headers }: Visitor, name: string): string | undefined {
  const value = headers[name];
  return Array.isArray(value) ? value.join(", ") : value;
}

/** `name`, `name:port`, `[address]:port`; nothing else is a host. */
function splitHost(host: string): { readonly name: string; readonly port: string } | undefined {
  const match = /^(\[[0-9a-f:.]+\]|[0-9a-z._-]+)(?::(\d{1,5}))?$/i.exec(host.trim());
  if (match) return { name: match[1] ?? "", port: match[2] ?? "" };
  return isIP(host) === 6 ? { name: host, port: "" } : undefined;
}

/** Lower case, without brackets, zone, the root's dot and the IPv4-mapped prefix; addresses in one spelling. */
function bareName(host: string): string {
  const name = host
    .toLowerCase()
    .replace(/^\[|\]$/g, "")
    .replace(/%.*$/, "")
    .replace(/\.$/, "");
  if (isIP(name) !== 6) return name;
  const spelled = URL.parse(`http://[${name}]/`)?.hostname.slice(1, -1) ?? name;
  const mapped = /^::ffff:([0-9a-f]{1,4}):([0-9a-f]{1,4})$/.exec(spelled);
  if (!mapped) return spelled;
  const [high, low] = [Number.parseInt(mapped[1] ?? "", 16), Number.parseInt(mapped[2] ?? "", 16)];
  return [high >> 8, high & 255, low >> 8, low & 255].join(".");
}

function shown(text: string): string {
  return text.length > 100 ? `${text.slice(0, 100)}…` : text;
}
