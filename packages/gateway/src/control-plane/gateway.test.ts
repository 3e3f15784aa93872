import { fingerprint, sessionValueHash, type SessionRef } from "@keywheel/pool";
import { afterAll, beforeAll, beforeEach, describe, expect, it } from "vitest";
import { benchToken, type ControlBench, openControlBench } from "./control-plane.test-bench.ts";

let bench: ControlBench;
beforeAll(async () => {
  bench = await openControlBench();
});
beforeEach(() => bench.clean());
afterAll(() => bench.close());

const json = { "content-type": "application/json" };
const withToken = { authorization: `Bearer ${benchToken}` };

function cookieOf(headers: Headers): string {
  return /^keywheel_session_[0-9a-f]{8}=[^;]*/.exec(headers.get("set-cookie") ?? "")?.[0] ?? "";
}

describe("calls without a right token", () => {
  const paths = ["/api", "/api/", "/api/status", "/api/openapi.json", "/api/providers", "/api/events", "/api/nothing"];

  it.each(paths)("are answered 401: %s", async (path) => {
    for (const headers of [
      {},
      { authorization: "Bearer wrong-token" },
      { authorization: "Basic eDp5" },
      { cookie: `${bench.auth.browsers.cookieName}=x` },
    ]) {
      bench.clock.advance(60_000);
      const { status, body, headers: answered } = await bench.call("GET", path, undefined, headers);

      expect([status, body.code, body.title]).toEqual([401, "unauthorized", "An admin token is required"]);
      expect(answered.get("www-authenticate")).toMatch(/^Bearer/);
    }
  });

  it("change nothing, whatever the method", async () => {
    bench.clock.advance(60_000);
    const { status } = await bench.call("POST", "/api/providers", { preset: "openai" }, json);

    expect([status, bench.catalog.providers.list().length]).toEqual([401, 0]);
  });

  it("reach health and pages", async () => {
    const statuses = await Promise.all(
      ["/healthz", "/readyz", "/ui/", "/ui/anything", "/ui/sign-in"].map(
        async (path) => (await bench.call("GET", path, undefined, {})).status,
      ),
    );

    expect(statuses).toEqual([200, 200, 200, 200, 200]);
  });

  it("are throttled over HTTP with the time to wait", async () => {
    bench.clock.advance(60_000);
    const tries = [];
    for (let n = 0; n < 12; n++)
      tries.push(await bench.call("GET", "/api/status", undefined, { authorization: "Bearer wrong" }));

    expect(tries.at(-1)?.status).toBe(429);
    expect(tries.at(-1)?.headers.get("retry-after")).toBe("60");
    expect(tries.at(-1)?.body.code).toBe("too_many_attempts");
    expect((await bench.call("GET", "/api/status")).status).toBe(200);
    bench.clock.advance(60_000);
  });

  it("come in with the operator's token", async () => {
    const headers = { authorization: `bearer ${bench.store.operatorToken}` };

    expect((await bench.call("GET", "/api/status", undefined, headers)).status).toBe(200);
  });
});

describe("signing in", () => {
  it("gives a cookie that no script and no other site sees, and no token", async () => {
    const { status, headers } = await bench.call("POST", "/api/sign-in", { token: ` ${benchToken}\n` }, json);
    const cookie = cookieOf(headers);

    expect(status).toBe(204);
    expect(headers.get("set-cookie")).toMatch(/; Max-Age=2592000; Path=\/; HttpOnly; SameSite=Strict$/);
    expect(cookie).not.toContain(benchToken);
    expect((await bench.call("GET", "/api/status", undefined, { cookie })).status).toBe(200);
  });

  it("marks the cookie as secure behind https", async () => {
    const { headers } = await bench.call(
      "POST",
      "/api/sign-in",
      { token: benchToken },
      { ...json, "x-forwarded-proto": "https" },
    );

    expect(headers.get("set-cookie")).toMatch(/; Secure/);
  });

  it("is undone by signing out, also for a kept copy of the cookie", async () => {
    const cookie = cookieOf((await bench.call("POST", "/api/sign-in", { token: benchToken }, json)).headers);

    const { status, headers } = await bench.call("POST", "/api/sign-out", undefined, { cookie });

    expect([status, headers.get("set-cookie")]).toEqual([
      204,
      expect.stringMatching(/^keywheel_session_[0-9a-f]{8}=; Max-Age=0/),
    ]);
    expect((await bench.call("GET", "/api/status", undefined, { cookie })).status).toBe(401);
  });

  it("refuses a wrong token, and what is no token", async () => {
    bench.clock.advance(60_000);
    expect((await bench.call("POST", "/api/sign-in", { token: "wrong" }, json)).status).toBe(401);
    expect((await bench.call("POST", "/api/sign-in", { token: 5 }, json)).status).toBe(422);
    expect(
      (await bench.call("POST", "/api/sign-in", `token=${benchToken}`, { "content-type": "text/plain" })).status,
    ).toBe(415);
  });

  it("works by a link, once, and leaves no code in the address", async () => {
    const { status, body } = await bench.call("POST", "/api/sign-in-links");
    expect([status, body.urls]).toEqual([201, [`http://127.0.0.1:8787${body.path}`]]);

    const peek = await bench.call("HEAD", body.path, undefined, {});
    const prefetch = await bench.call("GET", body.path, undefined, { "sec-purpose": "prefetch;prerender" });
    const first = await bench.call("GET", body.path, undefined, {});
    const second = await bench.call("GET", body.path, undefined, {});

    expect([peek.status, prefetch.status, cookieOf(prefetch.headers)]).toEqual([200, 200, ""]);
    expect([first.status, first.headers.get("location")]).toEqual([303, "/ui/"]);
    expect((await bench.call("GET", "/api/status", undefined, { cookie: cookieOf(first.headers) })).status).toBe(200);
    expect([second.status, cookieOf(second.headers)]).toEqual([401, ""]);
    expect(second.body).toContain("was used");
  });
});

describe("what is sent", () => {
  it.each([
    ["text/plain", 415],
    ["application/x-www-form-urlencoded", 415],
    ["multipart/form-data; boundary=x", 415],
    ["application/jsonp", 415],
    ["application/problem+json", 415],
    ["application/json", 201],
    ["Application/JSON; charset=utf-8", 201],
  ])("must be JSON: %s", async (type, status) => {
    const headers = { ...withToken, "content-type": type };

    expect((await bench.call("POST", "/api/providers", { preset: "openai" }, headers)).status).toBe(status);
    expect(bench.catalog.providers.list()).toHaveLength(status === 201 ? 1 : 0);
  });

  it("must say that it is JSON", async () => {
    const request = new Request("http://localhost/api/providers", {
      method: "POST",
      headers: withToken,
      body: new Blob(['{"preset":"openai"}']),
    });

    expect((await bench.app.request(request)).status).toBe(415);
  });

  it.each(["", "{", "{'preset':'openai'}", '{"preset":"openai"', "undefined", '{"a":1}}'])(
    "must be whole JSON: %j",
    async (text) => {
      const { status, body } = await bench.call("POST", "/api/providers", text);

      expect([status, body.code]).toEqual([400, "invalid_request"]);
    },
  );

  it("may be absent where nothing is needed", async () => {
    const id = await bench.addProvider();
    const key = await bench.addKey(id);

    expect((await bench.call("POST", `/api/keys/${key.id}/reset`, undefined, withToken)).status).toBe(200);
  });

  it("must not be too large", async () => {
    const id = await bench.addProvider({ slug: "mine" });
    const large = { api_key: "x".repeat(8 * 1_048_576) };

    expect((await bench.call("POST", `/api/providers/${id}/keys`, large)).body.code).toBe("body_too_large");
    // An import may be twice as large.
    expect(
      (await bench.call("POST", `/api/providers/${id}/keys/import`, { text: `\n${" ".repeat(9 * 1_048_576)}` })).status,
    ).toBe(200);
    expect(
      (await bench.call("POST", `/api/providers/${id}/keys/import`, { text: "x".repeat(16 * 1_048_576) })).status,
    ).toBe(413);
  });
});

describe("paths and methods", () => {
  it.each([
    ["PUT", "/api/providers", "GET, HEAD, POST"],
    ["DELETE", "/api/status", "GET, HEAD"],
    ["POST", "/api/keys/key_x", "GET, HEAD, PATCH, DELETE"],
    ["OPTIONS", "/api/providers", "GET, HEAD, POST"],
    ["POST", "/healthz", "GET, HEAD"],
    ["POST", "/ui/", "GET, HEAD"],
  ])("say which methods there are: %s %s", async (method, path, allow) => {
    const { status, headers, body } = await bench.call(method, path, undefined, withToken);

    expect([status, headers.get("allow"), body.code]).toEqual([405, allow, "method_not_allowed"]);
  });

  it.each(["/api", "/api/none", "/api/providers/x/y/z", "/nothing", "/api/keys"])(
    "are told when there are none: %s",
    async (path) => {
      const { status, body, headers } = await bench.call("GET", path);

      expect([status, body.code, headers.get("content-type")]).toEqual([404, "not_found", "application/problem+json"]);
    },
  );

  it("lead to the pages", async () => {
    for (const path of ["/", "/ui"]) {
      const { status, headers } = await bench.call("GET", path, undefined, {});
      expect([status, headers.get("location")]).toEqual([302, "/ui/"]);
    }
  });

  it("answer with headers that keep browsers careful", async () => {
    for (const path of ["/api/status", "/ui/", "/api/none"]) {
      const { headers } = await bench.call("GET", path);

      expect(headers.get("content-security-policy")).toMatch(/default-src 'none'.*frame-ancestors 'none'/);
      expect(headers.get("content-security-policy")).not.toMatch(/unsafe|script/);
      expect([
        headers.get("x-content-type-options"),
        headers.get("x-frame-options"),
        headers.get("referrer-policy"),
      ]).toEqual(["nosniff", "DENY", "no-referrer"]);
      expect([headers.get("cache-control"), headers.get("access-control-allow-origin")]).toEqual(["no-store", null]);
    }
  });

  it("hide what went wrong inside", async () => {
    const { status, body } = await (async () => {
      const broken = await openControlBench({
        plane: { testKey: () => Promise.reject(new Error("a secret inside")) },
      });
      const key = await broken.addKey(await broken.addProvider());
      const answer = await broken.call("POST", `/api/keys/${key.id}/test`);
      await broken.close();
      return answer;
    })();

    expect([status, body.code]).toEqual([500, "internal"]);
    expect(JSON.stringify(body)).not.toContain("secret");
  });
});

describe("the admin token made anew", () => {
  it("stands alone: the former one, signed-in browsers and unused links are refused at once", async () => {
    const own = await openControlBench({ auth: { environmentToken: undefined, makeToken: true } });
    const operator = { authorization: `Bearer ${own.store.operatorToken}` };
    const signedIn = async (token: string) =>
      cookieOf((await own.call("POST", "/api/sign-in", { token }, json)).headers);
    const { body: first } = await own.call("POST", "/api/admin-token/rotate", undefined, operator);
    const cookie = await signedIn(first.token);
    const link = (await own.call("POST", "/api/sign-in-links", undefined, operator)).body.path;
    expect((await own.call("GET", "/api/status", undefined, { cookie })).status).toBe(200);

    const { status, body, headers } = await own.call("POST", "/api/admin-token/rotate", undefined, {
      authorization: `Bearer ${first.token}`,
    });
    const statusFor = async (given: Record<string, string>) =>
      (await own.call("GET", "/api/status", undefined, given)).status;

    expect([status, body.token, headers.get("cache-control")]).toEqual([
      201,
      expect.stringMatching(/^kwa_[a-z2-7]{32}$/),
      "no-store",
    ]);
    expect(await statusFor({ authorization: `Bearer ${first.token}` })).toBe(401);
    expect(await statusFor({ cookie })).toBe(401);
    expect((await own.call("GET", link, undefined, {})).headers.get("set-cookie")).toBeNull();
    expect(await statusFor({ authorization: `Bearer ${body.token}` })).toBe(200);
    expect(await statusFor(operator)).toBe(200);
    expect(await statusFor({ cookie: await signedIn(body.token) })).toBe(200);
    await own.close();
  });

  it("ends the streams of events of the former one and of browsers, and of nobody else", async () => {
    const own = await openControlBench({ auth: { environmentToken: undefined, makeToken: true } });
    const operator = { authorization: `Bearer ${own.store.operatorToken}` };
    const { body: first } = await own.call("POST", "/api/admin-token/rotate", undefined, operator);
    const former = { authorization: `Bearer ${first.token}` };
    const cookie = cookieOf((await own.call("POST", "/api/sign-in", { token: first.token }, json)).headers);
    const streams = await Promise.all(
      [former, { cookie }, operator].map(async (headers) => own.app.request("/api/events", { headers })),
    );
    expect(own.events.subscribers).toBe(3);

    await own.call("POST", "/api/admin-token/rotate", undefined, former);

    expect(own.events.subscribers).toBe(1);
    expect(await streams[0]?.text()).toBe("retry: 2000\n: hello\n\n");
    expect(await streams[1]?.text()).toBe("retry: 2000\n: hello\n\n");
    await streams[2]?.body?.cancel();
    await own.close();
  });

  it("is refused where the environment fixes it", async () => {
    const { status, body } = await bench.call("POST", "/api/admin-token/rotate");

    expect([status, body.code, body.detail]).toEqual([
      409,
      "conflict",
      "The admin token is fixed by KEYWHEEL_ADMIN_TOKEN",
    ]);
  });
});

describe("tokens", () => {
  it("are shown once, found by what they are, and gone when they are revoked", async () => {
    await bench.addProvider({ slug: "mine" });
    const { status, body } = await bench.call("POST", "/api/tokens", { name: " laptop ", providers: ["mine"] });
    expect([status, body.token, body.name]).toEqual([201, expect.stringMatching(/^kw_[a-z2-7]{32}$/), "laptop"]);
    expect(body.prefix).toBe(body.token.slice(0, 7));

    const list = await bench.call("GET", "/api/tokens");
    expect(JSON.stringify(list.body)).not.toContain(body.token);
    expect(bench.catalog.findToken(body.token)?.providerIds).toEqual([bench.catalog.bySlug("mine")?.record.id]);
    expect(bench.catalog.findToken(`${body.token}x`)).toBeUndefined();

    expect((await bench.call("DELETE", `/api/tokens/${body.id}`)).status).toBe(204);
    expect(bench.catalog.findToken(body.token)).toBeUndefined();
    expect((await bench.call("DELETE", `/api/tokens/${body.id}`)).status).toBe(404);
    expect(bench.told).toEqual(expect.arrayContaining(["token-created", "token-deleted"]));
  });

  it("remember when they were used last", async () => {
    const { body } = await bench.call("POST", "/api/tokens", { name: "laptop" });
    bench.clock.advance(5_000);
    bench.catalog.findToken(body.token);

    await bench.catalog.tokens.flushUses();

    expect((await bench.call("GET", "/api/tokens")).body.data[0].last_used_at).toBe("2026-01-01T00:00:05.000Z");
    expect((await bench.store.load()).tokens[0]?.lastUsedAt).toBe(bench.clock.now());
  });

  it("expire, and are limited, as they were made", async () => {
    const terms = { expires_at: "2026-01-31T09:00:00+09:00", max_requests_per_minute: 60, max_concurrent: 4 };
    const { status, body } = await bench.call("POST", "/api/tokens", { name: "ci", ...terms });

    expect([status, body]).toMatchObject([201, { ...terms, expires_at: "2026-01-31T00:00:00.000Z" }]);
    expect(bench.catalog.findToken(body.token)).toMatchObject({
      expiresAt: Date.parse(terms.expires_at),
      maxRequestsPerMinute: 60,
      maxConcurrent: 4,
    });
    expect((await bench.store.load()).tokens).toMatchObject([{ maxConcurrent: 4 }]);
    expect((await bench.call("POST", "/api/tokens", { name: "free" })).body).toMatchObject({
      expires_at: null,
      max_requests_per_minute: null,
      max_concurrent: null,
    });
  });

  it("are changed in place: what is named, and nothing else", async () => {
    await bench.addProvider({ slug: "mine" });
    const { body: made } = await bench.call("POST", "/api/tokens", { name: "ci", max_concurrent: 4 });
    const path = `/api/tokens/${made.id}`;

    const changed = await bench.call("PATCH", path, { providers: ["mine"], max_requests_per_minute: 5 });
    expect([changed.status, changed.body]).toMatchObject([200, { name: "ci", max_concurrent: 4 }]);
    expect(bench.catalog.findToken(made.token)).toMatchObject({ maxRequestsPerMinute: 5, maxConcurrent: 4 });
    // As GET gave it, with one thing changed.
    const back = await bench.call("PATCH", path, { ...changed.body, name: "desk" });
    expect([back.status, back.body]).toMatchObject([
      200,
      { max_concurrent: 4, max_requests_per_minute: 5, name: "desk" },
    ]);
    await bench.call("PATCH", path, { providers: null, max_requests_per_minute: null, max_concurrent: null });

    expect((await bench.store.load()).tokens).toMatchObject([
      { name: "desk", providerIds: null, maxRequestsPerMinute: null, maxConcurrent: null },
    ]);
    expect(bench.told).toContain("token-changed");
    expect((await bench.call("PATCH", "/api/tokens/tok_none", { name: "x" })).status).toBe(404);
  });

  it("may keep what has passed meanwhile, and are not used by being tried after their end", async () => {
    const { body } = await bench.call("POST", "/api/tokens", { name: "ci", expires_at: "2026-01-01T00:01:00Z" });
    const path = `/api/tokens/${body.id}`;
    bench.clock.advance(3_600_000);

    expect(bench.catalog.findToken(body.token)?.lastUsedAt).toBeNull();
    expect((await bench.call("PATCH", path, { expires_at: body.expires_at, name: "old" })).status).toBe(200);
    expect((await bench.call("PATCH", path, { expires_at: "2026-01-01T00:02:00Z" })).body.errors).toMatchObject([
      { path: "expires_at", message: "Expected `expires_at` to lie in the future" },
    ]);
    expect((await bench.call("GET", "/api/tokens")).body.data[0].last_used_at).toBeNull();
  });

  it("stay as they are if the change cannot be written", async () => {
    const { body } = await bench.call("POST", "/api/tokens", { name: "ci" });
    bench.breakStore("updateToken");

    expect((await bench.call("PATCH", `/api/tokens/${body.id}`, { max_concurrent: 1 })).status).toBe(503);
    expect(bench.catalog.findToken(body.token)?.maxConcurrent).toBeNull();
  });

  it.each([
    [{}, "name"],
    [{ name: "" }, "name"],
    [{ name: "a\nb" }, "name"],
    [{ name: "x", providers: [] }, "providers"],
    [{ name: "x", providers: ["none"] }, "providers.0"],
    [{ name: "x", providers: "mine" }, "providers"],
    [{ name: "x", token: "kw_own" }, "token"],
    [{ name: "x", expires_at: "tomorrow" }, "expires_at"],
    [{ name: "x", expires_at: "2026-02-30T00:00:00Z" }, "expires_at"],
    [{ name: "x", expires_at: "2025-12-31T00:00:00Z" }, "expires_at"],
    [{ name: "x", max_requests_per_minute: 0 }, "max_requests_per_minute"],
    [{ name: "x", max_requests_per_minute: 1.5 }, "max_requests_per_minute"],
    [{ name: "x", max_concurrent: "4" }, "max_concurrent"],
    [{ name: "x", max_concurrent: 10_001 }, "max_concurrent"],
  ])("are refused: %j", async (body, path) => {
    const answer = await bench.call("POST", "/api/tokens", body);

    expect([answer.status, answer.body.errors[0].path]).toEqual([422, path]);
    expect(bench.catalog.tokens.count).toBe(0);
  });

  it("are not made when the store fails", async () => {
    bench.breakStore("insertToken");

    expect((await bench.call("POST", "/api/tokens", { name: "x" })).status).toBe(503);
    expect(bench.catalog.tokens.count).toBe(0);
  });

  it("are required beyond loopback once there is one, or when it was said", async () => {
    const cases = [
      { boundToLoopback: true, requireToken: false, expected: [false, false] },
      { boundToLoopback: false, requireToken: false, expected: [false, true] },
      { boundToLoopback: true, requireToken: true, expected: [true, true] },
    ];
    for (const { expected, ...catalog } of cases) {
      const other = await openControlBench({ catalog });
      const before = other.catalog.requiresToken;
      await other.call("POST", "/api/tokens", { name: "x" });

      expect([before, other.catalog.requiresToken]).toEqual(expected);
      await other.close();
    }
  });

  // Whoever revoked the only token of a gateway on the network had opened it to everybody there.
  it("stay required beyond loopback when the last one is revoked", async () => {
    const other = await openControlBench({ catalog: { boundToLoopback: false } });
    const { body } = await other.call("POST", "/api/tokens", { name: "x" });
    expect(other.catalog.requiresToken).toBe(true);

    await other.call("DELETE", `/api/tokens/${body.id}`);

    expect(other.catalog.tokens.count).toBe(0);
    expect(other.catalog.requiresToken).toBe(true);
    await other.close();
  });
});

describe("sessions", () => {
  function aSession(value: string, id = value): SessionRef {
    return { id, carrier: "x-keywheel-session", valueHash: sessionValueHash(value), fingerprint: fingerprint(value) };
  }

  async function use(provider: string, session: SessionRef): Promise<string> {
    const choice = await bench.pool(provider).choose({ session });
    return choice.kind === "key" ? choice.keyId : choice.kind;
  }

  it("are listed as they are now, and found", async () => {
    const id = await bench.addProvider({ slug: "mine" });
    const key = await bench.addKey(id);
    await use(id, aSession("chat-1"));
    bench.clock.advance(1_000);
    await use(id, aSession("chat-2"));
    await use(id, aSession("chat-2"));

    const { body } = await bench.call("GET", "/api/sessions?provider=mine");

    expect(body.data).toEqual([
      {
        id: "chat-2",
        carrier: "x-keywheel-session",
        provider_id: id,
        provider: "mine",
        key_id: key.id,
        label: "",
        api_key: key.api_key,
        bound_at: "2026-01-01T00:00:01.000Z",
        last_used_at: "2026-01-01T00:00:01.000Z",
        requests: 2,
      },
      expect.objectContaining({ id: "chat-1", requests: 1 }),
    ]);
    expect((await bench.call("GET", `/api/sessions?key=${key.id}&q=T-1`)).body.data).toHaveLength(1);
    expect((await bench.call("GET", `/api/keys/${key.id}`)).body.bound_sessions).toBe(2);
  });

  it("come page by page", async () => {
    const id = await bench.addProvider();
    await bench.addKey(id);
    for (let n = 0; n < 5; n++) {
      bench.clock.advance(10);
      await use(id, aSession(`chat-${n}`));
    }

    const seen: string[] = [];
    let cursor: string | null = "";
    while (cursor !== null) {
      const { body }: { body: { data: { id: string }[]; next_cursor: string | null } } = await bench.call(
        "GET",
        `/api/sessions?limit=2${cursor === "" ? "" : `&cursor=${encodeURIComponent(cursor)}`}`,
      );
      seen.push(...body.data.map((session) => session.id));
      cursor = body.next_cursor;
    }

    expect(seen).toEqual(["chat-4", "chat-3", "chat-2", "chat-1", "chat-0"]);
  });

  it.each(["limit=0", "limit=1001", "limit=x", "more=1", "limit=1&limit=2"])("are refused: %s", async (query) => {
    expect((await bench.call("GET", `/api/sessions?${query}`)).status).toBe(422);
  });

  it("of an unknown provider are none", async () => {
    expect((await bench.call("GET", "/api/sessions?provider=none")).body.code).toBe("unknown_provider");
  });

  it("end by their id, by the client's own value, and when unknown", async () => {
    const id = await bench.addProvider();
    const [a, b] = [await bench.addKey(id), await bench.addKey(id)];
    expect([await use(id, aSession("a/b c%2F")), await use(id, aSession("a/b c%2F"))]).toEqual([a.id, a.id]);
    expect(await use(id, aSession("hidden value", "ses_1"))).toBe(b.id);

    const statuses = [];
    for (const name of ["a/b c%2F", "hidden value", "never seen", "x".repeat(3_000)]) {
      statuses.push((await bench.call("DELETE", `/api/sessions/${encodeURIComponent(name)}`)).status);
    }

    expect(statuses).toEqual([204, 204, 204, 204]);
    expect((await bench.call("GET", "/api/sessions")).body.data).toEqual([]);
    expect([
      (await bench.state.snapshot(id))[0]?.boundSessions,
      (await bench.state.snapshot(id))[1]?.boundSessions,
    ]).toEqual([0, 0]);
    expect(bench.told.filter((type) => type === "session-ended")).toHaveLength(2);
  });

  it("end with their key's switch and in the store", async () => {
    const id = await bench.addProvider();
    const [a, b] = [await bench.addKey(id), await bench.addKey(id)];
    expect(await use(id, aSession("chat-1"))).toBe(a.id);
    await bench.call("GET", "/api/sessions");

    await bench.call("PATCH", `/api/keys/${a.id}`, { enabled: false });

    expect((await bench.call("GET", "/api/sessions")).body.data).toEqual([]);
    expect(await use(id, aSession("chat-1"))).toBe(b.id);
  });

  it("are bound to the same key after a restart", async () => {
    const id = await bench.addProvider();
    const [a] = [await bench.addKey(id), await bench.addKey(id)];
    await use(id, aSession("chat-1"));
    await bench.call("GET", "/api/sessions");

    await bench.restart();

    expect([await use(id, aSession("chat-1")), await use(id, aSession("chat-1"))]).toEqual([a.id, a.id]);
  });

  it("stay when the store fails", async () => {
    const id = await bench.addProvider();
    const [a] = [await bench.addKey(id), await bench.addKey(id)];
    await use(id, aSession("chat-1"));
    bench.breakStore("takeSessions");

    expect((await bench.call("DELETE", "/api/sessions/chat-1")).status).toBe(503);
    expect(await use(id, aSession("chat-1"))).toBe(a.id);
  });
});

describe("the state of the gateway", () => {
  it("counts keys by status and tells when the first one is back", async () => {
    const id = await bench.addProvider({ slug: "mine", name: "Mine" });
    const [key] = [
      await bench.addKey(id),
      await bench.addKey(id, { enabled: false }),
      await bench.addKey(id, { api_key: "$UNSET_1" }),
    ];
    bench.clock.advance(1_000);
    const choice = await bench.pool(id).choose({ pinnedTo: key.id });
    if (choice.kind !== "key") throw new Error("no key");
    const effect = { kind: "cool", reason: "rate_limited", failure: { rest: "ladder" }, scope: "key" } as const;
    const verdict = {
      key: effect,
      request: "next-key",
      code: "rate_limited",
      message: undefined,
      httpStatus: 429,
    } as const;
    await bench.pool(id).settle(choice.ticket, verdict);

    const { body } = await bench.call("GET", "/api/status");

    const counts = { total: 3, available: 0, cooling_down: 1, disabled: 1, unresolved: 1 };
    expect(body).toMatchObject({
      version: "0.0.0-test",
      require_token: false,
      master_key_ok: true,
      store: { ok: true, trouble: null, hint: null, damaged: false },
      counts: { providers: 1, keys: counts, tokens: 0 },
      providers: [
        { slug: "mine", name: "Mine", keys: counts, can_serve: false, next_available_at: "2026-01-01T00:01:01.000Z" },
      ],
    });
  });

  it("tells that the provider-level key serves an empty pool, and only that", async () => {
    await bench.addProvider({ slug: "mine", api_key: "sk-provider-level" });
    const canServe = async (): Promise<boolean> => (await bench.call("GET", "/api/status")).body.providers[0].can_serve;
    expect(await canServe()).toBe(true);

    await bench.addKey("mine", { enabled: false });

    expect(await canServe()).toBe(false);
  });

  it("is not ready while the database is in trouble or the gateway stops", async () => {
    let trouble: { message: string; hint: string; isDamage: boolean } | undefined;
    let stopping: string | undefined = "it starts";
    const other = await openControlBench({
      plane: {
        store: {
          listSessions: () => expect.unreachable(),
          listDeliveries: () => expect.unreachable(),
          get trouble() {
            return trouble;
          },
        },
        notReady: () => stopping,
      },
    });
    const inStart = await other.call("GET", "/readyz", undefined, {});
    stopping = undefined;
    expect((await other.call("GET", "/readyz", undefined, {})).body).toEqual({ status: "ready" });

    trouble = { message: "the disk /home/someone is full", hint: "", isDamage: false };
    const inTrouble = await other.call("GET", "/readyz", undefined, {});
    trouble = { message: "/home/someone/keywheel.db is damaged", hint: "", isDamage: true };
    const inDamage = await other.call("GET", "/readyz", undefined, {});
    trouble = undefined;
    stopping = "it stops";
    const inStop = await other.call("GET", "/readyz", undefined, {});
    await other.close();

    expect([inTrouble.status, inTrouble.body.detail]).toEqual([503, "the database cannot be written"]);
    expect([inDamage.status, inDamage.body.detail]).toEqual([503, "the database is damaged"]);
    expect([inStart.body.detail, inStop.status, inStop.body.detail]).toEqual(["it starts", 503, "it stops"]);
  });
});

describe("events over HTTP", () => {
  it("stream as they happen and go on where they were", async () => {
    const response = await bench.app.request("/api/events", { headers: withToken });
    const reader = response.body!.pipeThrough(new TextDecoderStream()).getReader();
    await reader.read();
    await bench.addProvider();
    const { value = "" } = await reader.read();
    await reader.cancel();
    await bench.addProvider();

    expect(response.headers.get("content-type")).toBe("text/event-stream");
    expect(value).toContain("event: provider-created");
    const again = await bench.app.request("/api/events", {
      headers: { ...withToken, "last-event-id": /^id: (.*)$/m.exec(value)?.[1] ?? "" },
    });
    const second = again.body!.pipeThrough(new TextDecoderStream()).getReader();
    expect((await second.read()).value).toContain("event: provider-created");
    await second.cancel();
  });

  it("are not listened to by who asks for the head alone", async () => {
    const before = bench.events.subscribers;

    const { status, headers } = await bench.call("HEAD", "/api/events");

    expect([status, headers.get("content-type"), bench.events.subscribers]).toEqual([200, "text/event-stream", before]);
  });

  it("need a token", async () => {
    expect((await bench.call("GET", "/api/events", undefined, {})).status).toBe(401);
  });
});

it("shows no secret in any answer or event, whatever is asked", async () => {
  const secrets = ["sk-q7w8e9r0t1y2u3", "sk-z1x2c3v4b5n6m7", "sk-p0o9i8u7 y6t5r4e3", "sk-l1k2j3h4g5f6d7"];
  const stream = await bench.app.request("/api/events", { headers: withToken });
  const reader = stream.body!.pipeThrough(new TextDecoderStream()).getReader();
  await bench.addProvider({ slug: "mine", api_key: secrets[1] });
  const key = await bench.addKey("mine", { api_key: secrets[0] });
  const answers = [key, (await bench.call("POST", "/api/providers/mine/keys", { api_key: secrets[2] })).body];
  const calls = [
    ["POST", "/api/providers/mine/keys", { api_key: secrets[0] }],
    ["POST", "/api/providers/mine/keys/import", { text: secrets.join("\n") }],
    ["POST", "/api/providers/mine/keys/import", { text: secrets.join("\n"), dry_run: true }],
    ["PATCH", `/api/keys/${key.id}`, { api_key: `${secrets[0]},x`, weight: 0 }],
    ["PATCH", "/api/providers/mine", { api_key: [secrets[0]] }],
    ["GET", "/api/providers/mine/keys"],
    ["GET", "/api/providers"],
    ["GET", "/api/status"],
    ["GET", `/api/keys/${key.id}`],
  ] as const;
  for (const [method, path, body] of calls) answers.push((await bench.call(method, path, body)).body);
  for (let n = 0; n < 4; n++) answers.push((await reader.read()).value);
  await reader.cancel();

  const seen = JSON.stringify(answers);
  for (const secret of secrets) {
    // No slice of 8 characters, but for the prefix that every mask shows.
    const slices = Array.from({ length: secret.length - 10 }, (_, at) => secret.slice(at + 3, at + 11));
    expect(slices.filter((slice) => seen.includes(slice))).toEqual([]);
  }
});
