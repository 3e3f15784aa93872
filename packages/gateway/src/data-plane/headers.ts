import { accountHeaders, credentialHeaders } from "@keywheel/pool";

/** Headers that concern one connection only (RFC 9110 §7.6.1), and those with which we frame the message anew. */
const hopByHop = [
  "connection",
  "keep-alive",
  "proxy-authenticate",
  "proxy-authorization",
  "proxy-connection",
  "te",
  "trailer",
  "transfer-encoding",
  "upgrade",
];

/** What a client sends that is not the provider's business. */
const notForProviders = new Set([
  ...hopByHop,
  ...credentialHeaders,
  ...accountHeaders,
  "host",
  "content-length",
  "expect",
  "http2-settings",
  // Cookies of this gateway's origin, the operator's sign-in among them (field case 64).
  "cookie",
  // The path from the client to here: it would disclose the client and upsets providers' firewalls (field case 56).
  "forwarded",
  "via",
  "x-real-ip",
  "true-client-ip",
  "x-client-ip",
  "x-cluster-client-ip",
  "x-original-forwarded-for",
  "fastly-client-ip",
  "x-envoy-external-address",
  "cdn-loop",
]);
const notForProvidersPrefixes = ["x-forwarded-", "cf-", "x-keywheel-"];

/**
 * What a browser adds to a call of our own pages. It is about the way from there to here; some providers would refuse a
 * call for it, since it looks to them as if a page of somebody else's held the key.
 */
const ofOurPages = new Set(["origin", "referer", "priority", "dnt", "accept-language"]);
const ofOurPagesPrefixes = ["sec-"];
/** With it, the gateway's own pages say that they call the data plane themselves. It is never forwarded. */
export const ownPageHeader = "x-keywheel-page";

/** What a provider sends about its own origin, which is not the origin that the client sees. */
const notForClients = new Set([
  ...hopByHop,
  "set-cookie",
  "set-cookie2",
  "alt-svc",
  "strict-transport-security",
  "clear-site-data",
  "public-key-pins",
]);
const notForClientsPrefixes = ["access-control-", "x-keywheel-"];

/**
 * The client's headers that go on to the provider: all but credentials, hop-by-hop headers (those named in `connection`
 * too), cookies and traces of the way here. Order, spelling and repetition stay.
 *
 * @param raw flat name, value, name, value
 */
export function requestHeaders(raw: readonly string[]): string[] {
  const kept = filterHeaders(raw, notForProviders, notForProvidersPrefixes);
  return isOfOurPages(raw) ? filterHeaders(kept, ofOurPages, ofOurPagesPrefixes) : kept;
}

/** The provider's headers that go on to the client. */
export function responseHeaders(raw: readonly string[]): string[] {
  return filterHeaders(raw, notForClients, notForClientsPrefixes);
}

function isOfOurPages(raw: readonly string[]): boolean {
  for (let index = 0; index < raw.length; index += 2) {
    const name = raw[index] ?? "";
    if (name.length === ownPageHeader.length && name.toLowerCase() === ownPageHeader) return true;
  }
  return false;
}

/** A request header's value by lower-case name; repeated lines joined with ", ". */
export function headerReader(raw: readonly string[]): (name: string) => string | undefined {
  const values = new Map<string, string>();
  for (let index = 0; index < raw.length; index += 2) {
    const name = (raw[index] ?? "").toLowerCase();
    const value = raw[index + 1] ?? "";
    const before = values.get(name);
    values.set(name, before === undefined ? value : `${before}, ${value}`);
  }
  return (name) => values.get(name);
}

function filterHeaders(raw: readonly string[], dropped: ReadonlySet<string>, prefixes: readonly string[]): string[] {
  const kept: string[] = [];
  let hasNames = false;
  for (let index = 0; index < raw.length; index += 2) {
    const name = raw[index] ?? "";
    const lower = name.toLowerCase();
    if (dropped.has(lower)) {
      hasNames ||= lower === "connection" && namesHeaders(raw[index + 1] ?? "");
      continue;
    }
    if (!beginsWithOne(lower, prefixes)) kept.push(name, raw[index + 1] ?? "");
  }
  return hasNames ? withoutNamed(kept, namedByConnection(raw)) : kept;
}

function beginsWithOne(name: string, prefixes: readonly string[]): boolean {
  for (let index = 0; index < prefixes.length; index++) {
    if (name.startsWith(prefixes[index] ?? name)) return true;
  }
  return false;
}

/** Nearly every `connection` says one of these, which are no headers of the request's own. */
function namesHeaders(connection: string): boolean {
  return connection !== "keep-alive" && connection !== "close" && connection !== "";
}

function withoutNamed(raw: readonly string[], named: ReadonlySet<string> | undefined): string[] {
  return raw.filter((_, index) => named?.has((raw[index - (index % 2)] ?? "").toLowerCase()) !== true);
}

function namedByConnection(raw: readonly string[]): ReadonlySet<string> | undefined {
  let named: Set<string> | undefined;
  for (let index = 0; index < raw.length; index += 2) {
    if (raw[index]?.toLowerCase() !== "connection") continue;
    for (const token of (raw[index + 1] ?? "").toLowerCase().split(",")) {
      named ??= new Set();
      named.add(token.trim());
    }
  }
  // What frames and describes the content may not be taken away by naming it here.
  named?.delete("content-type");
  named?.delete("content-encoding");
  named?.delete("content-length");
  return named;
}
