import { joinPath, type ProviderKind, refusePath, withoutKeyParameter } from "@keywheel/pool";

/** A request line taken apart, byte for byte. */
export interface Target {
  readonly slug: string;
  /** What stands behind the slug, with its leading slash; "" if nothing does. */
  readonly rest: string;
  /** Without "?". */
  readonly query: string;
}

/** Takes a request target apart; undefined if it is not in origin form (RFC 9112 §3.2.1). */
export function parseTarget(url: string): Target | undefined {
  if (!url.startsWith("/")) return undefined;
  const queryAt = url.indexOf("?");
  const path = queryAt === -1 ? url : url.slice(0, queryAt);
  const query = queryAt === -1 ? "" : url.slice(queryAt + 1);
  const slashAt = path.indexOf("/", 1);
  const slug = slashAt === -1 ? path.slice(1) : path.slice(1, slashAt);
  return { slug, rest: slashAt === -1 ? "" : path.slice(slashAt), query };
}

/**
 * Path and query at the provider.
 *
 * @returns what cannot be forwarded, as a sentence, or the path
 */
export function upstreamPath(
  kind: ProviderKind,
  baseUrl: URL,
  target: Target,
): { readonly refused: string } | { readonly path: string; readonly pathOnly: string } {
  const refused = refusePath(target.rest);
  if (refused !== undefined) return { refused };
  const basePath = baseUrl.pathname === "/" ? "" : baseUrl.pathname;
  const pathOnly = joinPath(kind, basePath, target.rest);
  const query = withoutKeyParameter(target.query).replaceAll("#", "%23");
  return { pathOnly, path: query === "" ? pathOnly : `${pathOnly}?${query}` };
}
