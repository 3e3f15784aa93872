import type { OutboundProxies, OutboundProxy } from "./outbound-proxy.ts";

/** How a request gets to its provider. */
export type UpstreamRoute =
  | { readonly way: "direct"; readonly proxy?: undefined }
  /** Through a proxy's tunnel. */
  | { readonly way: "tunnel"; readonly proxy: OutboundProxy }
  /** As a request to the proxy, which sends it on (RFC 9112 §3.2.2): what curl does on plain http. */
  | { readonly way: "forward"; readonly proxy: OutboundProxy };

export function routeTo(
  origin: string,
  upgrade: string | undefined,
  proxies: OutboundProxies | undefined,
): UpstreamRoute {
  const proxy = proxies?.proxyFor(origin);
  if (proxy === undefined) return { way: "direct" };
  const isForwardable = origin.startsWith("http:") && proxy.origin.startsWith("http:") && upgrade === undefined;
  return { way: isForwardable ? "forward" : "tunnel", proxy };
}

/** Whether a forwarding proxy answered itself: a key must not be judged by that (RFC 9110 §15.5.8, RFC 9209 §2.1.1). */
export function isProxysOwn(status: number, rawHeaders: readonly string[]): boolean {
  if (status === 407) return true;
  if (status < 400) return false;
  return rawHeaders.some((name, index) => {
    if (index % 2 !== 0) return false;
    const lower = name.toLowerCase();
    return lower === "x-squid-error" || (lower === "proxy-status" && /;\s*error=/.test(rawHeaders[index + 1] ?? ""));
  });
}
