import { createHash, randomBytes } from "node:crypto";
import { once } from "node:events";
import { createServer, type IncomingMessage } from "node:http";
import { createServer as createHttpsServer } from "node:https";
import { type AddressInfo, connect, type Socket } from "node:net";
import { createServer as createTlsServer } from "node:tls";
import { GoogleGenAI } from "@google/genai";
import OpenAI from "openai";
import { OpenAIRealtimeWS } from "openai/realtime/ws";
import { afterEach, describe, expect, it, vi } from "vitest";
import { openAiError, reply } from "@keywheel/testkit";
import {
  type Bench,
  benchKeys as keys,
  failuresOf,
  openDataPlane,
  rawSocket,
  readUntilClosed,
  comesToPass,
} from "./data-plane.test-bench.ts";
import { testCertificate, testCertificateKey, trustTestCertificate } from "./certificate.test-bench.ts";

const token = "kw_0123456789abcdefghijklmnop";
const nonce = "dGhlIHNhbXBsZSBub25jZQ==";
/** What RFC 6455 §1.3 computes for that nonce. */
const proof = "s3pPLMBiTxaQ9kYGzzhZRbK+xOo=";
const slowDown = openAiError(429, { code: "rate_limit_exceeded", type: "requests", message: "slow down" });
const closers: (() => void)[] = [];

afterEach(() => {
  for (const close of closers.splice(0)) close();
});

function handshake(path: string, headers: readonly string[] = [`Authorization: Bearer ${token}`]): string {
  const lines = [
    `GET ${path} HTTP/1.1`,
    "Host: gateway.example",
    "Connection: Upgrade",
    "Upgrade: websocket",
    "Sec-WebSocket-Version: 13",
    `Sec-WebSocket-Key: ${nonce}`,
    ...headers,
  ];
  return `${lines.join("\r\n")}\r\n\r\n`;
}

/** A client whose upgrade was granted. */
interface Granted {
  readonly socket: Socket;
  readonly head: string;
  /** What came behind the head so far. */
  readonly received: () => Buffer;
}

/** Reads up to the end of the head. */
async function granted(socket: Socket): Promise<Granted> {
  let bytes = Buffer.alloc(0);
  closers.push(() => socket.destroy());
  socket.on("data", (chunk: Buffer) => (bytes = Buffer.concat([bytes, chunk])));
  socket.on("error", () => {});
  await comesToPass(() => expect(bytes.includes("\r\n\r\n")).toBe(true));
  const end = bytes.indexOf("\r\n\r\n") + 4;
  return { socket, head: bytes.subarray(0, end).toString("latin1"), received: () => bytes.subarray(end) };
}

async function upgraded(bench: Bench, text = handshake("/llm/realtime?model=gpt-realtime")): Promise<Granted> {
  const client = await granted(await rawSocket(bench, text));
  expect(client.head).toMatch(/^HTTP\/1\.1 101 /);
  return client;
}

async function refused(bench: Bench, text: string): Promise<{ status: number; headers: Headers; body: string }> {
  const answer = await readUntilClosed(await rawSocket(bench, text));
  const [head = "", ...body] = answer.split("\r\n\r\n");
  const [line = "", ...fields] = head.split("\r\n");
  const pairs = fields.map((field): [string, string] => {
    const at = field.indexOf(":");
    return [field.slice(0, at), field.slice(at + 1).trim()];
  });
  return { status: Number(line.split(" ")[1]), headers: new Headers(pairs), body: body.join("\r\n\r\n") };
}

/** A provider that grants every upgrade and then does with the connection what it is told. */
async function rawProvider(
  play: (socket: Socket, request: IncomingMessage, head: Buffer) => void,
  {
    after = "",
    secure = false,
    refuses = () => false,
  }: { readonly after?: string; readonly secure?: boolean; readonly refuses?: () => boolean } = {},
): Promise<string> {
  const server = secure ? createHttpsServer({ cert: testCertificate, key: testCertificateKey }) : createServer();
  if (secure) closers.push(trustTestCertificate());
  const sockets = new Set<Socket>();
  server.on("upgrade", (request: IncomingMessage, socket: Socket, head: Buffer) => {
    sockets.add(socket);
    socket.on("error", () => {});
    if (refuses()) return void socket.end("HTTP/1.1 429 Too Many Requests\r\ncontent-length: 0\r\n\r\n");
    const accept = createHash("sha1")
      .update(`${request.headers["sec-websocket-key"]}258EAFA5-E914-47DA-95CA-C5AB0DC85B11`)
      .digest("base64");
    socket.write(
      `HTTP/1.1 101 Switching Protocols\r\nUpgrade: websocket\r\nConnection: Upgrade\r\nSec-WebSocket-Accept: ${accept}\r\n\r\n${after}`,
    );
    play(socket, request, head);
  });
  server.listen(0, "127.0.0.1");
  await once(server, "listening");
  closers.push(() => {
    for (const socket of sockets) socket.destroy();
    server.close();
  });
  return `http${secure ? "s" : ""}://127.0.0.1:${(server.address() as AddressInfo).port}/v1`;
}

const transports = [
  { name: "plain", secure: false },
  { name: "TLS", secure: true },
];
const leavings = transports.flatMap((transport) =>
  (["destroy", "resetAndDestroy", "end"] as const).map((how) => ({ ...transport, how })),
);

function sha256(bytes: Uint8Array): string {
  return createHash("sha256").update(bytes).digest("hex");
}

describe("a WebSocket handshake", () => {
  it("arrives as it was sent, but for the credential; the provider's grant comes back as it was given", async () => {
    const bench = await openDataPlane({ token });
    const client = await upgraded(
      bench,
      handshake("/llm/v1/realtime?model=gpt-realtime", [
        `Authorization: Bearer ${token}`,
        "Sec-WebSocket-Extensions: permessage-deflate; client_max_window_bits",
        "Sec-WebSocket-Protocol: realtime,  openai-beta.realtime-v1",
        "OpenAI-Beta: realtime=v1",
        "OpenAI-Organization: org-1",
        "Cookie: a=b",
        "X-Keywheel-Session: talk-1",
        "Origin: https://app.example",
        "User-Agent: test/1",
      ]),
    );

    const [seen] = bench.provider.requests;
    expect(seen?.url).toBe("/v1/realtime?model=gpt-realtime");
    expect(pairsOf(seen?.rawHeaders ?? [])).toEqual({
      host: new URL(bench.provider.origin).host,
      connection: "upgrade",
      upgrade: "websocket",
      "sec-websocket-version": "13",
      "sec-websocket-key": nonce,
      "sec-websocket-extensions": "permessage-deflate; client_max_window_bits",
      "sec-websocket-protocol": "realtime,  openai-beta.realtime-v1",
      "openai-beta": "realtime=v1",
      origin: "https://app.example",
      "user-agent": "test/1",
      authorization: `Bearer ${keys[0]}`,
    });
    expect(client.head.toLowerCase().split("\r\n").filter(Boolean).sort()).toEqual(
      [
        "http/1.1 101 switching protocols",
        "connection: upgrade",
        "upgrade: websocket",
        `sec-websocket-accept: ${proof.toLowerCase()}`,
        "sec-websocket-protocol: realtime",
        `x-keywheel-key: ${keys[0]}`,
        "x-keywheel-attempts: 1",
        "x-keywheel-session: talk-1",
      ].sort(),
    );
    expect(client.head).toContain(proof);
  });

  it.each([
    ["a header", "/llm/realtime?model=m", [`Authorization: Bearer ${token}`], undefined],
    [
      "a subprotocol",
      "/llm/realtime?model=m",
      [
        `Sec-WebSocket-Protocol: realtime, openai-insecure-api-key.${token}, openai-beta.realtime-v1, openai-project.proj_1`,
      ],
      "realtime, openai-beta.realtime-v1",
    ],
    [
      "the only subprotocol",
      "/llm/realtime?model=m",
      [`Sec-WebSocket-Protocol: openai-insecure-api-key.${token}`],
      undefined,
    ],
    ["?key=", `/llm/realtime?key=${token}&model=m`, [], undefined],
    ["?api-key=, as Azure's browser client", `/llm/realtime?api-key=${token}&model=m`, [], undefined],
    [
      "?Authorization=, as Azure's browser client",
      `/llm/realtime?model=m&Authorization=Bearer+${token}`,
      [],
      undefined,
    ],
  ])("is authenticated by a token in %s, which goes no further", async (_, path, headers, protocols) => {
    const bench = await openDataPlane({ token });
    await upgraded(bench, handshake(path, headers));

    const [seen] = bench.provider.requests;
    expect(seen?.url).toBe("/v1/realtime?model=m");
    expect(seen?.header("sec-websocket-protocol")).toBe(protocols);
    expect(seen?.header("authorization")).toBe(`Bearer ${keys[0]}`);
    expect(bench.provider.faults).toEqual([]);
    expect(JSON.stringify(seen)).not.toContain(token);
  });

  it("of Gemini live goes to the root of the service, its key in a header", async () => {
    const bench = await openDataPlane({ token, kind: "gemini" });
    const path = "/ws/google.ai.generativelanguage.v1beta.GenerativeService.BidiGenerateContent";
    await upgraded(bench, handshake(`/llm${path}?key=${token}`, []));

    expect(bench.provider.requests[0]?.url).toBe(path);
    expect(bench.provider.requests[0]?.header("x-goog-api-key")).toBe(keys[0]);
    expect(bench.provider.faults).toEqual([]);
  });

  it.each([
    ["no token", handshake("/llm/realtime", []), 401, "unauthorized"],
    ["a wrong token", handshake("/llm/realtime?key=kw_wrong", []), 401, "unauthorized"],
    ["an unknown provider", handshake("/nobody/realtime"), 404, "unknown_provider"],
    ["a path that leaves the base path", handshake("/llm/%2e%2e/admin"), 400, "invalid_request"],
    ["another protocol", handshake("/llm/realtime").replace("websocket", "h2c"), 400, "invalid_request"],
    [
      "a body",
      handshake("/llm/realtime", [`Authorization: Bearer ${token}`, "Content-Length: 5"]) + "hello",
      400,
      "invalid_request",
    ],
  ])("with %s is answered in plain HTTP, and nobody is asked", async (_, text, status, code) => {
    const bench = await openDataPlane({ token });
    const answer = await refused(bench, text);

    expect(answer.status).toBe(status);
    expect(answer.headers.get("x-keywheel-error")).toBe(code);
    expect(answer.headers.get("connection")).toBe("close");
    expect(JSON.parse(answer.body)).toMatchObject({ error: { code } });
    expect(bench.provider.connections.opened).toBe(0);
    expect(bench.records).toMatchObject([{ status, error: code, ending: "completed" }]);
  });

  it("behind a request that is still being answered ends the connection, and nothing else", async () => {
    const bench = await openDataPlane();
    bench.provider.on({ method: "POST" }).next(reply.hang());
    const post = "POST /llm/chat/completions HTTP/1.1\r\nhost: x\r\ncontent-length: 2\r\n\r\n{}";
    await readUntilClosed(await rawSocket(bench, post + handshake("/llm/realtime")));

    expect(bench.faults).toEqual([]);
    await upgraded(bench);
  });

  it("binds its session to the key that granted it, and its model counts", async () => {
    const bench = await openDataPlane();
    const named = handshake("/llm/realtime?model=gpt-realtime", ["session-id: one"]);
    for (let n = 0; n < 3; n++) (await upgraded(bench, named)).socket.destroy();
    await upgraded(bench);

    expect(bench.provider.picks()).toBe("AAAB");
    await comesToPass(() => expect(bench.records).toHaveLength(3));
    expect(bench.records[0]).toMatchObject({
      model: "gpt-realtime",
      sessionId: expect.stringMatching(/^ses_/) as string,
    });
  });
});

describe("a refused handshake", () => {
  it("with 429 is granted by the next key (case 66)", async () => {
    const bench = await openDataPlane();
    bench.provider.on({ key: keys[0]! }).next(slowDown);
    const client = await upgraded(bench);

    expect(client.head).toContain("x-keywheel-attempts: 2");
    expect(bench.provider.picks()).toBe("AB");
    expect(await failuresOf(bench)).toEqual([1, 0, 0]);
    const [first, second] = bench.provider.requests;
    expect(first?.header("sec-websocket-key")).toBe(second?.header("sec-websocket-key"));
  });

  it("with 401 disables its key and is granted by the next", async () => {
    const bench = await openDataPlane();
    bench.provider.revoke(keys[0]!);
    await upgraded(bench);

    expect(bench.provider.picks()).toBe("AB");
    expect(bench.events).toContainEqual(
      expect.objectContaining({ type: "key-disabled", keyId: keys[0], httpStatus: 401 }),
    );
  });

  it("by every key is the gateway's 429, with retry-after", async () => {
    const bench = await openDataPlane();
    bench.provider.on().always(slowDown);
    const answer = await refused(bench, handshake("/llm/realtime"));

    expect(answer.status).toBe(429);
    expect(answer.headers.get("x-keywheel-error")).toBe("pool_exhausted");
    expect(Number(answer.headers.get("retry-after"))).toBeGreaterThanOrEqual(59);
    expect(bench.provider.picks()).toBe("ABC");
  });

  it.each([500, 503, 404, 426])("with %i is passed back with its body, and no key is blamed", async (status) => {
    const bench = await openDataPlane();
    const body = "x".repeat(1_000_000);
    bench.provider.on().always(reply.status(status, { "content-type": "text/plain", "x-request-id": "r1" }, body));
    const answer = await refused(bench, handshake("/llm/realtime"));

    expect(answer.status).toBe(status);
    expect(answer.body).toBe(body);
    expect(answer.headers.get("x-request-id")).toBe("r1");
    expect(answer.headers.get("x-keywheel-key")).toBe(keys[0]);
    expect(await failuresOf(bench)).toEqual([0, 0, 0]);
  });

  it("by silence is 504 after headers_ms, by nobody 502", async () => {
    const timeouts = { connectMs: 10_000, headersMs: 300, idleMs: 900_000 };
    const bench = await openDataPlane({ settings: { timeouts } });
    bench.provider.on().always(reply.hang());
    const silent = await refused(bench, handshake("/llm/realtime"));
    const away = await openDataPlane({ baseUrl: "http://127.0.0.1:1/v1" });
    const nobody = await refused(away, handshake("/llm/realtime"));

    expect([silent.status, silent.headers.get("x-keywheel-error")]).toEqual([504, "upstream_timeout"]);
    expect([nobody.status, nobody.headers.get("x-keywheel-error")]).toEqual([502, "upstream_unreachable"]);
  });

  it.each(["destroy", "resetAndDestroy", "end"] as const)(
    "leaves no attempt behind when the client leaves by %s",
    async (how) => {
      const bench = await openDataPlane();
      bench.provider.on().always(reply.hang());
      const socket = await rawSocket(bench, handshake("/llm/realtime"));
      const asked = await bench.provider.arrived(1);
      socket[how]();
      await asked.ended;

      expect(asked.state).toBe("aborted");
      await comesToPass(() => expect(bench.records).toMatchObject([{ status: 0, ending: "gone" }]));
      expect(await failuresOf(bench)).toEqual([0, 0, 0]);
    },
  );
});

describe("a granted WebSocket", () => {
  it.each(transports)("carries 10 MB each way unchanged: $name", async ({ secure }) => {
    const down = randomBytes(10_000_000);
    const up = randomBytes(10_000_000);
    const seen = createHash("sha256");
    let seenBytes = 0;
    const baseUrl = await rawProvider(
      (socket) => {
        socket.on("data", (chunk: Buffer) => {
          seen.update(chunk);
          seenBytes += chunk.length;
        });
        socket.write(down);
      },
      { secure },
    );
    const bench = await openDataPlane({ baseUrl });
    const socket = await rawSocket(bench, handshake("/llm/realtime"));
    const chunks: Buffer[] = [];
    let bytes = 0;
    socket.on("data", (chunk: Buffer) => {
      chunks.push(chunk);
      bytes += chunk.length;
    });
    closers.push(() => socket.destroy());
    socket.write(up);

    await comesToPass(() => expect(seenBytes).toBe(up.length));
    await comesToPass(() => expect(bytes).toBeGreaterThan(down.length));
    const all = Buffer.concat(chunks);
    expect(seen.digest("hex")).toBe(sha256(up));
    expect(sha256(all.subarray(all.indexOf("\r\n\r\n") + 4))).toBe(sha256(down));
  });

  it("does not gather what its receiver does not read", async () => {
    let sent = 0;
    const baseUrl = await rawProvider((socket) => {
      const more = (): void => {
        while (!socket.destroyed && socket.write(Buffer.alloc(65_536))) sent += 65_536;
      };
      socket.on("drain", more);
      more();
    });
    const bench = await openDataPlane({ baseUrl });
    const socket = await rawSocket(bench, handshake("/llm/realtime"));
    closers.push(() => socket.destroy());
    socket.pause();
    let before = -1;
    await vi.waitFor(
      () => {
        const grew = sent !== before;
        before = sent;
        expect(grew || sent === 0).toBe(false);
      },
      { interval: 200, timeout: 5_000 },
    );

    // What the two kernels' socket buffers take, which grow to some MB; nothing is left to say after that.
    expect(sent).toBeLessThan(30_000_000);
  });

  it("passes each small frame on at once", async () => {
    const baseUrl = await rawProvider((socket) => socket.on("data", (chunk: Buffer) => socket.write(chunk)));
    const bench = await openDataPlane({ baseUrl });
    const client = await upgraded(bench);
    const startedAt = performance.now();
    for (let n = 1; n <= 200; n++) {
      client.socket.write(Buffer.alloc(7, n & 255));
      while (client.received().length < 7 * n) await once(client.socket, "data");
    }

    // With Nagle's algorithm and delayed acknowledgements in between, each turn would take 40 ms.
    expect(performance.now() - startedAt).toBeLessThan(2_000);
  });

  it("carries what either side sends together with its head", async () => {
    const heads: Buffer[] = [];
    const baseUrl = await rawProvider(
      (socket, _, head) => {
        heads.push(head);
        socket.on("data", (chunk: Buffer) => heads.push(chunk));
      },
      { after: "hello client" },
    );
    const bench = await openDataPlane({ baseUrl });
    const socket = await rawSocket(bench, `${handshake("/llm/realtime")}hello provider`);
    const client = await granted(socket);
    socket.write(", and more");

    await comesToPass(() => expect(client.received().toString()).toBe("hello client"));
    await comesToPass(() => expect(Buffer.concat(heads).toString()).toBe("hello provider, and more"));
  });

  it.each(leavings)("ends at the provider when the client ends it by $how: $name", async ({ how, secure }) => {
    const ended = Promise.withResolvers<string>();
    const baseUrl = await rawProvider(
      (socket) => {
        socket.on("error", () => ended.resolve("reset"));
        socket.on("end", () => socket.end()).on("close", () => ended.resolve("closed"));
        socket.resume();
      },
      { secure },
    );
    const bench = await openDataPlane({ baseUrl });
    const client = await upgraded(bench);
    const startedAt = performance.now();
    client.socket[how]();

    // TLS has no reset of its own; there, what was cut lacks TLS's own end.
    expect(await ended.promise).toBe(how === "resetAndDestroy" && !secure ? "reset" : "closed");
    expect(performance.now() - startedAt).toBeLessThan(1_000);
    await comesToPass(() => expect(bench.records).toHaveLength(1));
    expect(bench.records[0]).toMatchObject({ status: 101, ending: how === "resetAndDestroy" ? "gone" : "completed" });
  });

  const providersLeavings = leavings.filter(({ how, secure }) => !(secure && how === "resetAndDestroy"));
  it.each(providersLeavings)("ends at the client when the provider ends it by $how: $name", async ({ how, secure }) => {
    const opened = Promise.withResolvers<Socket>();
    const baseUrl = await rawProvider((socket) => opened.resolve(socket.resume()), { secure });
    const bench = await openDataPlane({ baseUrl });
    const client = await upgraded(bench);
    client.socket.on("end", () => client.socket.end());
    const closed = new Promise((resolve) => client.socket.once("close", resolve));
    const startedAt = performance.now();
    (await opened.promise)[how]();
    await closed;

    expect(performance.now() - startedAt).toBeLessThan(1_000);
    await comesToPass(() => expect(bench.records).toHaveLength(1));
    expect(bench.records[0]).toMatchObject({
      status: 101,
      ending: how === "resetAndDestroy" ? "truncated" : "completed",
    });
  });

  it("still carries what the provider says after the client has said its last", async () => {
    const baseUrl = await rawProvider((socket) => {
      socket.resume().on("end", () => socket.end("goodbye".repeat(100_000)));
    });
    const bench = await openDataPlane({ baseUrl });
    const client = await upgraded(bench);
    client.socket.end("last words");
    await once(client.socket, "close");

    expect(client.received().length).toBe(700_000);
    await comesToPass(() =>
      expect(bench.records).toMatchObject([{ ending: "completed", requestBytes: 10, responseBytes: 700_000 }]),
    );
  });

  it("is a success of its key from its grant on, and silence does not end it", async () => {
    const timeouts = { connectMs: 10_000, headersMs: 900_000, idleMs: 200 };
    const bench = await openDataPlane({
      keys: keys.slice(0, 1),
      settings: { timeouts },
      policy: { cooldown: { baseMs: 50, capMs: 50 } },
    });
    bench.provider.on().next(slowDown);
    await refused(bench, handshake("/llm/realtime"));
    expect(await failuresOf(bench)).toEqual([1]);
    await comesToPass(async () => expect((await refusedOrGranted(bench)).status).toBe(101));

    await comesToPass(async () => expect(await failuresOf(bench)).toEqual([0]));
    const open = bench.provider.openRequests[0];
    await new Promise((resolve) => setTimeout(resolve, 1_500));
    expect(open?.state).toBe("open");
  });

  it("carries what an impatient client sent while other keys were tried, however much it is", async () => {
    const seen: Buffer[] = [];
    let refusals = 0;
    const early = randomBytes(1_000_000);
    const baseUrl = await rawProvider((socket) => socket.on("data", (chunk: Buffer) => seen.push(chunk)), {
      refuses: () => refusals++ < 2,
    });
    const bench = await openDataPlane({ baseUrl });
    const socket = await rawSocket(bench, handshake("/llm/realtime"));
    socket.write(early);
    const { head } = await granted(socket);

    expect(head).toContain("x-keywheel-attempts: 3");
    await comesToPass(() => expect(sha256(Buffer.concat(seen))).toBe(sha256(early)));
  });

  it("leaves nothing behind, however many there are and however each is left", async () => {
    const open = new Set<Socket>();
    const baseUrl = await rawProvider((socket) => {
      open.add(socket);
      socket.on("end", () => socket.end()).on("close", () => open.delete(socket));
      socket.on("data", (chunk: Buffer) => {
        if (chunk.includes("end")) socket.end("bye");
        else if (chunk.includes("cut")) socket.resetAndDestroy();
        else socket.write(chunk);
      });
    });
    const bench = await openDataPlane({ baseUrl });
    await Promise.all(
      Array.from({ length: 60 }, async (_, n) => {
        const socket = await rawSocket(bench, handshake("/llm/realtime"));
        socket.on("error", () => {}).on("end", () => socket.end());
        const closed = new Promise((resolve) => socket.once("close", resolve));
        const leave = [
          () => socket.destroy(),
          () => socket.resetAndDestroy(),
          () => socket.end("last words"),
          () => socket.write("end"),
          () => socket.write("cut"),
          () => socket.write(Buffer.alloc(200_000), () => socket.destroy()),
        ][n % 6];
        // Some leave before they were let in.
        if (n % 5 !== 0) await granted(socket);
        leave?.();
        socket.resume();
        await closed;
      }),
    );

    await comesToPass(() => expect(bench.running()).toBe(0));
    expect(bench.records).toHaveLength(60);
    await comesToPass(() => expect(open.size).toBe(0));
    expect(bench.faults).toEqual([]);
    expect(await failuresOf(bench)).toEqual([0, 0, 0]);
  });

  it("is counted as running until its end", async () => {
    const bench = await openDataPlane();
    const client = await upgraded(bench);
    expect(bench.running()).toBe(1);
    client.socket.destroy();

    await comesToPass(() => expect(bench.running()).toBe(0));
  });
});

describe("a real client", () => {
  it("of OpenAI's realtime talks through", async () => {
    const bench = await openDataPlane({ token });
    // OpenAI's client speaks TLS only, so something must stand before the gateway that speaks it.
    const front = createTlsServer({ cert: testCertificate, key: testCertificateKey }, (socket) => {
      const behind = connect(bench.port, "127.0.0.1");
      socket.on("error", () => behind.destroy()).pipe(behind);
      behind.on("error", () => socket.destroy()).pipe(socket);
    });
    front.listen(0, "127.0.0.1");
    await once(front, "listening");
    closers.push(() => front.close());
    const baseURL = `https://127.0.0.1:${(front.address() as AddressInfo).port}/llm`;
    const client = new OpenAI({ apiKey: token, baseURL });
    const realtime = new OpenAIRealtimeWS({ model: "gpt-realtime", options: { rejectUnauthorized: false } }, client);
    const echoed = new Promise((resolve, reject) => realtime.on("event", resolve).on("error", reject));
    realtime.socket.on("open", () => realtime.send({ type: "response.create" }));

    expect(await echoed).toEqual({ type: "response.create" });
    realtime.close();
    expect(bench.provider.picks()).toBe("A");
    expect(bench.provider.faults).toEqual([]);
  });

  it("that is a browser, with OpenAI's way of sending a key from there, talks through", async () => {
    const bench = await openDataPlane({ token });
    const protocols = ["realtime", `openai-insecure-api-key.${token}`];
    const socket = new WebSocket(`${bench.url.replace("http", "ws")}/realtime?model=gpt-realtime`, protocols);
    await new Promise((resolve, reject) => {
      socket.addEventListener("open", resolve);
      socket.addEventListener("error", reject);
    });
    const echoed = new Promise((resolve) => socket.addEventListener("message", resolve));
    socket.send("hello");

    expect(((await echoed) as MessageEvent).data).toBe("hello");
    expect(socket.protocol).toBe("realtime");
    const closed = new Promise((resolve) => socket.addEventListener("close", resolve));
    socket.close(1000, "bye");
    expect(await closed).toMatchObject({ code: 1000, reason: "bye", wasClean: true });
    expect(bench.provider.faults).toEqual([]);
  });

  it("of Gemini live talks through", async () => {
    const asked = Promise.withResolvers<IncomingMessage>();
    const baseUrl = await rawProvider((socket, request) => {
      asked.resolve(request);
      // Its setup is confirmed with a text frame.
      const text = Buffer.from('{"setupComplete":{}}');
      socket.once("data", () => socket.write(Buffer.concat([Buffer.from([0x81, text.length]), text])));
    });
    const bench = await openDataPlane({ token, kind: "gemini", baseUrl: baseUrl.replace("/v1", "/v1beta") });
    const client = new GoogleGenAI({ apiKey: token, httpOptions: { baseUrl: bench.url } });
    const heard = Promise.withResolvers<unknown>();
    const session = await client.live.connect({
      model: "gemini-live",
      callbacks: { onmessage: heard.resolve, onerror: (event) => heard.reject(event.error) },
    });

    expect(await heard.promise).toMatchObject({ setupComplete: {} });
    session.close();
    const { url, rawHeaders } = await asked.promise;
    expect(url).toBe("/ws/google.ai.generativelanguage.v1.GenerativeService.BidiGenerateContent");
    expect(pairsOf(rawHeaders)).toMatchObject({ "x-goog-api-key": keys[0] });
    expect(rawHeaders.join()).not.toContain(token);
  });
});

async function refusedOrGranted(bench: Bench): Promise<{ status: number }> {
  const client = await granted(await rawSocket(bench, handshake("/llm/realtime")));
  return { status: Number(client.head.split(" ")[1]) };
}

function pairsOf(raw: readonly string[]): Record<string, string> {
  const pairs: Record<string, string> = {};
  for (let index = 0; index < raw.length; index += 2) {
    const name = (raw[index] ?? "").toLowerCase();
    if (name in pairs) throw new Error(`${name} came twice`);
    pairs[name] = raw[index + 1] ?? "";
  }
  return pairs;
}
