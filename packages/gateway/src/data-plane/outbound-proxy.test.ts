import { once } from "node:events";
import { createServer, type IncomingMessage, request as requestHttp, type ServerResponse } from "node:http";
import { createServer as createHttpsServer } from "node:https";
import { type AddressInfo, connect, type Socket } from "node:net";
import { inspect } from "node:util";
import { afterEach, describe, expect, it } from "vitest";
import { reply } from "@keywheel/testkit";
import { testCertificate, testCertificateKey, trustTestCertificate } from "./certificate.test-bench.ts";
import { type Bench, benchKeys as keys, chat, failuresOf, openDataPlane, rawSocket } from "./data-plane.test-bench.ts";
import { OutboundProxies } from "./outbound-proxy.ts";

const password = "pa55-w0rd!";
const closers: (() => void)[] = [];

afterEach(() => {
  for (const close of closers.splice(0)) close();
});

/** A proxy that finds every provider on one port of this machine, and writes down what it was asked. */
interface TestProxy {
  /** With a name and a password in it. */
  readonly url: string;
  readonly name: string;
  readonly asked: { readonly line: string; readonly credentials: string | undefined }[];
  /** Where the provider is. */
  port: number;
  /** Answers instead, if set. */
  refusal: { readonly status: number; readonly headers?: Record<string, string> } | "silence" | undefined;
}

async function aProxy(): Promise<TestProxy> {
  const server = createServer();
  const sockets = new Set<Socket>();
  const asked: TestProxy["asked"] = [];
  const note = ({ method, url, headers }: IncomingMessage): void =>
    void asked.push({ line: `${method} ${url}`, credentials: headers["proxy-authorization"] });
  server.on("connection", (socket: Socket) => sockets.add(socket));
  server.on("request", (incoming: IncomingMessage, outgoing: ServerResponse) => {
    note(incoming);
    const { refusal } = proxy;
    if (refusal === "silence") return;
    if (refusal !== undefined) return void outgoing.writeHead(refusal.status, refusal.headers).end("no");
    const { pathname, search } = new URL(incoming.url ?? "");
    const headers = incoming.rawHeaders.flatMap((item, index, all) =>
      index % 2 === 0 && item.toLowerCase() !== "proxy-authorization" ? [item, all[index + 1] ?? ""] : [],
    );
    const options = { port: proxy.port, path: pathname + search, method: incoming.method ?? "", headers };
    const onward = requestHttp(options, (answer) => {
      outgoing.writeHead(answer.statusCode ?? 0, answer.rawHeaders);
      answer.pipe(outgoing);
    });
    onward.on("error", () => outgoing.destroy());
    incoming.pipe(onward);
  });
  server.on("connect", (incoming: IncomingMessage, socket: Socket) => {
    note(incoming);
    socket.on("error", () => {});
    const { refusal } = proxy;
    if (refusal === "silence") return;
    if (refusal !== undefined) return void socket.end(`HTTP/1.1 ${refusal.status} No\r\ncontent-length: 0\r\n\r\n`);
    const onward = connect(proxy.port, "127.0.0.1", () => {
      socket.write("HTTP/1.1 200 Connection established\r\n\r\n");
      socket.pipe(onward).pipe(socket);
    });
    onward.on("error", () => socket.destroy());
  });
  server.listen(0, "127.0.0.1");
  await once(server, "listening");
  closers.push(() => {
    for (const socket of sockets) socket.destroy();
    server.close();
  });
  const name = `127.0.0.1:${(server.address() as AddressInfo).port}`;
  const url = `http://operator:${encodeURIComponent(password)}@${name}`;
  const proxy: TestProxy = { url, name, asked, port: 0, refusal: undefined };
  return proxy;
}

const credentials = `Basic ${Buffer.from(`operator:${password}`).toString("base64")}`;
const quick = { connectMs: 300, headersMs: 5_000, idleMs: 5_000 };

/** The data plane before a provider that only the proxy can find. */
async function behind(proxy: TestProxy, baseUrl = "http://provider.test/v1"): Promise<Bench> {
  const proxies = new OutboundProxies({ http_proxy: proxy.url, HTTPS_PROXY: proxy.url });
  const bench = await openDataPlane({ baseUrl, proxies, settings: { timeouts: quick } });
  proxy.port = bench.provider.port;
  return bench;
}

async function errorOf(bench: Bench): Promise<{ status: number; code: string | null; text: string }> {
  const response = await fetch(`${bench.url}/chat/completions`, chat);
  return {
    status: response.status,
    code: response.headers.get("x-keywheel-error"),
    text: await response.text(),
  };
}

/** A provider on https that answers with what it got. */
async function aSecureProvider(): Promise<number> {
  closers.push(trustTestCertificate());
  const server = createHttpsServer({ cert: testCertificate, key: testCertificateKey }, (incoming, outgoing) => {
    outgoing.end(JSON.stringify({ url: incoming.url, headers: incoming.rawHeaders }));
  });
  server.listen(0, "127.0.0.1");
  await once(server, "listening");
  closers.push(() => {
    server.closeAllConnections();
    server.close();
  });
  return (server.address() as AddressInfo).port;
}

describe("the way to a provider", () => {
  const all = { http_proxy: "http://plain:3128", https_proxy: "http://secure:3128" };

  it.each([
    ["https by https_proxy", all, "https://api.openai.com", "secure:3128"],
    ["http by http_proxy", all, "http://llm.example:8000", "plain:3128"],
    ["https not by http_proxy", { http_proxy: "http://plain:3128" }, "https://api.openai.com", undefined],
    ["upper case", { HTTPS_PROXY: "http://upper:1" }, "https://api.openai.com", "upper:1"],
    [
      "lower case before upper",
      { HTTPS_PROXY: "http://upper:1", https_proxy: "http://lower:1" },
      "https://a.b",
      "lower:1",
    ],
    ["upper case where lower is empty", { HTTPS_PROXY: "http://upper:1", https_proxy: "" }, "https://a.b", "upper:1"],
    ["without a scheme", { https_proxy: "proxy.corp:3128" }, "https://a.b", "proxy.corp:3128"],
    ["without a port", { https_proxy: "http://proxy.corp" }, "https://a.b", "proxy.corp:80"],
    ["an empty environment", {}, "https://a.b", undefined],
    ["localhost", all, "http://localhost:11434", undefined],
    ["below localhost", all, "http://ollama.localhost:11434", undefined],
    ["127.0.0.1", all, "https://127.0.0.1:8443", undefined],
    ["all of 127", all, "http://127.8.8.8", undefined],
    ["::1", all, "http://[::1]:11434", undefined],
    ["127 inside IPv6", all, "http://[::ffff:127.0.0.1]", undefined],
    ["0.0.0.0", all, "http://0.0.0.0:11434", undefined],
    ["a neighbour", all, "http://192.168.1.5:8000", "plain:3128"],
    ["*", { ...all, no_proxy: "*" }, "https://api.openai.com", undefined],
    ["the name", { ...all, no_proxy: "api.openai.com" }, "https://api.openai.com", undefined],
    ["the name, in upper case", { ...all, NO_PROXY: "API.OpenAI.com" }, "https://api.openai.com", undefined],
    ["a domain", { ...all, no_proxy: "other, openai.com" }, "https://api.openai.com", undefined],
    ["a domain with a dot", { ...all, no_proxy: ".openai.com" }, "https://api.openai.com", undefined],
    ["a domain with a dot, itself", { ...all, no_proxy: ".openai.com" }, "https://openai.com", undefined],
    ["a wildcard", { ...all, no_proxy: "*.openai.com" }, "https://api.openai.com", undefined],
    ["a wildcard, not itself", { ...all, no_proxy: "*.openai.com" }, "https://openai.com", "secure:3128"],
    ["the end of a name only", { ...all, no_proxy: "openai.com" }, "https://notopenai.com", "secure:3128"],
    ["a final dot", { ...all, no_proxy: "openai.com." }, "https://api.openai.com.", undefined],
    ["its port", { ...all, no_proxy: "openai.com:443" }, "https://openai.com", undefined],
    ["another port", { ...all, no_proxy: "openai.com:8443" }, "https://openai.com", "secure:3128"],
    ["an address", { ...all, no_proxy: "10.1.2.3" }, "http://10.1.2.3:8000", undefined],
    ["a network", { ...all, no_proxy: "192.168.0.0/16 10.0.0.0/8" }, "http://10.1.2.3:8000", undefined],
    ["another network", { ...all, no_proxy: "192.168.0.0/16" }, "http://10.1.2.3:8000", "plain:3128"],
    ["a network of names", { ...all, no_proxy: "10.0.0.0/8" }, "http://ten.example", "plain:3128"],
    ["no network", { ...all, no_proxy: "10.0.0.0/99" }, "http://10.1.2.3", "plain:3128"],
    ["IPv6", { ...all, no_proxy: "2001:db8::1" }, "http://[2001:db8:0:0::1]:8000", undefined],
    ["IPv6 with a port", { ...all, no_proxy: "[2001:db8::1]:8000" }, "http://[2001:db8::1]:8000", undefined],
    ["a network of IPv6", { ...all, no_proxy: "2001:db8::/32" }, "http://[2001:db8:5::1]", undefined],
  ])("is chosen by the environment: %s", (_, environment, origin, expected) => {
    expect(new OutboundProxies(environment).proxyFor(origin)?.name).toBe(expected);
  });

  it.each([
    ["a proxy of another kind", `socks5://operator:${password}@proxy.corp:1080`],
    ["no URL", `http://operator:${password}@`],
  ])("is refused at the start for %s, without repeating its password", (_, url) => {
    const read = () => new OutboundProxies({ HTTPS_PROXY: url });

    expect(read).toThrow("HTTPS_PROXY is not the URL of an HTTP proxy.");
    expect(read).not.toThrow(password);
  });

  it("shows a proxy without its credentials", () => {
    const proxy = new OutboundProxies({ https_proxy: `http://operator:${password}@proxy.corp:3128` }).proxyFor(
      "https://a.b",
    );

    expect(proxy?.authorization?.reveal()).toBe(credentials);
    expect(inspect(proxy) + JSON.stringify(proxy)).not.toMatch(/pa55|b3BlcmF0b3/);
  });
});

describe("a provider behind a proxy", () => {
  it("on http is asked by the proxy, and gets the request as it was sent", async () => {
    const proxy = await aProxy();
    const bench = await behind(proxy);
    const socket = await rawSocket(
      bench,
      "POST /llm/chat/completions?a=1 HTTP/1.1\r\nHost: x\r\nanthropic-beta: one\r\nanthropic-beta: two\r\n" +
        "Proxy-Authorization: Basic mine\r\nContent-Length: 2\r\nConnection: close\r\n\r\n{}",
    );
    socket.resume();
    const seen = await bench.provider.arrived(1);

    expect(proxy.asked).toEqual([{ line: "POST http://provider.test/v1/chat/completions?a=1", credentials }]);
    expect(seen.url).toBe("/v1/chat/completions?a=1");
    expect(seen.header("host")).toBe("provider.test");
    expect(seen.headerValues("anthropic-beta")).toEqual(["one", "two"]);
    expect(seen.header("authorization")).toBe(`Bearer ${keys[0]}`);
    expect(bench.provider.faults).toEqual([]);
  });

  it("on https is reached through a tunnel, which is kept", async () => {
    const proxy = await aProxy();
    const bench = await behind(proxy, "https://provider.test/v1");
    proxy.port = await aSecureProvider();
    const ask = async (): Promise<{ url: string; headers: string[] }> =>
      (await (await fetch(`${bench.url}/models?b=2`)).json()) as { url: string; headers: string[] };
    const first = await ask();
    await ask();

    expect(proxy.asked).toEqual([{ line: "CONNECT provider.test:443", credentials }]);
    expect(first.url).toBe("/v1/models?b=2");
    expect(first.headers).toContain(`Bearer ${keys[0]}`);
    expect(first.headers.join().toLowerCase()).not.toContain("proxy");
  });

  it.each([
    ["http", "http://provider.test:8000/v1", "CONNECT provider.test:8000"],
    ["IPv6", "http://[2001:db8::1]/v1", "CONNECT [2001:db8::1]:80"],
  ])("is reached through a tunnel for WebSockets: %s", async (_, baseUrl, line) => {
    const proxy = await aProxy();
    const bench = await behind(proxy, baseUrl);
    const socket = new WebSocket(`${bench.url.replace("http", "ws")}/realtime?model=m`);
    await new Promise((resolve, reject) => {
      socket.addEventListener("open", resolve);
      socket.addEventListener("error", reject);
    });
    const echoed = new Promise((resolve) => socket.addEventListener("message", resolve));
    socket.send("hello");

    expect(((await echoed) as MessageEvent).data).toBe("hello");
    expect(proxy.asked).toEqual([{ line, credentials }]);
    socket.close();
  });

  it("is not looked for there if it is on this machine (case 65)", async () => {
    const proxy = await aProxy();
    const proxies = new OutboundProxies({ http_proxy: proxy.url, https_proxy: proxy.url });
    const bench = await openDataPlane({ proxies });

    expect((await fetch(`${bench.url}/chat/completions`, chat)).status).toBe(200);
    expect(proxy.asked).toEqual([]);
  });

  it("is not looked for there if NO_PROXY names it", async () => {
    const proxies = new OutboundProxies({ http_proxy: "http://127.0.0.1:1", NO_PROXY: "127.0.0.1,.invalid" });
    const bench = await openDataPlane({ proxies, baseUrl: "http://provider.invalid/v1" });

    expect(await errorOf(bench)).toMatchObject({ status: 502, text: expect.stringContaining("host name") as string });
  });

  it("fails over as ever: what it answers through the proxy is its own", async () => {
    const proxy = await aProxy();
    const bench = await behind(proxy);
    bench.provider.on({ key: keys[0]! }).next(reply.json(429, {}, { error: { message: "slow down" } }));

    expect((await fetch(`${bench.url}/chat/completions`, chat)).status).toBe(200);
    expect(bench.provider.picks()).toBe("AB");
    expect(await failuresOf(bench)).toEqual([1, 0, 0]);
  });
});

describe("a proxy that fails", () => {
  it.each([
    ["refuses its password", { status: 407 }, "refuses the name or the password (407)"],
    ["refuses the host", { status: 403 }, "made no connection to provider.test:443 (403)"],
    ["finds no host", { status: 502 }, "made no connection to provider.test:443 (502)"],
    ["says nothing", "silence" as const, "made no connection to provider.test:443 in time"],
  ])("and %s gives 502 and names itself; no key is blamed", async (_, refusal, words) => {
    const proxy = await aProxy();
    const bench = await behind(proxy, "https://provider.test/v1");
    proxy.refusal = refusal;
    const answer = await errorOf(bench);

    expect(answer).toMatchObject({ status: 502, code: "upstream_unreachable" });
    expect(answer.text).toContain(`The proxy ${proxy.name} ${words}`);
    expect(answer.text).not.toMatch(/pa55|operator|b3BlcmF0b3/);
    expect(await failuresOf(bench)).toEqual([0, 0, 0]);
    expect(proxy.asked.every(({ line }) => line === "CONNECT provider.test:443")).toBe(true);
  });

  it.each([
    ["its 407", { status: 407, headers: { "proxy-authenticate": "Basic" } }],
    ["squid's 403", { status: 403, headers: { "x-squid-error": "ERR_ACCESS_DENIED 0" } }],
    ["a told fault", { status: 502, headers: { "proxy-status": "corp; error=dns_error" } }],
  ])("when it should have passed a request on is told from the provider: %s", async (_, refusal) => {
    const proxy = await aProxy();
    const bench = await behind(proxy);
    proxy.refusal = refusal;
    const answer = await errorOf(bench);

    expect(answer).toMatchObject({ status: 502, code: "upstream_unreachable" });
    expect(answer.text).toContain(`The proxy ${proxy.name} `);
    expect(await failuresOf(bench)).toEqual([0, 0, 0]);
    expect(bench.events.filter(({ type }) => type === "key-disabled")).toEqual([]);
  });

  it.each(["http://provider.test/v1", "https://provider.test/v1"])("to be there gives 502: %s", async (baseUrl) => {
    const url = `http://operator:${password}@127.0.0.1:1`;
    const proxies = new OutboundProxies({ http_proxy: url, https_proxy: url });
    const bench = await openDataPlane({ baseUrl, proxies });
    const answer = await errorOf(bench);

    expect(answer).toMatchObject({ status: 502, code: "upstream_unreachable" });
    expect(answer.text).toContain("The proxy 127.0.0.1:1 cannot be reached (ECONNREFUSED).");
    expect(answer.text).not.toContain("pa55");
  });

  it("fails WebSockets with 502 as well", async () => {
    const proxy = await aProxy();
    const bench = await behind(proxy);
    proxy.refusal = { status: 407 };
    const request = requestHttp({
      port: bench.port,
      path: "/llm/realtime",
      headers: { connection: "upgrade", upgrade: "websocket", "sec-websocket-key": "dGhlIHNhbXBsZSBub25jZQ==" },
    });
    request.end();
    const [response] = (await once(request, "response")) as [IncomingMessage];
    response.resume();

    expect([response.statusCode, response.headers["x-keywheel-error"]]).toEqual([502, "upstream_unreachable"]);
  });
});
