import { type ClientRequest, type IncomingMessage, request as requestHttp } from "node:http";
import { request as requestHttps } from "node:https";
import type { Socket } from "node:net";
import type { OutboundProxy } from "./outbound-proxy.ts";

/** A proxy that did not do its part. The message names it, without its credentials. */
export class ProxyError extends Error {
  override readonly name = "ProxyError";
}

const keepAliveProbeMs = 60_000;

/** Has a proxy connect to `host:port`. @param done called once, whatever comes */
export function openTunnel(
  proxy: OutboundProxy,
  authority: string,
  timeoutMs: number,
  done: (...outcome: [null, Socket] | [ProxyError, null]) => void,
): void {
  const request = connectRequest(proxy, authority);
  const timer = setTimeout(() => {
    request.destroy(new ProxyError(`The proxy ${proxy.name} made no connection to ${authority} in time.`));
  }, timeoutMs);
  request.once("connect", (response: IncomingMessage, socket: Socket, head: Buffer) => {
    clearTimeout(timer);
    const status = response.statusCode ?? 0;
    if (status < 200 || status > 299) {
      socket.on("error", () => {}).destroy();
      done(refusal(proxy, authority, status), null);
      return;
    }
    if (head.length > 0) socket.unshift(head);
    done(null, socket.setTimeout(0).setNoDelay(true).setKeepAlive(true, keepAliveProbeMs));
  });
  request.once("error", (error) => {
    clearTimeout(timer);
    done(error instanceof ProxyError ? error : unreachable(proxy, error), null);
  });
  request.end();
}

function connectRequest({ origin, authorization }: OutboundProxy, authority: string): ClientRequest {
  const { protocol, hostname, port } = new URL(origin);
  const headers = {
    host: authority,
    ...(authorization === undefined ? {} : { "proxy-authorization": authorization.reveal() }),
  };
  const host = hostname.replace(/^\[|\]$/g, "");
  const options = { host, port, method: "CONNECT", path: authority, headers, agent: false };
  return protocol === "https:" ? requestHttps(options) : requestHttp(options);
}

/** What a proxy's refusal means, in words. */
export function refusal(proxy: OutboundProxy, authority: string, status: number): ProxyError {
  if (status === 407) {
    const wrong =
      proxy.authorization === undefined ? "wants a name and a password" : "refuses the name or the password";
    return new ProxyError(`The proxy ${proxy.name} ${wrong} (407).`);
  }
  return new ProxyError(`The proxy ${proxy.name} made no connection to ${authority} (${status}).`);
}

export function unreachable(proxy: OutboundProxy, cause: unknown): ProxyError {
  const code: unknown = typeof cause === "object" && cause !== null ? Reflect.get(cause, "code") : undefined;
  const why = typeof code === "string" ? ` (${code})` : "";
  return new ProxyError(`The proxy ${proxy.name} cannot be reached${why}.`, { cause });
}
