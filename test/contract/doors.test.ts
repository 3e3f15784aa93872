import { runGateway, type RunningGateway } from "@keywheel/testkit";
import { beforeAll, describe, expect, it } from "vitest";
import { poolOf } from "../pooled-provider.ts";
import { callOnWire } from "../wire-client.ts";

let gateway: RunningGateway;
beforeAll(async () => {
  gateway = await runGateway({ flags: ["--allow-host", "gateway.example", "--allow-origin", "https://app.example"] });
  return () => gateway[Symbol.asyncDispose]();
});

describe("contract: the doors", () => {
  it.each(["/healthz", "/api/providers", "/ui/", "/metrics", "/openai/v1/models", "/"])(
    "answers 421 to a foreign host on %s",
    async (path) => {
      const answer = await callOnWire(gateway.url, { path, headers: { host: "evil.example" } });

      expect(answer.status).toBe(421);
    },
  );

  it.each(["localhost", "127.0.0.1", "[::1]", "gateway.example"])(
    "serves the host %s, with and without a port",
    async (host) => {
      const { port } = new URL(gateway.url);

      const answers = [
        await callOnWire(gateway.url, { path: "/healthz", headers: { host } }),
        await callOnWire(gateway.url, { path: "/healthz", headers: { host: `${host}:${port}` } }),
      ];

      expect(answers.map((answer) => answer.status)).toEqual([200, 200]);
    },
  );

  it("refuses a foreign origin on every path and lets nothing through", async () => {
    await using pool = await poolOf(gateway, { weights: [1] });
    const headers = { origin: "https://evil.example", "content-type": "text/plain" };

    const answers = await Promise.all(
      ["/api/providers", `/${pool.record.slug}/v1/models`, "/healthz"].map((path) =>
        callOnWire(gateway.url, { path, headers, method: "POST", body: "{}" }),
      ),
    );

    expect(answers.map((answer) => answer.status)).toEqual([403, 403, 403]);
    expect(pool.provider.requests).toHaveLength(0);
  });

  it("lets a named origin call providers, with CORS, and nothing else", async () => {
    await using pool = await poolOf(gateway, { weights: [1] });
    const headers = { origin: "https://app.example" };
    const path = `/${pool.record.slug}/v1/models`;

    const called = await callOnWire(gateway.url, { path, headers });
    const asked = await callOnWire(gateway.url, {
      path,
      method: "OPTIONS",
      headers: {
        ...headers,
        "access-control-request-method": "POST",
        "access-control-request-headers": "authorization",
      },
    });
    const admin = await callOnWire(gateway.url, {
      path: "/api/providers",
      headers: { ...headers, authorization: `Bearer ${gateway.adminToken}` },
    });

    expect([called.status, called.header("access-control-allow-origin")]).toEqual([200, "https://app.example"]);
    expect([asked.status < 300, asked.header("access-control-allow-origin")]).toEqual([true, "https://app.example"]);
    expect([admin.status, admin.header("access-control-allow-origin")]).toEqual([403, undefined]);
    expect(pool.provider.requests.map((request) => request.method)).toEqual(["GET"]);
  });

  it("asks for the admin token on /api, and for nothing on /healthz", async () => {
    const [bare, wrong, right, health] = await Promise.all([
      fetch(`${gateway.url}/api/providers`),
      fetch(`${gateway.url}/api/providers`, { headers: { authorization: "Bearer kwa_wrong" } }),
      gateway.apiResponse("GET", "/providers"),
      fetch(`${gateway.url}/healthz`),
    ]);

    expect([bare, wrong, right, health].map((response) => response.status)).toEqual([401, 401, 200, 200]);
    expect(bare.headers.get("content-type")).toMatch(/^application\/problem\+json/);
  });

  it("throttles wrong admin tokens without locking out the right one", async () => {
    await using own = await runGateway();
    const wrong = (): Promise<Response> =>
      fetch(`${own.url}/api/providers`, { headers: { authorization: "Bearer kwa_guess" } });

    let last = await wrong();
    for (let i = 0; i < 100 && last.status !== 429; i++) last = await wrong();

    expect(last.status).toBe(429);
    expect(Number(last.headers.get("retry-after"))).toBeGreaterThanOrEqual(1);
    expect((await own.apiResponse("GET", "/providers")).status).toBe(200);
  });

  it.each([
    "ftp://provider.example",
    "http://user:pass@provider.example/v1",
    "http://169.254.169.254/latest",
    "not a url",
    "",
  ])("refuses %j as a base URL", async (baseUrl) => {
    const response = await gateway.apiResponse("POST", "/providers", {
      kind: "openai",
      slug: "refused",
      name: "refused",
      base_url: baseUrl,
    });

    expect(response.status).toBe(422);
    expect(await response.json()).toMatchObject({ errors: [{ path: "base_url" }] });
  });

  it("does not start on an open address without tokens", async () => {
    await expect(runGateway({ flags: ["--host", "0.0.0.0"] })).rejects.toThrow(/token/i);
  });
});
