import { createHash } from "node:crypto";
import { createServer as createHttpServer } from "node:http";
import { type AddressInfo, createServer, type Server, type Socket } from "node:net";
import { type RawMessage, writePieces } from "./raw-socket.ts";

/** A provider on loopback. */
interface Listening extends AsyncDisposable {
  readonly port: number;
}

export interface RudeProvider extends Listening {
  /** What is said to the first request that carries this mark; others with it, and those without, are answered well. */
  script(mark: string, answer: RawMessage): void;
  forget(): void;
  readonly open: number;
}

/** How long a connection is kept for the next request; real providers keep it longer, and close it as suddenly. */
const idleMs = 150;
/** The header by which a request is told from others. */
export const markHeader = "x-fuzz-mark";

/** A provider that answers each marked request once as it is told, byte for byte, and well after that. */
export async function startRudeProvider(): Promise<RudeProvider> {
  const scripts = new Map<string, RawMessage>();
  const sockets = new Set<Socket>();
  const server = createServer({ noDelay: true }, (socket) => {
    sockets.add(socket);
    socket.on("error", () => socket.destroy());
    socket.on("close", () => sockets.delete(socket));
    let received = "";
    socket.on("data", (chunk) => {
      received += chunk.toString("latin1");
      for (let end = endOfRequest(received); end !== undefined; end = endOfRequest(received)) {
        const mark = new RegExp(`^${markHeader}: (.*)\r$`, "im").exec(received.slice(0, end))?.[1] ?? "";
        received = received.slice(end);
        const answer = scripts.get(mark);
        scripts.delete(mark);
        const { end: how } = answer ?? wellAnswer(mark);
        void writePieces(socket, answer ?? wellAnswer(mark)).then(() => {
          if (how === "wait") socket.setTimeout(idleMs, () => socket.end());
        });
      }
    });
  });
  return {
    port: await listen(server),
    script: (mark, answer) => void scripts.set(mark, answer),
    forget: () => scripts.clear(),
    get open() {
      return sockets.size;
    },
    async [Symbol.asyncDispose]() {
      for (const socket of sockets) socket.destroy();
      await new Promise((resolve) => server.close(resolve));
    },
  };
}

/** Where the first request ends; the gateway frames those of these tests by their length. */
function endOfRequest(text: string): number | undefined {
  const head = text.indexOf("\r\n\r\n");
  if (head === -1) return undefined;
  const end = head + 4 + Number(/^content-length: (\d+)\r$/im.exec(text.slice(0, head + 2))?.[1] ?? 0);
  return text.length >= end ? end : undefined;
}

function wellAnswer(mark: string): RawMessage {
  const body = JSON.stringify({ object: "chat.completion", mark, choices: [] });
  const head = `HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nContent-Length: ${body.length}\r\n\r\n`;
  return { pieces: [head + body], end: "wait" };
}

export interface StrictProvider extends Listening {
  /** What came that no gateway may send: bytes that are no request, and requests without the pool's key. */
  readonly faults: readonly string[];
}

/** A provider that answers everything well and takes note of what it should not have got. */
export async function startStrictProvider(key: string): Promise<StrictProvider> {
  const faults: string[] = [];
  const server = createHttpServer({ requestTimeout: 0, maxHeaderSize: 262_144 });
  const sockets = new Set<Socket>();
  const check = (request: {
    readonly url?: string | undefined;
    readonly headers: NodeJS.Dict<string | string[]>;
  }): void => {
    if (request.headers["authorization"] !== `Bearer ${key}`) faults.push(`${request.url} came without the key`);
  };
  server.on("connection", (socket: Socket) => {
    sockets.add(socket);
    socket.on("error", () => socket.destroy());
    socket.on("close", () => sockets.delete(socket));
  });
  server.on("request", (request, response) => {
    check(request);
    request.on("error", () => {});
    request.resume();
    request.on("end", () => response.end('{"object":"chat.completion","choices":[]}'));
  });
  server.on("upgrade", (request, socket) => {
    check(request);
    const proof = createHash("sha1").update(
      `${request.headers["sec-websocket-key"]}258EAFA5-E914-47DA-95CA-C5AB0DC85B11`,
    );
    socket.on("error", () => socket.destroy());
    socket.write(
      "HTTP/1.1 101 Switching Protocols\r\nConnection: Upgrade\r\nUpgrade: websocket\r\n" +
        `Sec-WebSocket-Accept: ${proof.digest("base64")}\r\n\r\n`,
    );
    socket.pipe(socket);
  });
  server.on("clientError", (error: NodeJS.ErrnoException, socket) => {
    // A gateway breaks off what its client broke off; anything else it sent was no HTTP.
    if (error.code !== "ECONNRESET" && error.code !== "HPE_INVALID_EOF_STATE")
      faults.push(`${error.code}: ${error.message}`);
    socket.destroy();
  });
  return {
    port: await listen(server),
    faults,
    async [Symbol.asyncDispose]() {
      for (const socket of sockets) socket.destroy();
      await new Promise((resolve) => server.close(resolve));
    },
  };
}

async function listen(server: Server): Promise<number> {
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  return (server.address() as AddressInfo).port;
}
