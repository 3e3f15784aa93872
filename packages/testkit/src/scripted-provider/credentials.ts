/** Where a provider wants its key. */
export type CredentialPlace = "bearer" | "x-api-key" | "api-key" | "x-goog-api-key" | "none";

export interface Examination {
  /** The credential in the right place; undefined if it is not there exactly once. */
  readonly key: string | undefined;
  /** What a strict provider, or the owner of the client's credentials, objects to. */
  readonly faults: readonly string[];
}

const keyHeaders = ["x-api-key", "api-key", "x-goog-api-key"] as const;
const foreignHeaders = ["cookie", "proxy-authorization", "x-auth-token"];
const queryNames = ["key", "api_key", "api-key", "access_token"];
/** What only a gateway's own tokens look like; a vendor must never see one, wherever it stands. */
const gatewayToken = /\bkwa?_[\w-]{6,}/;

/**
 * Looks for credentials everywhere that clients put them.
 *
 * A key counts only where the dialect wants it. Anything else (a second credential, one in the query, a cookie, a header
 * meant for the gateway, a gateway token anywhere in the head) is a fault: to a real provider it would mean a leak, an
 * odd 401, or a bill on another account.
 */
export function examine(place: CredentialPlace, url: string, rawHeaders: readonly string[]): Examination {
  const shown: { readonly place: string; readonly value: string }[] = [];
  const faults: string[] = [];

  for (const [name, value] of pairs(rawHeaders)) {
    if (name === "authorization") shown.push(fromAuthorization(value));
    else if (keyHeaders.some((header) => header === name)) shown.push({ place: name, value });
    else if (name === "sec-websocket-protocol" && value.includes("openai-insecure-api-key")) {
      shown.push({ place: "subprotocol", value: "" });
    } else if (foreignHeaders.includes(name) || name.startsWith("x-keywheel-")) faults.push(`header ${name}`);
    if (gatewayToken.test(value)) faults.push(`gateway token in header ${name}`);
  }

  const query = new URLSearchParams(url.split("?").slice(1).join("?"));
  for (const name of queryNames)
    if (query.has(name)) shown.push({ place: `query ${name}`, value: query.get(name) ?? "" });
  if (gatewayToken.test(decodeURIComponentSafely(url))) faults.push("gateway token in the url");

  const right = shown.filter((credential) => credential.place === place);
  for (const { place: other } of shown) if (other !== place) faults.push(`credential in ${other}`);
  if (right.length > 1) faults.push(`${right.length} credentials in ${place}`);
  return { key: right.length === 1 ? right[0]?.value : undefined, faults };
}

function fromAuthorization(value: string): { place: string; value: string } {
  const match = /^Bearer +(\S+)$/i.exec(value);
  return match?.[1] === undefined ? { place: "authorization", value } : { place: "bearer", value: match[1] };
}

function* pairs(rawHeaders: readonly string[]): Generator<[name: string, value: string]> {
  for (let at = 0; at + 1 < rawHeaders.length; at += 2) {
    yield [(rawHeaders[at] ?? "").toLowerCase(), rawHeaders[at + 1] ?? ""];
  }
}

function decodeURIComponentSafely(text: string): string {
  try {
    return decodeURIComponent(text);
  } catch {
    // A target with a stray percent sign is looked at as it stands.
    return text;
  }
}
