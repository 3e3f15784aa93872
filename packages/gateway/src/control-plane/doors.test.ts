import { createServer, type Server } from "node:http";
import { connect } from "node:net";
import { afterEach, describe, expect, it } from "vitest";
import { admit, checkBind, type DoorPolicy, isControlPath, isLoopback, judgeVisitor } from "./doors.ts";

const policy: DoorPolicy = {
  boundHost: "127.0.0.1",
  allowHosts: ["gateway.example", "other.example:8443", "192.168.1.9"],
  allowOrigins: ["https://chat.example", "http://localhost:3000"],
};

function judge(
  headers: Record<string, string>,
  { method = "GET", url = "/openai/v1/models", localAddress = "127.0.0.1", ...parts }: Record<string, string> = {},
) {
  const own = parts["boundHost"] === undefined ? policy : { ...policy, boundHost: parts["boundHost"] };
  return judgeVisitor({ method, url, localAddress, headers: { host: "127.0.0.1:8787", ...headers } }, own);
}

describe("the host that was asked for", () => {
  it.each([
    "localhost",
    "localhost:8787",
    "LOCALHOST:8787",
    "localhost.",
    "app.localhost:8787",
    "127.0.0.1",
    "127.9.8.7:1",
    "[::1]:8787",
    "[::1]",
    "[0:0:0:0:0:0:0:1]:8787",
    "[::ffff:127.0.0.1]:8787",
    "gateway.example",
    "gateway.example:9999",
    "GATEWAY.example.",
    "other.example:8443",
    "192.168.1.9:8787",
  ])("is ours: %s", (host) => {
    expect(judge({ host })).toEqual({ kind: "pass", headers: {} });
  });

  it.each([
    "evil.example",
    "evil.example:8787",
    "127.0.0.1.evil.example",
    "localhost.evil.example",
    "notlocalhost",
    "other.example",
    "other.example:1",
    "gateway.example.evil.example",
    "192.168.1.10",
    "0.0.0.0:8787",
    "127.1",
    "2130706433",
    "",
    " ",
    "a b",
    "user@localhost",
    "localhost:8787:1",
    "[::1",
    "[::2]",
    "127.0.0.1, evil.example",
  ])("is not ours, on any path: %j", (host) => {
    for (const url of ["/openai/v1/models", "/api/status", "/ui/", "/healthz", "/", "*"]) {
      expect(judge({ host }, { url })).toMatchObject({ kind: "refuse", code: "misdirected" });
    }
  });

  it("must be named", () => {
    expect(judgeVisitor({ method: "GET", url: "/", headers: {} }, policy)).toMatchObject({ code: "misdirected" });
  });

  it("is the address that the connection came to, behind a wildcard bind", () => {
    const wildcard = { boundHost: "0.0.0.0", localAddress: "::ffff:10.1.2.3" };

    expect(judge({ host: "10.1.2.3:8787" }, wildcard).kind).toBe("pass");
    expect(judge({ host: "10.1.2.4:8787" }, wildcard).kind).toBe("refuse");
    expect(judge({ host: "rebound.example:8787" }, wildcard).kind).toBe("refuse");
  });

  it("is the name that it was bound by", () => {
    expect(judge({ host: "box.lan:8787" }, { boundHost: "box.lan" }).kind).toBe("pass");
  });
});

describe("the page that asks", () => {
  it.each([
    ["http://127.0.0.1:8787", "127.0.0.1:8787"],
    ["http://localhost:8787", "localhost:8787"],
    ["https://gateway.example", "gateway.example"],
    ["https://gateway.example", "gateway.example:443"],
    ["http://[::1]:8787", "[::1]:8787"],
  ])("is our own: %s at %s", (origin, host) => {
    for (const url of ["/api/keys", "/openai/v1/models"]) {
      expect(judge({ origin, host }, { url, method: "POST" })).toEqual({ kind: "pass", headers: {} });
    }
  });

  it.each([
    "https://evil.example",
    "null",
    "http://127.0.0.1:3000",
    "http://localhost:8787",
    "http://127.0.0.1",
    "http://127.0.0.1:8787.evil.example",
    "http://127.0.0.1:8787/",
    "file://",
    "chrome-extension://abc",
    "",
  ])("is another's, on any path: %j", (origin) => {
    for (const url of ["/openai/v1/models", "/api/status", "/ui/", "/healthz"]) {
      expect(judge({ origin }, { url })).toMatchObject({ kind: "refuse", code: "forbidden" });
    }
  });

  it("is let in where the operator named it, and told so by CORS", () => {
    const verdict = judge({ origin: "https://chat.example" }, { method: "POST" });

    expect(verdict).toEqual({
      kind: "pass",
      headers: {
        "access-control-allow-origin": "https://chat.example",
        "access-control-expose-headers": "*",
        vary: "Origin",
      },
    });
  });

  it("may ask before it asks, without a token", () => {
    const verdict = judge(
      {
        origin: "https://chat.example",
        "access-control-request-method": "POST",
        "access-control-request-headers": "authorization,content-type",
        "access-control-request-private-network": "true",
      },
      { method: "OPTIONS" },
    );

    expect(verdict).toMatchObject({
      kind: "preflight",
      headers: {
        "access-control-allow-origin": "https://chat.example",
        "access-control-allow-methods": "POST",
        "access-control-allow-headers": "authorization,content-type",
        "access-control-allow-private-network": "true",
      },
    });
  });

  it("never reaches what is managed, named or not", () => {
    for (const url of ["/api/status", "/api", "/ui/", "/healthz", "/metrics", "/"]) {
      for (const method of ["GET", "POST", "OPTIONS"]) {
        const headers = { origin: "https://chat.example", "access-control-request-method": "POST" };
        expect(judge(headers, { url, method })).toMatchObject({ kind: "refuse", code: "forbidden" });
      }
    }
  });

  it.each(["cross-site", "same-site"])("is refused a write when the browser says it is %s", (site) => {
    expect(judge({ "sec-fetch-site": site }, { url: "/api/providers", method: "POST" }).kind).toBe("refuse");
    expect(judge({ "sec-fetch-site": site }, { url: "/ui/sign-in?code=x" }).kind).toBe("pass");
  });

  it.each(["cross-site", "same-site"])(
    "is refused the data plane when the browser says it is %s, a picture too",
    (site) => {
      for (const method of ["GET", "HEAD", "POST"]) {
        const verdict = judge({ "sec-fetch-site": site }, { url: "/openai/v1/models", method });
        expect(verdict).toMatchObject({ kind: "refuse", code: "forbidden" });
      }
      const allowed = { origin: "https://chat.example", "sec-fetch-site": site };
      expect(judge(allowed, { url: "/openai/v1/models" }).kind).toBe("pass");
    },
  );

  it.each(["same-origin", "none"])("may write when the browser says it is %s", (site) => {
    expect(judge({ "sec-fetch-site": site }, { url: "/api/providers", method: "POST" }).kind).toBe("pass");
  });
});

describe("the two planes", () => {
  it.each([
    "/",
    "/?x",
    "/api",
    "/api/keys",
    "/ui",
    "/ui/x?y",
    "/healthz",
    "/readyz",
    "/metrics",
    "//openai",
    "/favicon.ico",
  ])("managed: %s", (url) => expect(isControlPath(url)).toBe(true));

  it.each(["/openai", "/openai/api", "/apis/x", "/%61pi/keys", "/API/keys", "*", "http://x/api"])(
    "proxied: %s",
    (url) => expect(isControlPath(url)).toBe(false),
  );
});

describe("the address to bind to", () => {
  it.each(["127.0.0.1", "127.0.0.5", "::1", "[::1]", "localhost", "LOCALHOST"])("is this machine's own: %s", (host) => {
    expect(isLoopback(host)).toBe(true);
    expect(checkBind({ host, requiresToken: false, hasAdminToken: false })).toBeUndefined();
  });

  it.each(["0.0.0.0", "::", "192.168.1.5", "gateway.example", "::ffff:10.0.0.1"])("needs tokens: %s", (host) => {
    expect(checkBind({ host, requiresToken: false, hasAdminToken: true })).toMatch(/token create.*--require-token/);
    expect(checkBind({ host, requiresToken: true, hasAdminToken: false })).toMatch(/KEYWHEEL_ADMIN_TOKEN/);
    expect(checkBind({ host, requiresToken: true, hasAdminToken: true })).toBeUndefined();
  });
});

describe("the doors of a server", () => {
  let server: Server | undefined;
  afterEach(() => new Promise((resolve) => server?.close(resolve) ?? resolve(undefined)));

  async function ask(lines: readonly string[]): Promise<string> {
    server = createServer((request, response) => {
      if (admit(request, response, policy)) response.writeHead(200, { "x-own": "1" }).end("behind the doors");
    });
    await new Promise<void>((resolve) => server?.listen(0, "127.0.0.1", resolve));
    const address = server.address();
    const socket = connect(typeof address === "object" && address !== null ? address.port : 0, "127.0.0.1");
    socket.end([...lines, "connection: close", "", ""].join("\r\n"));
    return (await socket.setEncoding("utf8").toArray()).join("");
  }

  it("say in problem+json why they stay shut", async () => {
    const answer = await ask(["GET /openai/v1/models HTTP/1.1", "host: evil.example"]);

    expect(answer).toMatch(/^HTTP\/1.1 421 /);
    expect(answer).toMatch(/content-type: application\/problem\+json/);
    expect(answer).toMatch(/"code":"misdirected"/);
    expect(answer).not.toContain("behind");
  });

  it("put CORS on what is answered behind them", async () => {
    const answer = await ask(["GET /openai/v1/models HTTP/1.1", "host: localhost", "origin: https://chat.example"]);

    expect(answer).toMatch(/access-control-allow-origin: https:\/\/chat.example/);
    expect(answer).toMatch(/x-own: 1[^]*behind the doors/);
  });

  it("answer what a browser asks beforehand", async () => {
    const answer = await ask([
      "OPTIONS /openai/v1/models HTTP/1.1",
      "host: localhost",
      "origin: https://chat.example",
      "access-control-request-method: POST",
    ]);

    expect(answer).toMatch(/^HTTP\/1.1 204 /);
    expect(answer).not.toContain("behind");
  });
});
