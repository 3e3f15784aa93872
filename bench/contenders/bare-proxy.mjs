// The least that a gateway on the same libraries can do: node:http before, undici behind, nothing between but another key.
// `bare-proxy.mjs PORT UPSTREAM-ORIGIN KEY`
import { readFileSync } from "node:fs";
import { createServer } from "node:http";
import { createRequire } from "node:module";

const gatewayPackage = new URL("../../packages/gateway/package.json", import.meta.url);
/** The very one that Keywheel has. @type {typeof import("undici")} */
const { Pool } = createRequire(gatewayPackage)("undici");

const [port = "", origin = "", key = ""] = process.argv.slice(2);
const certificate = process.env["BENCH_CA"];
const connect = certificate === undefined ? {} : { ca: readFileSync(certificate) };
// No bound on connections: one that is reached makes streams wait for each other.
const pool = new Pool(origin, { connect, headersTimeout: 0, bodyTimeout: 0 });
const ours = new Set(["host", "connection", "authorization", "keep-alive", "transfer-encoding"]);

createServer((request, response) => {
  const { method = "GET", url = "/", rawHeaders } = request;
  const headers = ["authorization", `Bearer ${key}`];
  for (let at = 0; at < rawHeaders.length; at += 2) {
    const name = /** @type {string} */ (rawHeaders[at]);
    if (!ours.has(name.toLowerCase())) headers.push(name, /** @type {string} */ (rawHeaders[at + 1]));
  }
  /** @type {Buffer[]} */
  const chunks = [];
  request.on("data", (chunk) => chunks.push(chunk));
  request.on("end", () => {
    const [only = null] = chunks;
    const body = chunks.length > 1 ? Buffer.concat(chunks) : only;
    pool.dispatch({ path: url, method, headers, body }, answerWith(response));
  });
}).listen(Number(port), "127.0.0.1", 4_096);

/** @param {import("node:http").ServerResponse} response */
function answerWith(response) {
  /** @type {{ pause(): void, resume(): void, abort(reason: Error): void } | undefined} */
  let upstream;
  response.on("drain", () => upstream?.resume());
  response.on("close", () => {
    if (!response.writableFinished) upstream?.abort(new Error("The client left."));
  });
  return {
    /** @param {typeof upstream} controller */
    onRequestStart(controller) {
      upstream = controller;
    },
    /** @param {typeof upstream} controller @param {number} status @param {import("node:http").IncomingHttpHeaders} headers */
    onResponseStart(controller, status, headers) {
      delete headers["transfer-encoding"];
      delete headers["connection"];
      delete headers["keep-alive"];
      response.writeHead(status, headers);
      if (headers["content-length"] === undefined) response.flushHeaders();
      upstream = controller;
    },
    /** @param {NonNullable<typeof upstream>} controller @param {Buffer} chunk */
    onResponseData(controller, chunk) {
      if (!response.write(chunk)) controller.pause();
    },
    onResponseEnd() {
      response.end();
    },
    onResponseError() {
      if (response.headersSent) response.destroy();
      else response.writeHead(502).end();
    },
  };
}
