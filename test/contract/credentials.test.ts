import { runGateway, type RunningGateway, type ScriptedKind } from "@keywheel/testkit";
import { beforeAll, describe, expect, it } from "vitest";
import { poolOf } from "../pooled-provider.ts";
import { callOnWire } from "../wire-client.ts";

let open: RunningGateway;
let guarded: RunningGateway;
let token: string;
beforeAll(async () => {
  [open, guarded] = await Promise.all([runGateway(), runGateway({ flags: ["--require-token"] })]);
  token = (await guarded.api<{ token: string }>("POST", "/tokens", { name: "all" })).token;
  return () => Promise.all([open, guarded].map((gateway) => gateway[Symbol.asyncDispose]()));
});

const kinds: ScriptedKind[] = ["openai", "anthropic", "gemini", "azure-openai", "openai-compatible"];
const modelList: Record<ScriptedKind, string> = {
  openai: "/v1/models",
  anthropic: "/v1/models",
  gemini: "/v1beta/models",
  "azure-openai": "/openai/v1/models",
  "openai-compatible": "/models",
};
const anthropicVersion = { "anthropic-version": "2023-06-01" };

/** Every place where some SDK puts its credential, each as headers and query. */
function places(value: string): [name: string, headers: Record<string, string>, query: string][] {
  return [
    ["authorization: Bearer", { authorization: `Bearer ${value}` }, ""],
    ["authorization: bearer", { authorization: `bearer ${value}` }, ""],
    ["x-api-key", { "x-api-key": value }, ""],
    ["api-key", { "api-key": value }, ""],
    ["x-goog-api-key", { "x-goog-api-key": value }, ""],
    ["?key=", {}, `?alt=json&key=${value}&b=2`],
  ];
}

describe.each(kinds)("contract: the client's own credential is never forwarded (%s)", (kind) => {
  it("leaves exactly one credential, the pool's, of a request that showed its own everywhere", async () => {
    await using pool = await poolOf(open, { kind, weights: [1] });
    const shown = places("client-own-credential");

    const answer = await callOnWire(open.url, {
      path: `/${pool.record.slug}${modelList[kind]}?alt=json&key=client-own-credential&b=2`,
      headers: {
        ...anthropicVersion,
        ...Object.assign({}, ...shown.map(([, headers]) => headers)),
        cookie: "session=client-own-credential",
        "x-keywheel-session": "s",
        "proxy-authorization": "Basic Y2xpZW50Om93bg==",
        // They choose whose account is billed, which is the key's business.
        "openai-organization": "org-client-own-credential",
        "openai-project": "proj-client-own-credential",
      },
    });

    // The scripted provider answers 401 to a second credential in any place.
    expect(answer.status).toBe(200);
    const [request] = pool.provider.requests;
    expect(request?.key).toBe(pool.valueOf("A"));
    expect(request?.url).toBe(`${modelList[kind]}?alt=json&b=2`);
    expect(request?.rawHeaders.join("\n")).not.toContain("client-own-credential");
  });

  it.each(places("TOKEN"))("takes a gateway token from %s", async (_, headers, query) => {
    await using pool = await poolOf(guarded, { kind, weights: [1] });
    const filled = Object.entries(headers).map(([name, value]) => [name, value.replace("TOKEN", token)] as const);

    const answer = await callOnWire(guarded.url, {
      path: `/${pool.record.slug}${modelList[kind]}${query.replace("TOKEN", token)}`,
      headers: { ...anthropicVersion, ...Object.fromEntries(filled) },
    });

    expect(answer.status).toBe(200);
    expect(pool.provider.requests).toHaveLength(1);
  });

  it.each([
    ["missing", {}] as const,
    ["wrong", { authorization: "Bearer kw_wrong0000000000000000000000000000" }] as const,
  ])("answers a %s token with unauthorized and lets nothing through", async (_, headers) => {
    await using pool = await poolOf(guarded, { kind, weights: [1] });

    const answer = await callOnWire(guarded.url, { path: `/${pool.record.slug}${modelList[kind]}`, headers });

    expect([answer.status, answer.header("x-keywheel-error")]).toEqual([401, "unauthorized"]);
    expect(pool.provider.requests).toHaveLength(0);
  });
});

describe("contract: gateway tokens", () => {
  it("does not take a provider's key or the admin token for one", async () => {
    await using pool = await poolOf(guarded, { weights: [1] });

    for (const value of [pool.valueOf("A"), guarded.adminToken]) {
      const answer = await callOnWire(guarded.url, {
        path: `/${pool.record.slug}/models`,
        headers: { authorization: `Bearer ${value}` },
      });
      expect(answer.status).toBe(401);
    }
    expect(pool.provider.requests).toHaveLength(0);
  });

  it("may be limited to providers", async () => {
    await using mine = await poolOf(guarded, { weights: [1] });
    await using other = await poolOf(guarded, { weights: [1] });
    const limited = await guarded.api<{ token: string }>("POST", "/tokens", {
      name: "limited",
      providers: [mine.record.id],
    });

    const headers = { authorization: `Bearer ${limited.token}` };
    const own = await callOnWire(guarded.url, { path: `/${mine.record.slug}/models`, headers });
    const foreign = await callOnWire(guarded.url, { path: `/${other.record.slug}/models`, headers });

    expect(own.status).toBe(200);
    expect([401, 403]).toContain(foreign.status);
    expect(other.provider.requests).toHaveLength(0);
  });

  it("is shut out once it is revoked", async () => {
    await using pool = await poolOf(guarded, { weights: [1] });
    const made = await guarded.api<{ id: string; token: string }>("POST", "/tokens", { name: "short-lived" });
    const headers = { authorization: `Bearer ${made.token}` };
    const before = await callOnWire(guarded.url, { path: `/${pool.record.slug}/models`, headers });

    await guarded.api("DELETE", `/tokens/${made.id}`);
    const after = await callOnWire(guarded.url, { path: `/${pool.record.slug}/models`, headers });

    expect([before.status, after.status]).toEqual([200, 401]);
  });

  it("is shown once, and no list or file holds it", async () => {
    const made = await guarded.api<{ id: string; token: string }>("POST", "/tokens", { name: "once" });

    const list = await guarded.api<{ data: { id: string }[] }>("GET", "/tokens");

    expect(made.token).toMatch(/^kw_/);
    expect(list.data.map(({ id }) => id)).toContain(made.id);
    expect(JSON.stringify(list)).not.toContain(made.token);
    expect(guarded.logs()).not.toContain(made.token);
  });
});

describe("contract: WebSocket", () => {
  it("takes the token from the realtime subprotocol, forwards the key, and passes frames both ways", async () => {
    await using pool = await poolOf(guarded, { weights: [1] });
    const url = `${guarded.url.replace("http", "ws")}/${pool.record.slug}/v1/realtime?model=gpt-test`;
    const socket = new WebSocket(url, ["realtime", `openai-insecure-api-key.${token}`]);

    const echoed = new Promise((resolve, reject) => {
      socket.addEventListener("message", ({ data }) => resolve(data));
      socket.addEventListener("error", () => reject(new Error("the socket failed")));
    });
    socket.addEventListener("open", () => socket.send("hello"));

    expect(await echoed).toBe("hello");
    expect(socket.protocol).toBe("realtime");
    expect(pool.provider.requests[0]).toMatchObject({ url: "/v1/realtime?model=gpt-test", key: pool.valueOf("A") });
    socket.close();
  });

  it("refuses an upgrade without a token before anything reaches the provider", async () => {
    await using pool = await poolOf(guarded, { weights: [1] });

    const answer = await callOnWire(guarded.url, {
      path: `/${pool.record.slug}/v1/realtime`,
      headers: {
        connection: "Upgrade",
        upgrade: "websocket",
        "sec-websocket-version": "13",
        "sec-websocket-key": "dGhlIHNhbXBsZSBub25jZQ==",
      },
    });

    expect(answer.status).toBe(401);
    expect(pool.provider.requests).toHaveLength(0);
  });
});
