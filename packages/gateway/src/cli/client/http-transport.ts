import { request as requestHttp } from "node:http";
import { failed } from "../exit.ts";
import type { Method, RawAnswer, Transport } from "./api-client.ts";

/** A test of a key waits for the provider; nothing else takes this long. */
const patienceMs = 120_000;

export interface HttpTarget {
  /** Without a slash at the end. */
  readonly url: string;
  readonly token: string;
  /** Ends a call that is under way; without one it may take minutes. */
  readonly signal?: AbortSignal;
}

/** Calls a gateway that runs, on this machine or another one. */
export function createHttpTransport(target: HttpTarget): Transport {
  return {
    where: target.url,
    url: target.url,
    send: (method, path, body) => send(target, { method, path, body }),
    close: async () => {},
  };
}

interface Call {
  readonly method: Method;
  readonly path: string;
  readonly body: unknown;
}

async function send({ url, token, signal }: HttpTarget, { method, path, body }: Call): Promise<RawAnswer> {
  const start = url.startsWith("https:") ? (await import("node:https")).request : requestHttp;
  const payload = body === undefined ? undefined : JSON.stringify(body);
  const headers = {
    accept: "application/json",
    ...(token === "" ? {} : { authorization: `Bearer ${token}` }),
    ...(payload === undefined
      ? {}
      : { "content-type": "application/json", "content-length": Buffer.byteLength(payload) }),
  };

  return new Promise((resolve, reject) => {
    const fail = (error: Error): void =>
      reject(failed(`The gateway at ${url} cannot be reached: ${wordsOf(error)}.`, error));
    // No agent: a connection that is kept open would keep the command from ending.
    // The path as it stands: a URL would be brought into its normal form.
    const target = {
      path: `${new URL(url).pathname.replace(/\/$/, "")}${path}`,
      method,
      headers,
      agent: false,
      signal,
    };
    const request = start(url, target, (response) => {
      const chunks: Buffer[] = [];
      response.on("data", (chunk: Buffer) => chunks.push(chunk));
      response.on("end", () =>
        resolve({
          status: response.statusCode ?? 0,
          body: Buffer.concat(chunks).toString("utf8"),
          ownError: response.headers["x-keywheel-error"]?.toString(),
        }),
      );
      response.on("error", fail);
    });
    request.setTimeout(patienceMs, () => request.destroy(new Error(`it did not answer within ${patienceMs / 1000} s`)));
    request.on("error", fail);
    request.end(payload);
  });
}

const words: Readonly<Record<string, string>> = {
  ECONNREFUSED: "nothing listens there",
  ENOTFOUND: "there is no such host",
  EHOSTUNREACH: "there is no way to that host",
  ECONNRESET: "it hung up",
};

function wordsOf(error: Error): string {
  const code = "code" in error && typeof error.code === "string" ? error.code : "";
  return words[code] ?? (error.message || code);
}
