import { once } from "node:events";
import { createServer, type IncomingMessage, type ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";
import { setTimeout as wait } from "node:timers/promises";

/** How the provider treats a key. */
export type Treatment =
  | { readonly kind: "answers"; readonly delayMs: number }
  /** 429 until then, an instant of `performance.now()`. */
  | { readonly kind: "limited"; readonly until: number; readonly delayMs: number }
  | { readonly kind: "refused" };

/** A provider of the demo's own, on loopback. It speaks as much of OpenAI's API as the demo and the chat page need. */
export interface DemoProvider {
  readonly baseUrl: string;
  readonly treat: (key: string, treatment: Treatment) => void;
  readonly close: () => Promise<void>;
}

const models = ["demo-model", "demo-model-mini"];

export async function startDemoProvider(): Promise<DemoProvider> {
  const treatments = new Map<string, Treatment>();
  const server = createServer((request, response) => {
    // A client that hangs up is none of the provider's business.
    response.on("error", () => {});
    answer(request, response, treatments).catch(() => response.destroy());
  });
  server.listen(0, "127.0.0.1");
  await once(server, "listening");
  const { port } = server.address() as AddressInfo;
  return {
    baseUrl: `http://127.0.0.1:${port}/v1`,
    treat: (key, treatment) => void treatments.set(key, treatment),
    close: async () => {
      const closed = once(server, "close");
      server.close();
      server.closeAllConnections();
      await closed;
    },
  };
}

async function answer(
  request: IncomingMessage,
  response: ServerResponse,
  treatments: ReadonlyMap<string, Treatment>,
): Promise<void> {
  const body = await readBody(request);
  const key = request.headers.authorization?.replace(/^Bearer /, "") ?? "";
  const treatment = treatments.get(key) ?? { kind: "refused" };
  if (treatment.kind === "refused")
    return refuse(response, 401, { message: "Incorrect API key provided.", code: "invalid_api_key" });
  const leftMs = treatment.kind === "limited" ? treatment.until - performance.now() : 0;
  if (leftMs > 0) {
    response.setHeader("retry-after", Math.ceil(leftMs / 1000));
    return refuse(response, 429, { message: "Rate limit reached for requests.", code: "rate_limit_exceeded" });
  }
  await wait(treatment.delayMs);
  const path = request.url?.replace(/\?.*/, "");
  if (path === "/v1/models")
    return sendJson(response, 200, { object: "list", data: models.map((id) => ({ id, object: "model" })) });
  if (path === "/v1/embeddings") return sendJson(response, 200, embedding);
  if (path === "/v1/chat/completions") return chat(response, body);
  refuse(response, 404, { message: "The demo's provider knows chat completions, embeddings and models.", code: null });
}

const usage = { prompt_tokens: 42, completion_tokens: 12, total_tokens: 54 };
const embedding = {
  object: "list",
  model: "demo-model",
  data: [{ object: "embedding", index: 0, embedding: [0.1, 0.2, 0.3] }],
  usage: { prompt_tokens: 3, total_tokens: 3 },
};
const words = [
  "This ",
  "is ",
  "the ",
  "demo's ",
  "own ",
  "provider: ",
  "it ",
  "says ",
  "the ",
  "same ",
  "each ",
  "time.",
];

async function chat(response: ServerResponse, body: string): Promise<void> {
  const { stream = false } = JSON.parse(body) as { readonly stream?: boolean };
  const common = { id: "chatcmpl-demo", created: Math.floor(Date.now() / 1000), model: "demo-model" };
  if (!stream) {
    const message = { role: "assistant", content: words.join("") };
    const choices = [{ index: 0, message, finish_reason: "stop" }];
    return sendJson(response, 200, { ...common, object: "chat.completion", choices, usage });
  }
  response.writeHead(200, { "content-type": "text/event-stream" });
  const send = (part: object): void =>
    void response.write(`data: ${JSON.stringify({ ...common, object: "chat.completion.chunk", ...part })}\n\n`);
  for (const content of words) {
    send({ choices: [{ index: 0, delta: { content }, finish_reason: null }] });
    await wait(30);
  }
  send({ choices: [{ index: 0, delta: {}, finish_reason: "stop" }] });
  send({ choices: [], usage });
  response.end("data: [DONE]\n\n");
}

async function readBody(request: IncomingMessage): Promise<string> {
  const chunks: Buffer[] = [];
  for await (const chunk of request as AsyncIterable<Buffer>) chunks.push(chunk);
  return Buffer.concat(chunks).toString("utf8");
}

function refuse(response: ServerResponse, status: number, error: { message: string; code: string | null }): void {
  sendJson(response, status, { error: { ...error, type: "invalid_request_error", param: null } });
}

function sendJson(response: ServerResponse, status: number, value: object): void {
  response.writeHead(status, { "content-type": "application/json" });
  response.end(JSON.stringify(value));
}
