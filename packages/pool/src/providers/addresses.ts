import type { ProviderKind } from "./kinds.ts";

const versionSegment = /^v\d+[a-z0-9]*$/;

/**
 * The path of the provider that a client's path stands for.
 *
 * Clients disagree on whether the version belongs to the base URL. A client's path that repeats the base path, or begins
 * with the base's last segment where that is a version, is not doubled; segments are compared whole (`/v10` and `/v1beta`
 * are not `/v1`).
 *
 * @param basePath path of the provider's base URL, without a trailing slash ("" or "/v1" or "/api/paas/v4")
 * @param rest     what the client asked for behind the provider's slug, as it came: "" or "/chat/completions"
 * @returns a path that begins with a slash and has no doubled slash where the two meet
 * @see contract §2, "No doubled or missing slash, no doubled version segment"
 */
export function joinPath(kind: ProviderKind, basePath: string, rest: string): string {
  const base = basePath.replace(/\/+$/, "");
  const wanted = `/${rest.replace(/^\/+/, "")}`;
  const own = kind === "gemini" ? joinGemini(base, wanted) : undefined;
  if (own !== undefined) return own;
  const shared = sharedPrefix(kind, base, wanted);
  const joined = base + (shared === "" ? wanted : wanted.slice(shared.length));
  if (wanted === "/") return base === "" ? "/" : base;
  return joined === "" ? "/" : joined;
}

/** The part of the client's path that the base path has already: the whole of it, or its last segment. */
function sharedPrefix(kind: ProviderKind, base: string, wanted: string): string {
  const last = base.slice(base.lastIndexOf("/") + 1);
  if (!isRepeatable(kind, last)) return "";
  return [base, `/${last}`].find((prefix) => wanted === prefix || wanted.startsWith(`${prefix}/`)) ?? "";
}

/** Azure's SDK adds `/openai` to the endpoint it is given, as others add a version. */
function isRepeatable(kind: ProviderKind, segment: string): boolean {
  return versionSegment.test(segment) || (kind === "azure-openai" && segment === "openai");
}

/**
 * Gemini's clients name the version themselves, and uploads, downloads and live connections stand beside it
 * (`/upload/v1beta/files`, `/ws/…`): these paths count from the root of the service.
 */
function joinGemini(base: string, wanted: string): string | undefined {
  const last = base.slice(base.lastIndexOf("/") + 1);
  if (!versionSegment.test(last)) return undefined;
  const first = wanted.split("/", 2)[1] ?? "";
  const fromRoot = versionSegment.test(first) || first === "upload" || first === "download" || first === "ws";
  return fromRoot ? base.slice(0, base.length - last.length - 1) + wanted : undefined;
}

/**
 * Why a client's path must not be forwarded, or undefined if it may.
 *
 * Whatever a server behind might make of it (decoding once or twice, backslashes as slashes), no segment may come out as
 * `.` or `..`: the base path is the fence.
 *
 * @param path as it stands in the request line, without the query
 * @see contract §5, "Encoded or relative path segments never leave the provider's base path"
 */
export function refusePath(path: string): string | undefined {
  if (isPlain(path)) return undefined;
  if (path.includes("\\")) return "The path contains a backslash.";
  if (/[^\x21-\x7e]/.test(path)) return "The path contains a character that must be percent-encoded.";
  let text = path;
  for (let round = 0; round < 3; round++) {
    if (text.split(/[/\\]/).some((segment) => segment === "." || segment === "..")) {
      return "The path contains a relative segment (`.` or `..`, perhaps percent-encoded).";
    }
    text = decodeOnce(text);
  }
  return undefined;
}

const slash = 0x2f;
const dot = 0x2e;

/** Whether nothing in it asks for a second look: visible ASCII, no escape, no backslash, no segment that begins with a dot. */
function isPlain(path: string): boolean {
  let before = slash;
  for (let at = 0; at < path.length; at++) {
    const unit = path.charCodeAt(at);
    if (unit < 0x21 || unit > 0x7e || unit === 0x25 || unit === 0x5c || (unit === dot && before === slash))
      return false;
    before = unit;
  }
  return true;
}

/** Undoes percent-encoding of the characters that matter to a path's structure: dot, slash, backslash, percent. */
function decodeOnce(text: string): string {
  return text.replace(/%(2e|2f|5c|25)/gi, (_, hex: string) => String.fromCharCode(Number.parseInt(hex, 16)));
}
