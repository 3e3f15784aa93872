import { request as httpRequest } from "node:http";
import { connect } from "node:net";

/** An answer as it came, nothing decoded or joined. */
export interface WireAnswer {
  readonly status: number;
  /** Name, value, name, value …, as they stood. */
  readonly rawHeaders: readonly string[];
  readonly trailers: NodeJS.Dict<string>;
  readonly body: Buffer;
  /** Whether the answer came to its end as HTTP has it. */
  readonly complete: boolean;
  header(name: string): string | undefined;
  headerValues(name: string): string[];
  json(): unknown;
}

export interface WireCall {
  readonly method?: string;
  /** The request target, sent as it stands. */
  readonly path: string;
  readonly headers?: Readonly<Record<string, string | readonly string[]>>;
  readonly body?: string | Uint8Array;
}

/** One request on a connection of its own, without the manners of `fetch`: no redirects, no decoding, no changed path. */
export function callOnWire(origin: string, call: WireCall): Promise<WireAnswer> {
  const { hostname, port } = new URL(origin);
  return new Promise((resolve, reject) => {
    const { method = call.body === undefined ? "GET" : "POST", path, headers = {}, body } = call;
    const outgoing = httpRequest({
      hostname,
      port,
      method,
      path,
      agent: false,
      headers: Object.entries({
        host: `${hostname}:${port}`,
        ...(body === undefined ? {} : { "content-length": String(Buffer.byteLength(body)) }),
        ...headers,
      }).flatMap(([name, value]) => [value].flat().flatMap((one) => [name, one])),
    });
    outgoing.on("error", reject);
    outgoing.on("response", (incoming) => {
      const chunks: Buffer[] = [];
      const finish = (): void => resolve(answerOf(incoming, Buffer.concat(chunks)));
      incoming.on("data", (chunk: Buffer) => chunks.push(chunk));
      incoming.on("error", finish);
      incoming.on("end", finish);
    });
    outgoing.end(body);
  });
}

function answerOf(
  incoming: { statusCode?: number | undefined; rawHeaders: string[]; trailers: NodeJS.Dict<string>; complete: boolean },
  body: Buffer,
): WireAnswer {
  const { rawHeaders, trailers, complete } = incoming;
  const headerValues = (name: string): string[] =>
    rawHeaders.filter((_, at) => at % 2 === 1 && rawHeaders[at - 1]?.toLowerCase() === name.toLowerCase());
  return {
    status: incoming.statusCode ?? 0,
    rawHeaders,
    trailers,
    complete,
    body,
    headerValues,
    header: (name) => headerValues(name)[0],
    json: () => JSON.parse(body.toString("utf8")) as unknown,
  };
}

/** Writes bytes on a fresh connection and answers what comes until the other side closes or `until` holds. */
export function talkOnWire(
  origin: string,
  bytes: string,
  until: (received: string) => boolean = () => false,
): Promise<string> {
  const { hostname, port } = new URL(origin);
  return new Promise((resolve, reject) => {
    const socket = connect(Number(port), hostname, () => socket.write(bytes));
    let received = "";
    socket.on("error", reject);
    socket.on("close", () => resolve(received));
    socket.on("data", (chunk) => {
      received += chunk.toString("latin1");
      if (until(received)) socket.destroy();
    });
  });
}
