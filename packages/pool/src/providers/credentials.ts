import type { Secret } from "../ports/secrets.ts";
import type { ProviderKind } from "./kinds.ts";

/** Header names under which SDKs send a key. None of them is ever forwarded as it came. */
export const credentialHeaders: ReadonlySet<string> = new Set([
  "authorization",
  "x-api-key",
  "api-key",
  "x-goog-api-key",
]);

/**
 * Headers that select whose account is billed; the pool's key decides that (field case 57). The SDK of OpenAI takes them from
 * the environment by itself.
 */
export const accountHeaders: ReadonlySet<string> = new Set(["openai-organization", "openai-project"]);

const subprotocolPrefix = "openai-insecure-api-key.";

/**
 * The credentials that a client sent, in every place where an SDK may put one: each is a candidate for a gateway token.
 *
 * @param header a header's value by lower-case name
 * @param query  the raw query string without "?"
 * @see contract §2, "The client's own credential, wherever its SDK puts it"
 */
export function clientCredentials(header: (name: string) => string | undefined, query: string): string[] {
  const found: string[] = [];
  const take = (value: string | undefined): void => {
    const trimmed = value?.trim();
    if (trimmed !== undefined && trimmed !== "") found.push(trimmed);
  };
  take(bearer(header("authorization")));
  take(header("x-api-key"));
  take(header("api-key"));
  take(header("x-goog-api-key"));
  if (query !== "") for (const pair of query.split("&")) take(keyParameter(pair));
  const protocols = header("sec-websocket-protocol");
  if (protocols !== undefined) for (const item of protocols.split(",")) take(subprotocolKey(item));
  return found;
}

/** The query without a `key` parameter; every other parameter stays byte for byte where it was. */
export function withoutKeyParameter(query: string): string {
  if (!/(^|&)key(=|&|$)/i.test(query) && !query.includes("%")) return query;
  return query
    .split("&")
    .filter((pair) => !isKeyParameter(pair))
    .join("&");
}

/** The items of a WebSocket subprotocol list without those that carry a key. */
export function withoutKeySubprotocols(list: string): string[] {
  return list
    .split(",")
    .map((item) => item.trim())
    .filter((item) => item !== "" && !item.startsWith(subprotocolPrefix));
}

/**
 * Where the provider wants its key: name and value of the one header that carries it.
 *
 * @param path path at the provider, which decides for Gemini: its OpenAI-compatible surface takes a bearer token
 * @see reference "Addresses and authentication"; field case 58 (Anthropic's OAuth tokens are bearer tokens)
 */
export function credentialFor(
  kind: ProviderKind,
  secret: Secret,
  path: string,
): readonly [name: string, value: string] {
  const value = secret.reveal();
  switch (kind) {
    case "anthropic":
      return value.startsWith("sk-ant-oat") ? ["authorization", `Bearer ${value}`] : ["x-api-key", value];
    case "gemini":
      return /\/openai(\/|$)/.test(path) ? ["authorization", `Bearer ${value}`] : ["x-goog-api-key", value];
    case "azure-openai":
      return ["api-key", value];
    case "openai":
    case "openai-compatible":
      return ["authorization", `Bearer ${value}`];
  }
}

function bearer(value: string | undefined): string | undefined {
  return value === undefined ? undefined : value.replace(/^(bearer|basic|token)\s+/i, "");
}

function isKeyParameter(pair: string): boolean {
  const name = pair.split("=", 1)[0] ?? "";
  return name === "key" || decodeSafely(name) === "key";
}

function keyParameter(pair: string): string | undefined {
  return isKeyParameter(pair) ? decodeSafely(pair.slice(pair.indexOf("=") + 1)) : undefined;
}

function subprotocolKey(item: string): string | undefined {
  const name = item.trim();
  return name.startsWith(subprotocolPrefix) ? name.slice(subprotocolPrefix.length) : undefined;
}

function decodeSafely(text: string): string {
  try {
    return decodeURIComponent(text);
  } catch {
    // A malformed escape is no credential of ours; the text stands for itself.
    return text;
  }
}
