import { chmodSync } from "node:fs";
import { createServer, type IncomingMessage, type Server, type ServerResponse } from "node:http";
import type { Server as NetServer, Socket } from "node:net";
import type { Duplex } from "node:stream";
import { setTimeout as pause } from "node:timers/promises";
import { isControlPath } from "../../control-plane/doors.ts";
import { failed } from "../exit.ts";
import { Connections } from "./connections.ts";
import { answerClientError, answerConnect, answerUpgrade } from "./raw-answers.ts";
import { type Listed, Roster } from "./roster.ts";

type Handler = (request: IncomingMessage, response: ServerResponse) => void;

/** Who answers. */
export interface Rooms {
  /** Before anything else. @returns false if it has refused the request and answered it */
  readonly admits: (request: IncomingMessage, response: ServerResponse) => boolean;
  readonly control: Handler;
  /** @param expectsContinue the client waits for `100 Continue`, which is for this room to give, or to refuse */
  readonly data: (request: IncomingMessage, response: ServerResponse, expectsContinue: boolean) => void;
  /** The same for requests that ask for a WebSocket. */
  readonly admitsUpgrade: (request: IncomingMessage, socket: Duplex) => boolean;
  /** Settles when the connection that came of it has ended; never rejects. */
  readonly upgrade: (request: IncomingMessage, socket: Duplex, head: Buffer) => Promise<void>;
}

export interface ServerOptions {
  readonly host: string;
  readonly port: number;
  /** Listens there instead, for processes on the same machine; no address then. */
  readonly socketPath?: string;
  /** Connections of clients at once; default: no bound. */
  readonly mostConnections?: number;
}

/** A server that listens. */
export interface RunningServer {
  /** Where clients on this machine reach it. */
  readonly url: string;
  readonly port: number;
  /** Accepts nothing more, lets running requests end, and settles when they have. */
  readonly stop: (patience: Patience) => Promise<{ readonly cutOff: number }>;
  /** Cuts off everything. */
  readonly cut: () => void;
  /** Serves a connection that another process has accepted. */
  readonly take: (socket: Socket) => void;
}

/** How long requests may still run; what has not ended then is cut off. */
export interface Patience {
  readonly graceMs: number;
  /** For those of the control plane, of which a page's event stream would never end. */
  readonly controlMs: number;
}

/** So that a client that vanished without a word is found out, however long its answer is silent. */
const keepAliveProbeMs = 60_000;
/** How long a client may take to say what it wants. */
const headersMs = 30_000;

/** @throws CommandError (1) if the address cannot be had */
export async function startServer(rooms: Rooms, options: ServerOptions): Promise<RunningServer> {
  const connections = new Connections(options.mostConnections ?? Infinity);
  const busy: Busy = { exchanges: new Roster(), connections, upgraded: new Map() };
  let isStopping = false;
  const server = createServer({
    // An upload may take as long as it takes; it is the data plane that watches over it.
    requestTimeout: 0,
    headersTimeout: headersMs,
    connectionsCheckingInterval: 5_000,
    keepAlive: true,
    keepAliveInitialDelay: keepAliveProbeMs,
    // Longer than the 60 s after which load balancers drop an idle connection: they must be the ones to hang up.
    keepAliveTimeout: 75_000,
    maxHeaderSize: 65_536,
    noDelay: true,
    // Java's client, for one, offers `h2c` with every request, which is to be ignored (RFC 9110 §7.8).
    shouldUpgradeCallback: ({ headers }) => headers.upgrade?.trim().toLowerCase() === "websocket",
  });
  const accept = (request: IncomingMessage, response: ServerResponse, expectsContinue: boolean): void => {
    track(busy, request, response);
    if (isStopping || connections.isCrowded) response.shouldKeepAlive = false;
    if (!rooms.admits(request, response)) return;
    if (!isControlPath(request.url ?? "/")) return rooms.data(request, response, expectsContinue);
    if (expectsContinue) response.writeContinue();
    rooms.control(request, response);
  };
  server.on("connection", (socket: Socket) => connections.add(socket));
  server.on("request", (request, response) => accept(request, response, false));
  server.on("checkContinue", (request, response) => accept(request, response, true));
  server.on("upgrade", (request: IncomingMessage, socket: Duplex, head: Buffer) => {
    // From here on it is no HTTP connection, and whoever took it ends it.
    connections.remove(socket);
    socket.on("error", () => socket.destroy());
    if (!rooms.admitsUpgrade(request, socket)) return;
    if (isControlPath(request.url ?? "/")) return answerUpgrade(socket);
    const ended = rooms.upgrade(request, socket, head);
    busy.upgraded.set(socket, ended);
    socket.once("close", () => busy.upgraded.delete(socket));
  });
  server.on("connect", (_request: IncomingMessage, socket: Duplex) => answerConnect(socket));
  server.on("clientError", (error: Error, socket: Duplex) => {
    answerClientError(error, socket, connections.isBusy(socket));
  });

  const port = await listen(server, options);
  return {
    url: urlOf(options.host, port),
    port,
    stop: (patience) => {
      isStopping = true;
      return stop(server, busy, patience);
    },
    cut: () => cutAll(server, busy),
    take: (socket) => {
      // As the server makes those that it accepts itself.
      socket.allowHalfOpen = true;
      socket.setNoDelay(true).setKeepAlive(true, keepAliveProbeMs);
      server.emit("connection", socket);
    },
  };
}

interface Exchange extends Listed {
  readonly socket: Socket;
  readonly response: ServerResponse;
  readonly isControl: boolean;
}

const drainMs = 10;

/** What is under way. */
interface Busy {
  readonly exchanges: Roster<Exchange>;
  /** Those that speak HTTP. */
  readonly connections: Connections;
  /** Those that speak WebSocket, and their ends. */
  readonly upgraded: Map<Duplex, Promise<void>>;
}

function track({ exchanges, connections }: Busy, request: IncomingMessage, response: ServerResponse): void {
  const { socket } = request;
  const exchange = { socket, response, isControl: isControlPath(request.url ?? "/"), place: 0 };
  exchanges.add(exchange);
  connections.began(socket);
  response.once("close", () => {
    exchanges.remove(exchange);
    connections.ended(socket);
  });
}

/** @returns the port; 0 for a socket of this machine's @throws CommandError (1) if the address cannot be had */
export function listen(server: NetServer, { host, port, socketPath }: ServerOptions): Promise<number> {
  return new Promise((resolve, reject) => {
    const where = socketPath === undefined ? { host, port } : { socketPath };
    // Stays: a connection that could not be accepted later is its client's loss, and no reason to end.
    server.on("error", (error: NodeJS.ErrnoException) => reject(failed(reasonOf(error, where), error)));
    server.listen({ ...(socketPath === undefined ? { host, port } : { path: socketPath }), backlog: 1024 }, () => {
      // Its folder keeps others out; like everything there it is its owner's alone.
      if (socketPath !== undefined) chmodSync(socketPath, 0o600);
      const address = server.address();
      resolve(address === null || typeof address === "string" ? 0 : address.port);
    });
  });
}

function reasonOf(
  error: NodeJS.ErrnoException,
  where: { readonly host: string; readonly port: number } | { readonly socketPath: string },
): string {
  if ("socketPath" in where)
    return `The socket ${where.socketPath} cannot be made: ${error.message}. Take a data directory where sockets can be.`;
  const { host, port } = where;
  if (error.code === "EADDRINUSE") {
    const next = Math.min(port + 1, 65_535);
    return `Port ${port} on ${host} is in use, perhaps by another gateway. Stop that one, or start this one with --port ${next} (--port 0 takes a free port).`;
  }
  if (error.code === "EACCES") return `Port ${port} may not be used by this user. Take one above 1023: --port 8787.`;
  if (error.code === "EADDRNOTAVAIL" || error.code === "ENOTFOUND") {
    return `${host} is not an address of this machine. Start with --host 127.0.0.1, or with an address that it has.`;
  }
  return `The gateway cannot listen on ${host}, port ${port}: ${error.message}.`;
}

/** A wildcard address is no address to go to. */
export function urlOf(host: string, port: number): string {
  const reachable = host === "0.0.0.0" ? "127.0.0.1" : host === "::" ? "::1" : host;
  return `http://${reachable.includes(":") ? `[${reachable}]` : reachable}:${port}`;
}

async function stop(
  server: Server,
  busy: Busy,
  { graceMs, controlMs }: Patience,
): Promise<{ readonly cutOff: number }> {
  let cutOff = 0;
  const closed = new Promise<void>((resolve) => server.close(() => resolve()));
  for (const { response } of busy.exchanges.list()) response.shouldKeepAlive = false;
  const timers = [
    setTimeout(() => cutControl(busy), controlMs),
    setTimeout(() => (cutOff = cutAll(server, busy)), graceMs),
    // Node itself waits for a next request on them, and for the first one up to a minute.
    setInterval(() => busy.connections.closeIdle(), 50),
  ];
  await closed;
  await Promise.all(busy.upgraded.values());
  // The server does not count those that it was handed.
  while (busy.connections.size > 0) await pause(drainMs);
  for (const timer of timers) clearTimeout(timer);
  return { cutOff };
}

function cutControl({ exchanges }: Busy): void {
  for (const { isControl, socket } of exchanges.list()) if (isControl) socket.destroy();
}

/** @returns how many of those whose end somebody waits for */
function cutAll(server: Server, { exchanges, upgraded }: Busy): number {
  const count = exchanges.list().filter(({ isControl }) => !isControl).length + upgraded.size;
  server.closeAllConnections();
  for (const socket of upgraded.keys()) socket.destroy();
  return count;
}
