import { Agent, type IncomingMessage, request as httpRequest, type ServerResponse } from "node:http";
import { pipeline } from "node:stream";

/** Who the client is, where a worker hands a request on. */
const peerHeader = "x-keywheel-peer";
/** Of one connection only. */
const hopByHop = new Set(["connection", "keep-alive", "transfer-encoding", "upgrade", "te", "trailer", peerHeader]);

/** Hands requests that are not for a worker to its primary process, and the answers back. */
export class InnerDoor {
  readonly #socketPath: string;
  readonly #agent = new Agent({ keepAlive: true, maxSockets: Number.POSITIVE_INFINITY });

  /** @param socketPath where the primary answers */
  constructor(socketPath: string) {
    this.#socketPath = socketPath;
  }

  handle(request: IncomingMessage, response: ServerResponse): void {
    const { method, url, rawHeaders, socket } = request;
    const headers = [...withoutHopByHop(rawHeaders), peerHeader, socket.remoteAddress ?? ""];
    if (request.headers["transfer-encoding"] !== undefined) headers.push("transfer-encoding", "chunked");
    const inner = httpRequest({ socketPath: this.#socketPath, agent: this.#agent, method, path: url, headers });
    inner.on("response", (answer) => {
      const { statusCode = 502, statusMessage = "" } = answer;
      response.writeHead(statusCode, statusMessage, withoutHopByHop(answer.rawHeaders));
      // A stream's head is news by itself.
      response.flushHeaders();
      pipeline(answer, response, () => {});
    });
    inner.on("error", () => {
      if (response.headersSent) return void response.destroy();
      response.writeHead(503, { "content-type": "text/plain", "retry-after": "1", connection: "close" });
      response.end("The gateway is stopping, or busy. Try again.\n");
    });
    response.once("close", () => {
      if (!response.writableFinished) inner.destroy();
    });
    pipeline(request, inner, () => {});
  }

  close(): void {
    this.#agent.destroy();
  }
}

/** Makes a request that a worker handed on look as if it had come from its client. */
export function takePeer(request: IncomingMessage): void {
  const { [peerHeader]: peer } = request.headers;
  delete request.headers[peerHeader];
  Object.defineProperty(request.socket, "remoteAddress", { value: peer, configurable: true });
}

/** Flat name, value, name, value. */
function withoutHopByHop(raw: readonly string[]): string[] {
  return raw.flatMap((name, index) =>
    index % 2 === 0 && !hopByHop.has(name.toLowerCase()) ? [name, raw[index + 1] ?? ""] : [],
  );
}
