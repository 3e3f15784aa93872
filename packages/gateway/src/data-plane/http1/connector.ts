import { connect as connectTcp, isIP, type LookupFunction, type Socket } from "node:net";
import { connect as connectTls, type TLSSocket } from "node:tls";
import type { OutboundProxy } from "../outbound-proxy.ts";
import { openTunnel } from "../outbound-proxy-tunnel.ts";
import { Http1Error } from "./http1-error.ts";

/** Called back once. */
export type Connected = (...outcome: [null, Socket] | [Error, null]) => void;
/** Makes a connection to one origin. @returns how to give it up; nobody is called back then */
export type Connector = (done: Connected) => () => void;

export interface ConnectorOptions {
  /** Of the origin to which the connection goes. */
  readonly url: URL;
  readonly connectMs: number;
  /** Default: as the system does. */
  readonly lookup?: LookupFunction | undefined;
  /** Through whose tunnel; default: directly. */
  readonly tunnel?: OutboundProxy | undefined;
}

const keepAliveProbeMs = 60_000;
const defaultPorts: Readonly<Record<string, number>> = { "http:": 80, "https:": 443 };

/** How connections to an origin are made: over TLS where it is on https, whose sessions are taken up again. */
export function createConnector({ url, connectMs, lookup, tunnel }: ConnectorOptions): Connector {
  const host = url.hostname.replace(/^\[|\]$/g, "");
  const port = Number(url.port) || (defaultPorts[url.protocol] ?? 0);
  const tcp = {
    host,
    port,
    noDelay: true,
    keepAlive: true,
    keepAliveInitialDelay: keepAliveProbeMs,
    ...(lookup && { lookup }),
  };
  let session: Buffer | undefined;
  const secure = (socket?: Socket): TLSSocket => {
    const way = socket === undefined ? tcp : { host, socket };
    const name = isIP(host) === 0 ? { servername: host } : {};
    const tls = connectTls({ ...way, ...name, ALPNProtocols: ["http/1.1"], ...(session && { session }) });
    return tls.on("session", (latest) => (session = latest));
  };
  const isSecure = url.protocol === "https:";
  if (tunnel === undefined)
    return (done) =>
      isSecure
        ? settled(secure(), "secureConnect", connectMs, done)
        : settled(connectTcp(tcp), "connect", connectMs, done);
  return (done) => {
    let giveUp = (): void => void (isGivenUp = true);
    let isGivenUp = false;
    openTunnel(tunnel, `${url.hostname}:${port}`, connectMs, (error, socket) => {
      if (isGivenUp) socket?.on("error", () => {}).destroy();
      else if (error !== null) done(error, null);
      else if (isSecure) giveUp = settled(secure(socket), "secureConnect", connectMs, done);
      else done(null, socket);
    });
    return () => giveUp();
  };
}

/** Waits for a connection to be made. */
function settled(socket: Socket, event: "connect" | "secureConnect", timeoutMs: number, done: Connected): () => void {
  let isOver = false;
  const stop = (): void => {
    isOver = true;
    clearTimeout(timer);
    socket.off(event, onConnect).off("error", onError).off("close", onClose);
  };
  const drop = (): void => {
    stop();
    // What is still said of it is of no interest any more.
    socket.on("error", () => {}).destroy();
  };
  const fail = (error: Error): void => {
    drop();
    done(error, null);
  };
  const onConnect = (): void => {
    const protocol: unknown = "alpnProtocol" in socket ? socket.alpnProtocol : false;
    if (typeof protocol === "string" && protocol !== "http/1.1")
      return fail(new Http1Error("HTTP1_BAD_ANSWER", `The provider speaks ${protocol}, which was not offered to it.`));
    stop();
    done(null, socket);
  };
  const onError = (error: Error): void => fail(timedOut(error) ? connectTimeout(error) : error);
  const onClose = (): void => fail(new Http1Error("HTTP1_CLOSED", "The connection was closed as it was made."));
  // When a machine has slept, timers are due before what came meanwhile was seen: that has its turn first.
  const timer = setTimeout(() => {
    setImmediate(() => {
      if (!isOver) fail(connectTimeout());
    });
  }, timeoutMs);
  socket.once(event, onConnect).on("error", onError).on("close", onClose);
  return drop;
}

/** The system's patience may end before ours does, at one of several addresses or at all. */
function timedOut(error: Error): boolean {
  const codes = error instanceof AggregateError ? [error, ...(error.errors as unknown[])] : [];
  return codes.some((one) => typeof one === "object" && one !== null && Reflect.get(one, "code") === "ETIMEDOUT");
}

function connectTimeout(cause?: Error): Http1Error {
  return new Http1Error("HTTP1_CONNECT_TIMEOUT", "No connection was made in time.", { cause });
}
