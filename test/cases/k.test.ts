import { createServer, type Server } from "node:http";
import type { AddressInfo } from "node:net";
import { geminiError, openAiError, reply, runGateway, type RunningGateway } from "@keywheel/testkit";
import type { Browser } from "playwright-core";
import { beforeAll, describe, expect, it } from "vitest";
import { launchBrowser, openPage, openSignedIn } from "../pages/browser.ts";
import { poolOf } from "../pooled-provider.ts";
import { callOnWire, talkOnWire, type WireAnswer } from "../wire-client.ts";

const allowedOrigin = "https://app.example";

let gateway: RunningGateway;
let browser: Browser;
beforeAll(async () => {
  [gateway, browser] = await Promise.all([runGateway({ flags: ["--log-level", "debug"] }), launchBrowser()]);
  return async () => {
    await browser.close();
    await gateway[Symbol.asyncDispose]();
  };
});

/** A listener that nobody may ever reach. */
interface Stranger extends AsyncDisposable {
  readonly host: string;
  readonly heard: readonly string[];
}

async function aStranger(): Promise<Stranger> {
  const heard: string[] = [];
  const server: Server = createServer((request, response) => {
    heard.push(`${request.method} ${request.url}`);
    response.end("reached");
  });
  server.on("connection", (socket) => heard.push(`connection from ${socket.remotePort}`));
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  return {
    host: `127.0.0.1:${(server.address() as AddressInfo).port}`,
    heard,
    async [Symbol.asyncDispose]() {
      server.closeAllConnections();
      await new Promise((resolve) => server.close(resolve));
    },
  };
}

/** The status of the first answer on a connection; 0 if it was closed without one. */
function statusOf(answer: string): number {
  return Number(/^HTTP\/1\.1 (\d{3})/.exec(answer)?.[1] ?? 0);
}

/** Everything that `/api` shows of what can be changed. */
async function everything(own: RunningGateway): Promise<unknown> {
  const { data: providers } = await own.api<{ data: { id: string; slug: string }[] }>("GET", "/providers");
  const keys = await Promise.all(providers.map((provider) => own.keys(provider)));
  return { providers, keys, tokens: await own.api("GET", "/tokens") };
}

describe("K. security", () => {
  it("case 102: a key goes out in a header, never in an address, whatever the client did with its own", async () => {
    await using pool = await poolOf(gateway, { kind: "gemini", weights: [1] });
    const path = `/${pool.record.slug}/v1beta/models/gemini-test:generateContent?key=client-own-0123456789&alt=json`;
    const body = '{"contents":[{"parts":[{"text":"hi"}]}]}';

    await callOnWire(gateway.url, { path, body, headers: { "content-type": "application/json" } });

    const [request] = pool.provider.requests;
    expect(request?.url).toBe("/v1beta/models/gemini-test:generateContent?alt=json");
    expect(request?.header("x-goog-api-key")).toBe(pool.valueOf("A"));
    expect(gateway.logs()).not.toContain("client-own");
  });

  it("case 102: what the provider says of a key is told without it: to the client, in `/api`, in the log", async () => {
    await using pool = await poolOf(gateway, { kind: "gemini", weights: [1] });
    const value = pool.valueOf("A");
    const echoes = [value, encodeURIComponent(value), Buffer.from(value).toString("base64"), value.slice(0, 20)];
    pool.provider.on().next(geminiError(403, "PERMISSION_DENIED", `Consumer ${echoes.join(" ")} was denied`));

    const response = await pool.send();
    const seen = [
      await response.text(),
      JSON.stringify(await gateway.keys(pool.record)),
      JSON.stringify(await gateway.api("GET", `/requests?provider=${pool.record.id}`)),
      JSON.stringify(await gateway.api("GET", "/notices")),
      gateway.logs(),
    ];

    expect(seen[0]).toContain("Consumer [redacted]");
    for (const text of seen) for (const echo of echoes) expect(text).not.toContain(echo);
  });

  it.each([
    (host: string, slug: string) => `GET http://${host}/${slug}/v1/models HTTP/1.1\r\nHost: localhost`,
    (host: string) => `GET http://${host}/v1/models HTTP/1.1\r\nHost: ${host}`,
    (host: string, slug: string) => `GET //${host}/${slug}/v1/models HTTP/1.1\r\nHost: localhost`,
    (host: string, slug: string) => `GET /${slug}//${host}/v1/models HTTP/1.1\r\nHost: localhost`,
    (host: string, slug: string) => `GET /${slug}/http://${host}/v1/models HTTP/1.1\r\nHost: localhost`,
    (host: string, slug: string) => `GET /${slug}@${host}/v1/models HTTP/1.1\r\nHost: localhost`,
    (host: string, slug: string) => `GET /${slug}/@${host}/v1/models HTTP/1.1\r\nHost: localhost`,
    (host: string, slug: string) => `GET /${slug}/..//${host}/ HTTP/1.1\r\nHost: localhost`,
    (host: string, slug: string) => `GET /${slug}/%2e%2e/%2f${host}/ HTTP/1.1\r\nHost: localhost`,
    (host: string, slug: string) => `GET /${slug}/%252e%252e/${host}/ HTTP/1.1\r\nHost: localhost`,
    (host: string, slug: string) => `GET /${slug}\\..\\..\\${host}/ HTTP/1.1\r\nHost: localhost`,
    (host: string, slug: string) => `GET /${slug}/\\\\${host}/v1/models HTTP/1.1\r\nHost: localhost`,
    (host: string, slug: string) => `GET /${slug}/v1/models#@${host} HTTP/1.1\r\nHost: localhost`,
    (host: string, slug: string) => `GET /${slug}/v1/models?base_url=http://${host} HTTP/1.1\r\nHost: localhost`,
    (host: string, slug: string) => `GET /${slug}/v1/models HTTP/1.1\r\nHost: ${host}@localhost`,
    (host: string, slug: string) => `GET /${slug}/v1/models HTTP/1.1\r\nHost: localhost\r\nHost: ${host}`,
    (host: string, slug: string) => `GET /${slug}/v1/models HTTP/1.1\r\nHost: localhost\r\nX-Forwarded-Host: ${host}`,
    (host: string, slug: string) => `GET /${slug}/v1/models HTTP/1.1\r\nHost: localhost\r\nForwarded: host=${host}`,
    (host: string, slug: string) => `GET /${slug}/v1/models HTTP/1.1\r\nHost: localhost\r\nX-Original-URL: //${host}/`,
    (host: string) => `CONNECT ${host} HTTP/1.1\r\nHost: ${host}`,
    () => `OPTIONS * HTTP/1.1\r\nHost: localhost`,
  ])("case 104: no request line or header leads elsewhere (%#)", async (write) => {
    await using stranger = await aStranger();
    await using pool = await poolOf(gateway, { kind: "openai-compatible", weights: [1] });

    const answer = await talkOnWire(
      gateway.url,
      `${write(stranger.host, pool.record.slug)}\r\nConnection: close\r\n\r\n`,
    );

    expect(statusOf(answer)).toBeGreaterThanOrEqual(200);
    expect(stranger.heard).toEqual([]);
    const { host } = new URL(pool.provider.origin);
    for (const request of pool.provider.requests) expect(request.header("host")).toBe(host);
  });

  it.each(["base_url", "api_base", "baseURL", "endpoint", "host", "url"])(
    "case 104: `%s` in a body is the provider's to read, not ours",
    async (field) => {
      await using stranger = await aStranger();
      await using pool = await poolOf(gateway, { weights: [1] });
      const body = {
        model: "gpt-test",
        messages: [{ role: "user", content: "hi" }],
        [field]: `http://${stranger.host}`,
      };

      await (await pool.send({ body })).arrayBuffer();

      expect([pool.provider.requests.length, stranger.heard]).toEqual([1, []]);
    },
  );

  it("case 104: a redirect of the provider is the client's to follow, without the key", async () => {
    await using stranger = await aStranger();
    await using pool = await poolOf(gateway, { weights: [1] });
    pool.provider.on().next(reply.redirect(`http://${stranger.host}/v1/models`, 307));

    const answer = await callOnWire(gateway.url, { path: `/${pool.record.slug}/v1/models` });

    expect([answer.status, stranger.heard]).toEqual([307, []]);
  });

  it.each([
    "http://169.254.169.254/latest/meta-data",
    "http://[::ffff:169.254.169.254]/",
    "http://0xa9fea9fe/",
    "http://2852039166/",
    "http://0251.0376.0251.0376/",
    "http://169.254.169.254./",
    "http://metadata.google.internal/computeMetadata/v1",
    "http://[fe80::1]/v1",
    "http://[fd00:ec2::254]/",
    "http://100.100.100.200/",
    "https://user:secret@provider.example/v1",
    "https://secret@provider.example/v1",
    "file:///etc/passwd",
    "gopher://127.0.0.1/",
    "javascript:alert(1)",
    "//provider.example/v1",
    "http:\\\\provider.example",
    "https://provider.example\r\nX-Evil: 1",
  ])("case 104: %j is refused as a base URL, new and changed", async (baseUrl) => {
    await using pool = await poolOf(gateway, { weights: [] });
    const before = await everything(gateway);

    const answers = await Promise.all([
      gateway.apiResponse("POST", "/providers", { kind: "openai", slug: "elsewhere", base_url: baseUrl }),
      gateway.apiResponse("PATCH", `/providers/${pool.record.id}`, { base_url: baseUrl, confirm_host_change: true }),
    ]);

    for (const answer of answers) {
      expect(answer.status).toBe(422);
      const text = await answer.text();
      expect(JSON.parse(text)).toMatchObject({ errors: [{ path: "base_url" }] });
      expect(text).not.toContain("secret");
    }
    expect(await everything(gateway)).toEqual(before);
  });

  it.each(["http://localhost:11434/v1", "http://127.0.0.1:8000", "http://[::1]:8000", "http://192.168.1.10:8000/v1"])(
    "case 104: %s is taken: people run models at home",
    async (baseUrl) => {
      const slug = `home-${Buffer.from(baseUrl).toString("hex").slice(14, 34)}`;

      const record = await gateway.addProvider({ kind: "openai-compatible", slug, baseUrl });

      expect(record.base_url).toBe(baseUrl);
    },
  );

  it.each([
    ["nothing is set", [], {}],
    ["tokens are required, but the admin token is empty", ["--require-token"], { KEYWHEEL_ADMIN_TOKEN: "" }],
    ["the admin token is a word", ["--require-token"], { KEYWHEEL_ADMIN_TOKEN: "admin" }],
  ])("case 105: on an open address nothing starts while %s", async (_, flags, env) => {
    await expect(runGateway({ flags: ["--host", "0.0.0.0", ...flags], env })).rejects.toThrow(/token/i);
  });

  it.each([
    ["no credential", {}],
    ["an empty one", { authorization: "Bearer " }],
    ["the word undefined", { authorization: "Bearer undefined" }],
    ["a scheme of another kind", { authorization: "Basic YWRtaW46YWRtaW4=" }],
    ["an empty cookie", { cookie: "SESSION=" }],
    ["a made-up cookie", { cookie: "SESSION=AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA" }],
    ["a forwarded loopback address", { "x-forwarded-for": "127.0.0.1", "x-real-ip": "127.0.0.1" }],
  ])("case 105: every call of the document is refused with %s", async (_, headers) => {
    const { paths } = await gateway.api<{ paths: Record<string, Record<string, { security?: object[] }>> }>(
      "GET",
      "/openapi.json",
    );
    const guarded = Object.entries(paths).flatMap(([path, calls]) =>
      Object.entries(calls)
        .filter(([, { security }]) => (security?.length ?? 0) > 0)
        .map(([method]) => ({ method: method.toUpperCase(), path: path.replace(/\{\w+\}/g, "any") })),
    );
    const own = await runGateway();
    try {
      const { components } = await own.api<{ components: { securitySchemes: { browserSession: { name: string } } } }>(
        "GET",
        "/openapi.json",
      );
      const { name } = components.securitySchemes.browserSession;
      const shown = Object.fromEntries(
        Object.entries(headers).map(([header, value]) => [header, value.replace("SESSION=", `${name}=`)]),
      );
      const answers = await Promise.all(guarded.map((call) => callOnWire(own.url, { ...call, headers: shown })));

      expect(guarded.length).toBeGreaterThan(25);
      // 429 once the guesses from here have been too many.
      expect(answers.map(({ status }) => status).filter((status) => status !== 401 && status !== 429)).toEqual([]);
    } finally {
      await own[Symbol.asyncDispose]();
    }
  });

  it("case 105: nothing is changed by GET or HEAD, and no call shows the value of a key", async () => {
    await using own = await runGateway();
    await using pool = await poolOf(own, { weights: [1, 1], apiKey: "sk-test-105-own-0123456789abcdef" });
    const ids = [pool.record.id, pool.keys[0]?.id ?? ""];
    const before = await everything(own);
    const { paths } = await own.api<{ paths: Record<string, object> }>("GET", "/openapi.json");
    const texts: string[] = [];

    for (const path of Object.keys(paths).filter((one) => one !== "/api/events" && one !== "/api/openapi.json")) {
      for (const id of ids) {
        for (const method of ["GET", "HEAD"]) {
          const answer = await callOnWire(own.url, {
            method,
            path: path.replace(/\{\w+\}/g, id),
            headers: { authorization: `Bearer ${own.adminToken}` },
          });
          expect([200, 404, 405, 422]).toContain(answer.status);
          texts.push(answer.body.toString());
        }
      }
    }

    expect(await everything(own)).toEqual(before);
    for (const value of [...pool.values, "sk-test-105-own-0123456789abcdef"]) {
      for (const text of texts) expect(text).not.toContain(value);
    }
  });

  it("case 105: a client's token opens no admin call, and the admin token is no secret of the providers'", async () => {
    await using pool = await poolOf(gateway, { weights: [1] });
    const { token } = await gateway.api<{ token: string }>("POST", "/tokens", { name: "a client" });

    const asAdmin = await fetch(`${gateway.url}/api/providers`, { headers: { authorization: `Bearer ${token}` } });
    await (await pool.send({ headers: { authorization: `Bearer ${gateway.adminToken}` } })).arrayBuffer();

    expect(asAdmin.status).toBe(401);
    const heard = pool.provider.requests.map((request) => request.rawHeaders.join("\n"));
    expect([heard.length, heard.join()]).toEqual([1, expect.not.stringContaining(gateway.adminToken)]);
  });

  it("case 105: guesses at the admin token are slowed down, and the right one is not locked out", async () => {
    await using own = await runGateway();
    const guess = (at: number): Promise<Response> =>
      fetch(`${own.url}/api/sign-in`, {
        method: "POST",
        headers: { "content-type": "application/json" },
        body: JSON.stringify({ token: `kwa_guess_0000000000000000_${at}` }),
      });

    const statuses: number[] = [];
    for (let at = 0; at < 60; at++) statuses.push((await guess(at)).status);

    expect(statuses[0]).toBe(401);
    expect(statuses.at(-1)).toBe(429);
    expect((await own.apiResponse("GET", "/providers")).status).toBe(200);
  });

  const writes: readonly [string, Readonly<Record<string, string>>, number][] = [
    ["a foreign host", { host: "evil.example" }, 421],
    ["a foreign host with our port", { host: "evil.example:8787" }, 421],
    ["a host that only begins like ours", { host: "localhost.evil.example" }, 421],
    ["a host that only ends like ours", { host: "evil-localhost" }, 421],
    ["a foreign origin", { origin: "https://evil.example" }, 403],
    ["the origin of a file or a sandbox", { origin: "null" }, 403],
    ["the origin of another port here", { origin: "http://127.0.0.1:1" }, 403],
    ["another site, said by the browser", { "sec-fetch-site": "cross-site" }, 403],
    ["another name of this site", { "sec-fetch-site": "same-site" }, 403],
    ["JSON that is called a text", { "content-type": "text/plain" }, 415],
    ["JSON that is called a form", { "content-type": "application/x-www-form-urlencoded" }, 415],
    ["JSON in a form of parts", { "content-type": "multipart/form-data; boundary=x" }, 415],
  ];
  it.each(writes)("case 106: a write with %s is refused, right token or not", async (_, headers, status) => {
    await using pool = await poolOf(gateway, { weights: [1] });
    const before = await everything(gateway);
    const change = (credential: Readonly<Record<string, string>>): Promise<WireAnswer> =>
      callOnWire(gateway.url, {
        method: "PATCH",
        path: `/api/providers/${pool.record.id}`,
        headers: { "content-type": "application/json", ...credential, ...headers },
        body: JSON.stringify({ base_url: "http://127.0.0.1:1", confirm_host_change: true }),
      });

    const withToken = await change({ authorization: `Bearer ${gateway.adminToken}` });
    const withCookie = await change({ cookie: await signedInCookie() });
    const bare = await change({});

    expect([withToken.status, withCookie.status]).toEqual([status, status]);
    expect([status, 401]).toContain(bare.status);
    expect(await everything(gateway)).toEqual(before);
  });

  it("case 106: coming from loopback is no credential", async () => {
    const answer = await callOnWire(gateway.url, { path: "/api/providers" });

    expect(answer.status).toBe(401);
  });

  it("case 106: a page of another site, in the operator's own browser, reads and writes nothing", async () => {
    await using pool = await poolOf(gateway, { weights: [1] });
    const before = await everything(gateway);
    await using stranger = await aPage();
    await using session = await openSignedIn(browser, gateway, "/");
    const { page } = session;
    const visit = await page.context().newPage();
    await visit.goto(stranger.url);

    // Everything that a page can do without being asked first, and what it cannot.
    const outcomes = await visit.evaluate<string[]>(`(async () => {
      const [api, data] = ${JSON.stringify([`${gateway.url}/api`, pool.baseUrl])};
      const own = api + "/providers/${pool.record.id}";
      const tell = (promise) => promise.then((response) => response.type + " " + response.status, () => "refused");
      const patch = { method: "PATCH", body: '{"enabled":false}', credentials: "include" };
      return [
        await tell(fetch(api + "/providers", { credentials: "include" })),
        await tell(fetch(own, { ...patch, headers: { "content-type": "text/plain" } })),
        await tell(fetch(own, { ...patch, headers: { "content-type": "application/json" } })),
        await tell(fetch(api + "/sign-out", { method: "POST", mode: "no-cors", credentials: "include" })),
        await tell(fetch(data + "/v1/models")),
      ];
    })()`);

    expect(outcomes).toEqual(["refused", "refused", "refused", "opaque 0", "refused"]);
    expect(await everything(gateway)).toEqual(before);
    expect(pool.provider.requests).toHaveLength(0);
    // Nor was the operator signed out.
    expect((await page.request.get("/api/providers")).status()).toBe(200);
  });

  it("case 107: without being told to, no page of another origin gets in, nor any word of CORS", async () => {
    await using pool = await poolOf(gateway, { weights: [1] });
    const path = `/${pool.record.slug}/v1/models`;
    const headers = { origin: allowedOrigin, "access-control-request-method": "GET" };

    const answers = [
      await callOnWire(gateway.url, { path, headers }),
      await callOnWire(gateway.url, { path, method: "OPTIONS", headers }),
    ];

    expect(answers.map(({ status }) => status)).toEqual([403, 403]);
    for (const answer of answers) {
      expect(answer.rawHeaders.filter((name) => /^access-control-/i.test(name))).toEqual([]);
    }
    expect(pool.provider.requests).toHaveLength(0);
  });

  it("case 107: a named origin is answered before the call, without a token, and on the stream itself", async () => {
    await using own = await runGateway({ flags: ["--allow-origin", allowedOrigin, "--require-token"] });
    await using pool = await poolOf(own, { weights: [1] });
    const { token } = await own.api<{ token: string }>("POST", "/tokens", { name: "a page" });
    const path = `/${pool.record.slug}/v1/chat/completions`;
    const asked = {
      origin: allowedOrigin,
      "access-control-request-method": "POST",
      "access-control-request-headers": "authorization,content-type",
    };

    const preflight = await callOnWire(own.url, { path, method: "OPTIONS", headers: asked });
    const stream = await pool.send({
      stream: true,
      headers: { origin: allowedOrigin, authorization: `Bearer ${token}` },
    });
    const text = await stream.text();
    const refused = await callOnWire(own.url, { path, body: "{}", headers: { origin: allowedOrigin } });
    const foreign = [
      await callOnWire(own.url, { path, method: "OPTIONS", headers: { ...asked, origin: "https://evil.example" } }),
      await callOnWire(own.url, { path, body: "{}", headers: { origin: "https://evil.example" } }),
    ];

    expect(preflight.status).toBe(204);
    expect(preflight.header("access-control-allow-origin")).toBe(allowedOrigin);
    expect(preflight.header("access-control-allow-headers")).toMatch(/authorization/);
    expect([stream.headers.get("access-control-allow-origin"), text]).toEqual([
      allowedOrigin,
      expect.stringContaining("[DONE]"),
    ]);
    // A page must be able to read why it was refused.
    expect([refused.status, refused.header("access-control-allow-origin")]).toEqual([401, allowedOrigin]);
    expect(foreign.map((answer) => [answer.status, answer.header("access-control-allow-origin")])).toEqual([
      [403, undefined],
      [403, undefined],
    ]);
  });

  it.each([allowedOrigin, "https://evil.example"])("case 107: the admin calls know no CORS, for %s", async (origin) => {
    await using own = await runGateway({ flags: ["--allow-origin", allowedOrigin] });

    for (const path of ["/api/providers", "/api/events", "/api/sign-in", "/ui/", "/metrics", "/healthz"]) {
      for (const method of ["OPTIONS", "GET", "POST"]) {
        const answer = await callOnWire(own.url, {
          path,
          method,
          headers: {
            origin,
            authorization: `Bearer ${own.adminToken}`,
            "access-control-request-method": "GET",
          },
        });
        expect([path, method, answer.status]).toEqual([path, method, 403]);
        expect(answer.rawHeaders.filter((name) => /^access-control-/i.test(name))).toEqual([]);
      }
    }
  });

  it("case 107: a page of a named origin streams in a real browser; one of another does not", async () => {
    await using friend = await aPage();
    await using stranger = await aPage();
    await using own = await runGateway({ flags: ["--allow-origin", friend.url] });
    await using pool = await poolOf(own, { weights: [1] });
    await using session = await openPage(browser, own);
    const call = `(async () => {
      const body = JSON.stringify({ model: "gpt-test", stream: true, messages: [{ role: "user", content: "hi" }] });
      const headers = { "content-type": "application/json", authorization: "Bearer sk-client-own" };
      const url = ${JSON.stringify(`${pool.baseUrl}/v1/chat/completions`)};
      return fetch(url, { method: "POST", headers, body }).then((response) => response.text(), () => "refused");
    })()`;

    await session.page.goto(friend.url);
    const served = await session.page.evaluate<string>(call);
    const visit = await session.page.context().newPage();
    await visit.goto(stranger.url);
    const refused = await visit.evaluate<string>(call);

    expect([served, refused]).toEqual([expect.stringContaining("[DONE]"), "refused"]);
    expect(pool.provider.requests).toHaveLength(1);
  });

  it("case 108: the cookie is an id of its own that no script can read, and ends with the sign-out", async () => {
    await using session = await openSignedIn(browser, gateway, "/");
    const { page } = session;
    await page.getByRole("heading", { level: 1 }).waitFor();
    const [cookie] = await page.context().cookies();
    const replayed = { cookie: `${cookie?.name}=${cookie?.value}` };

    const held = await page.evaluate<string>(
      "JSON.stringify({ ...localStorage, ...sessionStorage }) + document.cookie + location.href + document.documentElement.outerHTML",
    );
    const before = await callOnWire(gateway.url, { path: "/api/providers", headers: replayed });
    await page.getByRole("button", { name: "Language, appearance, sign out" }).click();
    await page.getByRole("menuitem", { name: "Sign out" }).click();
    await page.getByRole("heading", { name: "Sign in to Keywheel" }).waitFor();
    const after = await callOnWire(gateway.url, { path: "/api/providers", headers: replayed });

    expect(cookie).toMatchObject({ httpOnly: true, sameSite: "Strict", path: "/" });
    for (const secret of [cookie?.value ?? "", gateway.adminToken]) expect(held).not.toContain(secret);
    expect(gateway.adminToken).not.toContain(cookie?.value ?? "");
    expect([before.status, after.status]).toEqual([200, 401]);
  });

  it("case 108: a cookie is no token: it opens neither the providers nor, as a bearer, `/api`", async () => {
    await using own = await runGateway({ flags: ["--require-token"] });
    await using pool = await poolOf(own, { weights: [1] });
    const cookie = await signedInCookie(own);
    const value = cookie.replace(/^[^=]*=/, "");

    const answers = [
      await callOnWire(own.url, { path: `/${pool.record.slug}/v1/models`, headers: { cookie } }),
      await callOnWire(own.url, { path: "/api/providers", headers: { authorization: `Bearer ${value}` } }),
    ];

    expect(answers.map(({ status }) => status)).toEqual([401, 401]);
    expect(pool.provider.requests).toHaveLength(0);
  });

  const markup = '<img src=x onerror="window.owned=1"><script>window.owned=1</script>';
  it.each([
    "",
    "/activity",
    "/sessions",
    "/usage",
    "/settings/providers",
    "/settings/providers/{slug}",
    "/settings/tokens",
  ])("case 109: labels, names and what the provider said are text on /ui%s", async (path) => {
    await using pool = await poolOf(gateway, {
      keys: [
        { api_key: `sk-test-109-${path.length}-0123456789abcdef`, label: markup },
        { api_key: `sk-test-109-${path.length}-fedcba9876543210` },
      ],
    });
    await gateway.api("PATCH", `/providers/${pool.record.id}`, { name: markup });
    await gateway.api("POST", "/tokens", { name: `${markup} ${path.length}` });
    pool.provider
      .on()
      .next(openAiError(401, { message: markup, type: "invalid_request_error", code: "invalid_api_key" }));
    await (await pool.send({ session: markup.replace(/[^\x21-\x7e]/g, "") })).arrayBuffer();
    await using session = await openSignedIn(browser, gateway, path.replace("{slug}", pool.record.slug));
    const { page } = session;

    await page.getByText("onerror=").first().waitFor();

    expect(await page.evaluate("window.owned")).toBeUndefined();
    expect(await page.locator('img[src="x"]').count()).toBe(0);
    await gateway.api("DELETE", `/providers/${pool.record.id}`);
  });

  it("case 109: an answer of a provider that is a page is opened without scripts, and without our cookie's power", async () => {
    await using pool = await poolOf(gateway, { kind: "openai-compatible", weights: [1] });
    const html = `<!doctype html><title>before</title><script>document.title = "owned"</script>${markup}`;
    pool.provider.on().always(reply.status(502, { "content-type": "text/html" }, html));
    await using session = await openSignedIn(browser, gateway, "/");
    const visit = await session.page.context().newPage();

    await visit.goto(`${pool.baseUrl}/v1/models`);

    expect(await visit.title()).toBe("before");
  });
});

/** The cookie of a browser that has signed in. */
async function signedInCookie(own: RunningGateway = gateway): Promise<string> {
  const answer = await callOnWire(own.url, {
    path: "/api/sign-in",
    headers: { "content-type": "application/json" },
    body: JSON.stringify({ token: own.adminToken }),
  });
  expect(answer.status).toBe(204);
  return answer.header("set-cookie")?.split(";")[0] ?? "";
}

/** An empty page of an origin of its own. */
async function aPage(): Promise<AsyncDisposable & { readonly url: string }> {
  const server = createServer((_, response) => {
    response.setHeader("content-type", "text/html");
    response.end("<!doctype html><title>A page</title>");
  });
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  return {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    async [Symbol.asyncDispose]() {
      server.closeAllConnections();
      await new Promise((resolve) => server.close(resolve));
    },
  };
}
