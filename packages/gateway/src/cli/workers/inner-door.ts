import { Agent, type IncomingMessage, request as httpRequest, type ServerResponse } from "node:http";
import { pipeline } from "node:stream";
import { KeywheelError } from "@keywheel/pool";
import { toProblem } from "../../contract/to-problem.ts";

/** Who the client is, where a worker hands a request on. */
const peerHeader = "x-keywheel-peer";
/** Of one connection only. */
const hopByHop = new Set(["connection", "keep-alive", "transfer-encoding", "upgrade", "te", "trailer", peerHeader]);

const unanswered = new KeywheelError("overloaded", "The process that answers this is stopping, or hangs", {
  hint: "Try again; if it goes on, see the log.",
});

/** Hands requests that are not for a worker to its primary process, and the answers back. */
export class InnerDoor {
  readonly #socketPath: string;
  readonly #agent = new Agent({ keepAlive: true, maxSockets: Number.POSITIVE_INFINITY });

  readonly #onTrouble: (error: Error) => void;

  /**
   * @param socketPath where the primary answers
   * @param onTrouble told why it does not
   */
  constructor(socketPath: string, onTrouble: (error: Error) => void) {
    this.#socketPath = socketPath;
    this.#onTrouble = onTrouble;
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
    inner.on("error", (error) => {
      // The client has left, and the request to the primary with it.
      if (response.destroyed) return;
      this.#onTrouble(error);
      if (response.headersSent) return void response.destroy();
      response.writeHead(503, {
        "content-type": "application/problem+json",
        "x-keywheel-error": unanswered.code,
        "retry-after": "1",
        connection: "close",
      });
      response.end(JSON.stringify(toProblem(unanswered)));
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
