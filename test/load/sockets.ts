import { once } from "node:events";
import { connect, type Socket } from "node:net";

/** A client's connection, and what it heard. */
export class RawClient {
  heard = "";
  isClosed = false;
  readonly #socket: Socket;

  private constructor(socket: Socket) {
    this.#socket = socket;
    socket.on("error", () => {});
    socket.on("close", () => (this.isClosed = true));
    socket.on("data", (chunk: Buffer) => (this.heard += chunk.toString("latin1")));
  }

  /** @throws Error if it is not let in */
  static async open(url: string): Promise<RawClient> {
    const { hostname, port } = new URL(url);
    const socket = connect({ host: hostname, port: Number(port), noDelay: true });
    await once(socket, "connect");
    return new RawClient(socket);
  }

  say(text: string | Buffer): boolean {
    return !this.#socket.destroyed && this.#socket.write(text);
  }

  stopsReading(): void {
    this.#socket.pause();
  }

  leave(): void {
    this.#socket.destroy();
  }
}

export function chatHead(slug: string, length: number, more = ""): string {
  return (
    `POST /${slug}/v1/chat/completions HTTP/1.1\r\nhost: 127.0.0.1\r\ncontent-type: application/json\r\n` +
    `content-length: ${length}\r\n${more}\r\n`
  );
}
