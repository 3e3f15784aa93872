import { once } from "node:events";
import { createServer, type IncomingMessage, request as requestHttp } from "node:http";
import { createServer as createHttpsServer } from "node:https";
import type { AddressInfo, LookupFunction } from "node:net";
import { afterEach, describe, expect, it } from "vitest";
import { isMetadataHost } from "../catalog/base-url.ts";
import { testCertificate, testCertificateKey, trustTestCertificate } from "./certificate.test-bench.ts";
import { type Bench, benchKeys as keys, chat, clock, failuresOf, openDataPlane } from "./data-plane.test-bench.ts";
import { guardedLookup } from "./destinations.ts";
import { testKey } from "./key-test.ts";
import { OutboundProxies } from "./outbound-proxy.ts";

const closers: (() => void)[] = [];
const metadata = "169.254.169.254";

afterEach(() => {
  for (const close of closers.splice(0)) close();
});

/** A resolver whose answers the test decides, and may change. */
function aResolver(...addresses: string[]): { addresses: string[]; asked: string[]; lookup: LookupFunction } {
  const resolver = {
    addresses,
    asked: [] as string[],
    lookup: ((hostname, _, callback) => {
      resolver.asked.push(hostname);
      const found = resolver.addresses.map((address) => ({ address, family: address.includes(":") ? 6 : 4 }));
      setImmediate(() => callback(null, found));
    }) satisfies LookupFunction,
  };
  return resolver;
}

/** The data plane before a provider whose name only this resolver knows. */
async function behind(lookup: LookupFunction, scheme = "http"): Promise<Bench> {
  const server = scheme === "https" ? await aSecureProvider() : undefined;
  const bench = await openDataPlane({
    baseUrl: `${scheme}://provider.test:${server ?? 1}/v1`,
    isForbidden: isMetadataHost,
    lookup,
  });
  if (server === undefined)
    Object.assign(bench.runtime, { baseUrl: new URL(`http://provider.test:${bench.provider.port}/v1`) });
  return bench;
}

async function aSecureProvider(): Promise<number> {
  closers.push(trustTestCertificate());
  const server = createHttpsServer({ cert: testCertificate, key: testCertificateKey }, (_, outgoing) => {
    outgoing.end("{}");
  });
  server.listen(0, "127.0.0.1");
  await once(server, "listening");
  closers.push(() => {
    server.closeAllConnections();
    server.close();
  });
  return (server.address() as AddressInfo).port;
}

async function ask(bench: Bench): Promise<{ status: number; code: string | null; text: string }> {
  const response = await fetch(`${bench.url}/chat/completions`, chat);
  return { status: response.status, code: response.headers.get("x-keywheel-error"), text: await response.text() };
}

async function expectRefused(bench: Bench, words: RegExp): Promise<void> {
  const answer = await ask(bench);
  expect(answer).toMatchObject({ status: 502, code: "upstream_unreachable" });
  expect(answer.text).toMatch(words);
  expect(answer.text).toContain("--allow-private-metadata");
  expect(await failuresOf(bench)).toEqual([0, 0, 0]);
  expect(bench.events.filter(({ type }) => type === "key-disabled" || type === "key-cooled")).toEqual([]);
}

describe("a provider whose name leads to a forbidden address", () => {
  it.each([
    metadata,
    "169.254.0.23",
    "::ffff:169.254.169.254",
    "fe80::1",
    "febf::1",
    "fd00:ec2::254",
    "64:ff9b::a9fe:a9fe",
    "100.100.100.200",
    "168.63.129.16",
  ])("is not connected to, and no key is blamed: %s", async (address) => {
    const resolver = aResolver(address);
    const bench = await behind(resolver.lookup);

    await expectRefused(
      bench,
      new RegExp(`provider\\.test leads to ${address}, a link-local or cloud metadata address`),
    );
    expect(resolver.asked).toEqual(["provider.test"]);
    expect(bench.provider.requests).toEqual([]);
  });

  it("is not connected to on https either", async () => {
    await expectRefused(await behind(aResolver(metadata).lookup, "https"), /leads to 169\.254\.169\.254/);
  });

  it.each(["http", "https"])("only later (rebinding) is refused at the next connection: %s", async (scheme) => {
    const resolver = aResolver("127.0.0.1");
    const bench = await behind(resolver.lookup, scheme);
    expect((await ask(bench)).status).toBe(200);

    resolver.addresses = [metadata];
    await bench.upstream.close();

    await expectRefused(bench, /leads to 169\.254\.169\.254/);
  });

  it("goes on with the connection that was made before, whose address was looked at", async () => {
    const resolver = aResolver("127.0.0.1");
    const bench = await behind(resolver.lookup);
    await ask(bench);

    resolver.addresses = [metadata];

    expect((await ask(bench)).status).toBe(200);
    expect(resolver.asked).toEqual(["provider.test"]);
  });

  it("is reached by its other addresses, as a neighbour with a link-local one beside them", async () => {
    const bench = await behind(aResolver("fe80::1", "127.0.0.1").lookup);

    expect((await ask(bench)).status).toBe(200);
  });

  it("is refused for WebSockets", async () => {
    const bench = await behind(aResolver(metadata).lookup);
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

  it("is refused for the test of a key", async () => {
    const { runtime, upstream, provider } = await behind(aResolver(metadata).lookup);

    const outcome = await testKey(runtime, keys[0]!, upstream, clock);

    expect(outcome).toMatchObject({ ok: false, code: "upstream_unreachable" });
    expect(outcome.message).toContain("leads to 169.254.169.254");
    expect(provider.requests).toEqual([]);
  });

  it("is connected to if the operator allows it", async () => {
    const resolver = aResolver("127.0.0.1");
    const bench = await openDataPlane({ baseUrl: "http://provider.test:1/v1", lookup: resolver.lookup });
    Object.assign(bench.runtime, { baseUrl: new URL(`http://metadata.google.internal:${bench.provider.port}/v1`) });

    expect((await ask(bench)).status).toBe(200);
  });
});

describe("a provider that is itself written as a forbidden address", () => {
  it.each([
    "http://169.254.169.254",
    "https://[fe80::1]",
    "http://[::ffff:a9fe:a9fe]",
    "http://metadata.google.internal",
  ])("is refused without a lookup, as one stored by a gateway that allowed it: %s", async (baseUrl) => {
    const resolver = aResolver("127.0.0.1");
    const bench = await openDataPlane({ baseUrl, isForbidden: isMetadataHost, lookup: resolver.lookup });

    await expectRefused(bench, /is a link-local or cloud metadata address/);
    expect(resolver.asked).toEqual([]);
  });

  it.each(["http://169.254.169.254/v1", "https://metadata.google.internal/v1"])(
    "is not asked for at a proxy: %s",
    async (baseUrl) => {
      const asked: string[] = [];
      const proxy = createServer((incoming, outgoing) => {
        asked.push(incoming.url ?? "");
        outgoing.end();
      });
      proxy.on("connect", ({ url }: IncomingMessage, socket: NodeJS.WritableStream) => {
        asked.push(url ?? "");
        socket.end();
      });
      proxy.listen(0, "127.0.0.1");
      await once(proxy, "listening");
      closers.push(() => proxy.close());
      const url = `http://127.0.0.1:${(proxy.address() as AddressInfo).port}`;
      const proxies = new OutboundProxies({ http_proxy: url, https_proxy: url });

      await expectRefused(await openDataPlane({ baseUrl, proxies, isForbidden: isMetadataHost }), /is a link-local/);
      expect(asked).toEqual([]);
    },
  );
});

describe("the guarded lookup", () => {
  it("gives one address to who asks for one", async () => {
    const guarded = guardedLookup(isMetadataHost, aResolver(metadata, "192.0.2.1").lookup);

    const found = await new Promise((resolve) => guarded("provider.test", {}, (...given) => resolve(given)));

    expect(found).toEqual([null, "192.0.2.1", 4]);
  });

  it("passes on that a name is not known", async () => {
    const unknown = Object.assign(new Error("no such host"), { code: "ENOTFOUND" });
    const bench = await behind((_, __, callback) => setImmediate(() => callback(unknown, [])));

    expect((await ask(bench)).text).toContain("The provider's host name is not known.");
  });
});
