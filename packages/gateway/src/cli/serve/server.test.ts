import { type IncomingMessage, request as requestHttp, type ServerResponse } from "node:http";
import { connect, createServer } from "node:net";
import { once } from "node:events";
import { afterEach, describe, expect, it } from "vitest";
import { type Rooms, type RunningServer, startServer } from "./server.ts";

const open: RunningServer[] = [];

afterEach(async () => {
  for (const server of open.splice(0)) {
    server.cut();
    await server.stop({ graceMs: 0, controlMs: 0 });
  }
});

async function aServer(rooms: Partial<Rooms> = {}, port = 0): Promise<RunningServer> {
  const say = (text: string) => (_request: IncomingMessage, response: ServerResponse) => response.end(text);
  const server = await startServer(
    {
      admits: () => true,
      control: say("control"),
      data: say("data"),
      admitsUpgrade: () => true,
      upgrade: async (_request, socket) => void socket.end("HTTP/1.1 101 Switching Protocols\r\n\r\n"),
      ...rooms,
    },
    { host: "127.0.0.1", port },
  );
  open.push(server);
  return server;
}

it("says in a sentence that a port is taken", async () => {
  const taken = createServer().listen(0, "127.0.0.1");
  await once(taken, "listening");
  const address = taken.address();
  const port = typeof address === "object" ? (address?.port ?? 0) : 0;

  const outcome = aServer({}, port);

  await expect(outcome).rejects.toThrow(`Port ${port} on 127.0.0.1 is in use`);
  taken.close();
});

it("answers nothing that the doors have refused", async () => {
  const { url } = await aServer({
    admits: (_request, response) => {
      response.writeHead(421).end();
      return false;
    },
  });

  expect((await fetch(`${url}/openai/x`)).status).toBe(421);
});

it.each(["/api/x", "/openai/x"])("gives leave to send a body to clients that ask for it: %s", async (path) => {
  const { url } = await aServer({
    data: (_request, response, expectsContinue) => {
      if (expectsContinue) response.writeContinue();
      response.end("data");
    },
  });
  const request = requestHttp(`${url}${path}`, { method: "POST", headers: { expect: "100-continue" } });
  const leave = once(request, "continue");
  const answer = once(request, "response") as Promise<[IncomingMessage]>;
  request.flushHeaders();

  await leave;
  request.end("body");

  const [response] = await answer;
  expect(response.statusCode).toBe(200);
  response.resume();
});

describe("what is no request", () => {
  it.each([
    ["noise", "\x16\x03\x01\x02\x00\r\n\r\n", "400 Bad Request"],
    ["too many headers", `GET / HTTP/1.1\r\nhost: x\r\nbig: ${"x".repeat(70_000)}\r\n\r\n`, "431 Request Header"],
    ["CONNECT", "CONNECT example.com:443 HTTP/1.1\r\nhost: x\r\n\r\n", "405 Method Not Allowed"],
    [
      "a WebSocket of the control plane",
      "GET /api/events HTTP/1.1\r\nhost: x\r\nconnection: upgrade\r\nupgrade: websocket\r\n\r\n",
      "501 Not Implemented",
    ],
    [
      "two lengths",
      "POST / HTTP/1.1\r\nhost: x\r\ncontent-length: 1\r\ncontent-length: 2\r\n\r\nab",
      "400 Bad Request",
    ],
  ])("is answered and the connection closed: %s", async (_name, text, status) => {
    const { port } = await aServer();

    const answer = await exchange(port, text);

    expect(answer).toContain(`HTTP/1.1 ${status}`);
    expect(answer).toContain("x-keywheel-error: invalid_request");
  });
});

it("ignores an offer of HTTP/2, as Java's client makes with every request", async () => {
  const { port } = await aServer();

  const answer = await exchange(
    port,
    "GET /openai/x HTTP/1.1\r\nhost: x\r\nconnection: Upgrade, HTTP2-Settings, close\r\nupgrade: h2c\r\nhttp2-settings: AAEAAEAAAAIAAAAAAAMAAAAAAAQBAAAAAAUAAEAAAAYABgAA\r\n\r\n",
  );

  expect(answer).toContain("HTTP/1.1 200 OK");
  expect(answer).toContain("data");
});

describe("when it stops", () => {
  it("lets a running response end, and closes its connection", async () => {
    const responses: ServerResponse[] = [];
    const { url, stop } = await aServer({ data: (_request, response) => void responses.push(response) });
    const answer = fetch(`${url}/openai/x`);
    await until(() => responses.length === 1);
    responses[0]?.write("first ");

    const stopped = stop({ graceMs: 60_000, controlMs: 0 });
    responses[0]?.end("last");

    expect(await (await answer).text()).toBe("first last");
    expect(await stopped).toEqual({ cutOff: 0 });
    await expect(fetch(url)).rejects.toThrow("fetch failed");
  });

  it("cuts off what has not ended in time, and says how much", async () => {
    const responses: ServerResponse[] = [];
    const { url, stop } = await aServer({ data: (_request, response) => void responses.push(response) });
    const answer = fetch(`${url}/openai/x`);
    await until(() => responses.length === 1);

    const stopped = stop({ graceMs: 20, controlMs: 0 });

    await expect(answer).rejects.toThrow("fetch failed");
    expect(await stopped).toEqual({ cutOff: 1 });
  });

  it("does not wait for pages that follow the events, nor count them", async () => {
    const responses: ServerResponse[] = [];
    const { url, stop } = await aServer({ control: (_request, response) => void responses.push(response) });
    const answer = fetch(`${url}/api/events`);
    await until(() => responses.length === 1);

    const stopped = stop({ graceMs: 60_000, controlMs: 10 });

    await expect(answer).rejects.toThrow("fetch failed");
    expect(await stopped).toEqual({ cutOff: 0 });
  });

  it("lets a WebSocket go on for as long, then cuts it off", async () => {
    let begun = false;
    const { port, stop } = await aServer({
      upgrade: (_request, socket) => {
        begun = true;
        return new Promise((resolve) => socket.once("close", () => resolve()));
      },
    });
    const closed = exchange(
      port,
      "GET /openai/x HTTP/1.1\r\nhost: x\r\nconnection: upgrade\r\nupgrade: websocket\r\n\r\n",
    );
    await until(() => begun);

    const outcome = await stop({ graceMs: 80, controlMs: 0 });

    expect(outcome).toEqual({ cutOff: 1 });
    expect(await closed).toBe("");
  });

  it("does not wait for idle connections", async () => {
    const { url, port, stop } = await aServer();
    const idle = connect(port, "127.0.0.1");
    await once(idle, "connect");
    await (await fetch(url)).text();

    const outcome = await stop({ graceMs: 60_000, controlMs: 60_000 });

    expect(outcome).toEqual({ cutOff: 0 });
    idle.destroy();
  });
});

async function exchange(port: number, text: string): Promise<string> {
  const socket = connect(port, "127.0.0.1");
  socket.on("error", () => {});
  socket.write(text);
  let answer = "";
  socket.on("data", (chunk) => (answer += chunk));
  await once(socket, "close");
  return answer;
}

async function until(isSo: () => boolean): Promise<void> {
  while (!isSo()) await new Promise((resolve) => setImmediate(resolve));
}
