import { once } from "node:events";
import { type AddressInfo, createServer, type Socket } from "node:net";
import { Readable } from "node:stream";
import { createServer as createTlsServer, type TLSSocket } from "node:tls";
import { afterEach, describe, expect, it } from "vitest";
import { testCertificate, testCertificateKey, trustTestCertificate } from "../certificate.test-bench.ts";
import { clock, comesToPass } from "../data-plane.test-bench.ts";
import type { StreamedAnswer } from "../streamed-answer.ts";
import { UndiciUpstream } from "../undici-upstream.ts";
import type { ClientPresence, Upstream, UpstreamRequest, UpstreamResult } from "../upstream.ts";
import { Http1Upstream } from "./http1-upstream.ts";

const closers: (() => unknown)[] = [];
afterEach(async () => {
  for (const close of closers.splice(0)) await close();
});

type Answering = (socket: Socket, heard: string, connection: number) => void;

interface RawServer {
  readonly origin: string;
  /** What each connection has heard, in the order in which they were made. */
  readonly heard: string[];
  readonly sockets: Socket[];
}

/** Answers whatever ends with an empty line or more. */
async function aServer(answer: Answering): Promise<RawServer> {
  const heard: string[] = [];
  const sockets: Socket[] = [];
  const server = createServer((socket) => {
    const connection = sockets.push(socket) - 1;
    heard.push("");
    socket.on("error", () => {});
    socket.on("data", (chunk: Buffer) => {
      heard[connection] += chunk.toString("latin1");
      answer(socket, heard[connection] ?? "", connection);
    });
  });
  server.listen(0, "127.0.0.1");
  await once(server, "listening");
  closers.push(() => {
    for (const socket of sockets) socket.destroy();
    server.close();
  });
  return { origin: `http://127.0.0.1:${(server.address() as AddressInfo).port}`, heard, sockets };
}

const stays: ClientPresence = { isGone: false, onGone: () => () => {} };
const timeouts = { connectMs: 2_000, headersMs: 2_000, idleMs: 2_000 };

function ask(upstream: Upstream, origin: string, changes: Partial<UpstreamRequest> = {}): Promise<UpstreamResult> {
  return upstream.send({
    origin,
    method: "GET",
    path: "/",
    headers: [],
    body: undefined,
    timeouts,
    presence: stays,
    ...changes,
  });
}

/** The body, or what it broke with. */
function bodyOf(answer: StreamedAnswer): Promise<string> {
  return new Promise((resolve, reject) => {
    let text = "";
    answer.deliver({
      data: (chunk) => {
        text += chunk.toString("latin1");
        return true;
      },
      end: () => resolve(text),
      fail: (error) => reject(error instanceof Error ? error : new Error(String(error))),
    });
  });
}

async function textOf(result: Promise<UpstreamResult>): Promise<string> {
  const settled = await result;
  if (settled.kind !== "answer") throw new Error(settled.kind === "broken" ? settled.message : settled.kind);
  return bodyOf(settled.answer);
}

const well = "HTTP/1.1 200 OK\r\ncontent-length: 2\r\n\r\nok";
const say =
  (text: string): Answering =>
  (socket) =>
    void socket.write(text, "latin1");

describe.each([
  ["undici", UndiciUpstream],
  ["our own client", Http1Upstream],
])("%s", (_, Client) => {
  function open(options?: ConstructorParameters<typeof Client>[1]): Upstream {
    const upstream = new Client(clock, options);
    closers.push(() => upstream.close());
    return upstream;
  }

  it("uses a connection again and again", async () => {
    const server = await aServer(say(well));
    const upstream = open();
    for (let n = 0; n < 5; n++) expect(await textOf(ask(upstream, server.origin))).toBe("ok");

    // undici takes a moment until it has one back, and makes another meanwhile.
    expect(server.sockets.length).toBeLessThanOrEqual(Client === Http1Upstream ? 1 : 2);
    expect(server.heard[0]).toMatch(
      /^GET \/ HTTP\/1\.1\r\nhost: 127\.0\.0\.1:\d+\r\nconnection: keep-alive\r\n\r\nGET/,
    );
  });

  it.each([
    ["that says it closes", "HTTP/1.1 200 OK\r\nconnection: close\r\ncontent-length: 2\r\n\r\nok"],
    ["that says more than its answer", `${well}${well}`],
    ["that keeps it for less than the way takes", well.replace("\r\n", "\r\nkeep-alive: timeout=1\r\n")],
    ["that gives 304 a length", "HTTP/1.1 304 Not Modified\r\ncontent-length: 2\r\n\r\n"],
  ])("does not use the connection of a provider again %s", async (_, text) => {
    const server = await aServer(say(text));
    const upstream = open();
    await textOf(ask(upstream, server.origin));
    await textOf(ask(upstream, server.origin));

    expect(server.sockets).toHaveLength(2);
  });

  it("takes nothing for an answer that came before its request", async () => {
    const server = await aServer((socket, heard) => {
      socket.write(heard.split("GET").length === 2 ? well : "HTTP/1.1 200 OK\r\ncontent-length: 4\r\n\r\nmine");
    });
    const upstream = open();
    await textOf(ask(upstream, server.origin));
    server.sockets[0]?.write("HTTP/1.1 200 OK\r\ncontent-length: 4\r\n\r\nevil");
    await comesToPass(() => expect(server.sockets[0]?.readableEnded || server.sockets[0]?.destroyed).toBe(true));

    expect(await textOf(ask(upstream, server.origin))).toBe("ok");
    expect(server.sockets).toHaveLength(2);
  });

  it("asks of the last connection first, and lets the others go", async () => {
    const server = await aServer((socket) => void setTimeout(() => socket.write(well), 30));
    const upstream = open({ keepAliveMs: 600 });
    await Promise.all([1, 2, 3].map(() => textOf(ask(upstream, server.origin))));
    expect(server.sockets).toHaveLength(3);

    await comesToPass(() => expect(server.sockets.filter(({ destroyed }) => !destroyed)).toHaveLength(0));
    expect(await textOf(ask(upstream, server.origin))).toBe("ok");
  });

  it.each([
    ["of known length", ["content-length", "8"], "content-length: 8\r\n\r\n01234567"],
    ["of unknown length", [], "transfer-encoding: chunked\r\n\r\n4\r\n0123\r\n4\r\n4567\r\n0\r\n\r\n"],
  ])("streams a body %s", async (_, headers, expected) => {
    const server = await aServer((socket, heard) => void (heard.endsWith(expected) && socket.write(well)));
    const body = Readable.from([Buffer.from("0123"), Buffer.from("4567")], { objectMode: false });

    expect(await textOf(ask(open(), server.origin, { method: "POST", headers, body }))).toBe("ok");
    expect(server.heard[0]).toContain(expected);
  });

  it("announces that a streamed body turned out empty", async () => {
    const server = await aServer(say(well));
    const body = Readable.from([], { objectMode: false });

    await textOf(ask(open(), server.origin, { method: "POST", body }));
    expect(server.heard[0]).toMatch(/content-length: 0\r\n\r\n$/);
  });

  it("passes on why a body broke, and breaks the request", async () => {
    const server = await aServer(() => {});
    const broken = new Error("the client stopped");
    const body = Readable.from(
      (async function* pieces() {
        yield Buffer.from("0123");
        await comesToPass(() => expect(server.heard[0]).toMatch(/0123/));
        throw broken;
      })(),
      { objectMode: false },
    );

    const result = await ask(open(), server.origin, { method: "POST", body });

    expect(result).toMatchObject({ kind: "broken", cause: broken, repeatable: false });
    await comesToPass(() => expect(server.sockets[0]?.destroyed).toBe(true));
  });

  it("does not write faster than the provider reads, and lets the rest of a body go when the answer is early", async () => {
    const server = await aServer((socket) => void socket.pause());
    let pieces = 0;
    const body = Readable.from(
      (async function* endless() {
        for (;;) {
          pieces++;
          yield Buffer.alloc(65_536);
          await new Promise((resolve) => setImmediate(resolve));
        }
      })(),
      { objectMode: false },
    );
    const result = ask(open(), server.origin, { method: "POST", body });
    let before = -1;
    await expect
      .poll(() => pieces === before || ((before = pieces), false), { interval: 200, timeout: 10_000 })
      .toBe(true);
    server.sockets[0]?.write(well);

    expect(await textOf(result)).toBe("ok");
    await comesToPass(() => expect(body.destroyed).toBe(true));
    expect(pieces).toBeLessThan(500);
  });

  it("does not read faster than the answer is taken", async () => {
    const server = await aServer((socket) => {
      socket.write("HTTP/1.1 200 OK\r\n\r\n");
      for (let n = 0; n < 200; n++) socket.write(Buffer.alloc(100_000));
    });
    const result = await ask(open(), server.origin);
    if (result.kind !== "answer") throw new Error("no answer");
    let bytes = 0;
    let wantsMore = false;
    const ended = new Promise((resolve, reject) => {
      result.answer.deliver({
        data: (chunk) => {
          bytes += chunk.length;
          return wantsMore;
        },
        end: resolve,
        fail: reject,
      });
    });
    let before = -1;
    await expect.poll(() => bytes === before || ((before = bytes), false), { interval: 100 }).toBe(true);
    expect(bytes).toBeLessThan(5_000_000);
    wantsMore = true;
    result.answer.resume();
    server.sockets[0]?.end();
    await ended;

    expect(bytes).toBe(20_000_000);
  });

  it.each([
    ["no head in time", "", { headersMs: 200 }, "timeout", "The provider sent no response headers in time."],
    ["nonsense", "nonsense\r\n\r\n", {}, "unreachable", "The provider's answer is not valid HTTP."],
    [
      "a length and chunks",
      "HTTP/1.1 200 OK\r\ncontent-length: 5\r\ntransfer-encoding: chunked\r\n\r\n",
      {},
      "unreachable",
      "The provider's answer is not valid HTTP.",
    ],
  ] as const)("tells of %s", async (_, text, limits, fault, message) => {
    const server = await aServer(say(text));

    const result = await ask(open(), server.origin, { method: "POST", timeouts: { ...timeouts, ...limits } });

    expect(result).toMatchObject({ kind: "broken", fault, repeatable: false, message });
    await comesToPass(() => expect(server.sockets[0]?.destroyed).toBe(true));
  });

  it("cuts an answer that does not go on", async () => {
    const server = await aServer(say("HTTP/1.1 200 OK\r\ncontent-length: 5\r\n\r\nhe"));

    await expect(textOf(ask(open(), server.origin, { timeouts: { ...timeouts, idleMs: 200 } }))).rejects.toThrow(/./);
  });

  it("gives up a connection that is not made in time", async () => {
    // Nobody answers there (RFC 5737), or the network says so.
    const result = await ask(open(), "http://192.0.2.1:9", { timeouts: { ...timeouts, connectMs: 300 } });

    expect(result).toMatchObject({ kind: "broken", fault: "unreachable" });
  });

  it("does not send what would be two requests", async () => {
    const server = await aServer(say(well));

    const result = await ask(open(), server.origin, { headers: ["x-a", "b\r\n\r\nGET / HTTP/1.1"] });

    expect(result).toMatchObject({ kind: "broken", repeatable: false });
    expect(server.sockets).toHaveLength(0);
  });

  it("takes TLS sessions up again, offers HTTP/1.1 alone and names the host", async () => {
    closers.push(trustTestCertificate());
    const made: { readonly reused: boolean; readonly protocol: unknown; readonly name: unknown }[] = [];
    const server = createTlsServer({
      cert: testCertificate,
      key: testCertificateKey,
      ALPNProtocols: ["h2", "http/1.1"],
    });
    server.on("secureConnection", (socket: TLSSocket) => {
      made.push({ reused: socket.isSessionReused(), protocol: socket.alpnProtocol, name: socket.servername });
      socket
        .on("error", () => {})
        .on("data", () => void socket.write(well.replace("\r\n", "\r\nconnection: close\r\n")));
    });
    server.listen(0, "127.0.0.1");
    await once(server, "listening");
    closers.push(() => server.close());
    const upstream = open();
    const origin = `https://localhost:${(server.address() as AddressInfo).port}`;
    for (let n = 0; n < 2; n++) {
      expect(await textOf(ask(upstream, origin))).toBe("ok");
      await new Promise((resolve) => setTimeout(resolve, 50));
    }

    expect(made.map(({ protocol }) => protocol)).toEqual(["http/1.1", "http/1.1"]);
    expect(made[0]).toMatchObject({ reused: false, name: "localhost" });
    expect(made[1]?.reused).toBe(true);
  });

  it("ends what is under way when it is closed", async () => {
    const server = await aServer(() => {});
    const upstream = open();
    const result = ask(upstream, server.origin);
    await comesToPass(() => expect(server.heard[0]).toMatch(/GET/));
    await upstream.close();

    expect(await result).toMatchObject({ kind: "broken" });
    await comesToPass(() => expect(server.sockets[0]?.destroyed).toBe(true));
  });
});
