import { type IncomingMessage, ServerResponse } from "node:http";
import { Socket } from "node:net";
import type { Duplex } from "node:stream";

/**
 * What is taken of a client before it is told whether it may speak: it must not, by RFC 6455 §4.1; some do. The rest waits
 * in its connection, where its leaving is then not noticed either.
 */
const earlyBytesLimit = 64 * 1024;
/** How long a refused client may take to read the refusal and to close. */
const lingerMs = 5_000;
const keepAliveProbeMs = 60_000;

/**
 * A client's connection while it waits for an upgrade.
 *
 * HTTP is still spoken on it: `response` answers like that of any request, and closes when the client leaves. The
 * connection is read meanwhile, for without that nobody would notice that the client has left.
 */
export class UpgradeClient {
  readonly response: ServerResponse;
  readonly #socket: Duplex;
  readonly #early: Buffer[] = [];
  #earlyBytes = 0;
  #isRefused = false;

  /** @param head what came behind the request's head */
  constructor(request: IncomingMessage, socket: Duplex, head: Buffer) {
    this.#socket = socket;
    this.#hold(head);
    this.response = new ServerResponse(request);
    this.response.shouldKeepAlive = false;
    if (socket instanceof Socket) {
      // What Node's server set for a request does not hold for a connection that may be silent for hours; that its
      // other end is still there, TCP finds out.
      socket.setTimeout(0).setNoDelay(true).setKeepAlive(true, keepAliveProbeMs);
      this.#assign(socket);
    }
    this.response.on("finish", this.#hangUp);
    socket.on("data", this.#hold).on("end", this.#leave).on("drain", this.#drained);
  }

  /** Takes the connection out of HTTP. @returns it, paused, and what the client has sent already */
  take(): { readonly socket: Duplex; readonly early: readonly Buffer[] } {
    const socket = this.#socket;
    socket.pause().off("data", this.#hold).off("end", this.#leave).off("drain", this.#drained);
    if (socket instanceof Socket) this.response.detachSocket(socket);
    return { socket, early: this.#early };
  }

  #assign(socket: Socket): void {
    try {
      this.response.assignSocket(socket);
    } catch {
      // It came behind a request whose answer is still under way; what were written here would stand in the middle of it.
      socket.once("close", () => this.response.destroy()).destroy();
    }
  }

  readonly #hold = (chunk: Buffer): void => {
    if (this.#isRefused || chunk.length === 0) return;
    this.#early.push(chunk);
    this.#earlyBytes += chunk.length;
    if (this.#earlyBytes > earlyBytesLimit) this.#socket.pause();
  };

  /** As with any request: who closes its side does not wait for an answer. */
  readonly #leave = (): void => {
    this.#socket.destroy();
  };

  /** Node's server tells a response of this only on connections that it reads itself. */
  readonly #drained = (): void => {
    this.response.emit("drain");
  };

  readonly #hangUp = (): void => {
    this.#isRefused = true;
    this.#early.length = 0;
    const socket = this.#socket;
    socket.resume().end();
    const timer = setTimeout(() => socket.destroy(), lingerMs);
    socket.once("close", () => clearTimeout(timer));
  };
}
