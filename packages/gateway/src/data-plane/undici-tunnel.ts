import { buildConnector } from "undici";
import type { OutboundProxy } from "./outbound-proxy.ts";
import { openTunnel } from "./outbound-proxy-tunnel.ts";

/**
 * Connects to a host through a proxy's tunnel (RFC 9110 §9.3.6), and with TLS inside it where the provider is on https:
 * the proxy sees names and sizes, no keys.
 *
 * undici's own `ProxyAgent` is not used: it puts the headers of a request into a record, which loses those that come twice
 * (`anthropic-beta`), and waits for a proxy that says nothing up to five minutes.
 *
 * @param timeoutMs for the tunnel, and again for TLS inside it
 */
export function createTunnelConnector(proxy: OutboundProxy, timeoutMs: number): buildConnector.connector {
  const secure = buildConnector({ timeout: timeoutMs, allowH2: false });
  return (options, callback) => {
    const { protocol, hostname, port } = options;
    const host = hostname.includes(":") ? `[${hostname}]` : hostname;
    const authority = `${host}:${port === "" ? (protocol === "https:" ? "443" : "80") : port}`;
    openTunnel(proxy, authority, timeoutMs, (error, socket) => {
      if (error !== null) callback(error, null);
      else if (protocol === "https:") secure({ ...options, httpSocket: socket }, callback);
      else callback(null, socket);
    });
  };
}
