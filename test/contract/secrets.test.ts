import { readdirSync, readFileSync, statSync } from "node:fs";
import { join } from "node:path";
import { reply, runGateway, type RunningGateway } from "@keywheel/testkit";
import { beforeAll, describe, expect, it } from "vitest";
import { poolOf } from "../pooled-provider.ts";
import { callOnWire } from "../wire-client.ts";

let gateway: RunningGateway;
beforeAll(async () => {
  gateway = await runGateway({
    env: { KEYWHEEL_LOG_LEVEL: "trace", KEYWHEEL_TEST_KEY: "sk-test-environment-fedcba9876543210" },
  });
  return () => gateway[Symbol.asyncDispose]();
});

/** All forms in which a value could get out, and every longer part of it. */
function formsOf(secret: string): string[] {
  const parts = Array.from({ length: secret.length - 19 }, (_, at) => secret.slice(at, at + 20));
  return [...parts, encodeURIComponent(secret), Buffer.from(secret).toString("base64").replace(/=+$/, "")];
}

function filesBelow(folder: string): string[] {
  return readdirSync(folder, { recursive: true, encoding: "utf8" })
    .map((name) => join(folder, name))
    .filter((path) => statSync(path).isFile());
}

describe("contract: No secret in any file in the clear, log, answer, metric", () => {
  it("holds after a day's work at the most talkative log level", async () => {
    await using pool = await poolOf(gateway, {
      kind: "gemini",
      weights: [1, 1, 1, 1],
      apiKey: "sk-test-fallback-0011223344556677",
      faultsAreExpected: true,
    });
    const [a = "", b = "", c = ""] = pool.values;
    const echo = (value: string): object => ({
      error: {
        code: 403,
        status: "PERMISSION_DENIED",
        message: `Consumer 'api_key:${value}' was denied (${encodeURIComponent(value)})`,
      },
    });
    pool.provider.forKey(a).next(reply.json(429, {}, echo(a)));
    pool.provider.forKey(b).next(reply.json(403, {}, echo(b)));
    pool.provider.forKey(c).next(reply.cutBeforeHeaders());
    const clientToken = "kw_client0123456789abcdefghijklmnopqrst";
    await gateway.addKeys(pool.record, ["$KEYWHEEL_TEST_KEY"]);

    const answers: string[] = [];
    for (let i = 0; i < 6; i++) {
      const answer = await callOnWire(gateway.url, {
        path: `/${pool.record.slug}/v1beta/models/gemini-test:generateContent?key=${clientToken}`,
        headers: { "content-type": "application/json" },
        body: '{"contents":[{"parts":[{"text":"hi"}]}]}',
      });
      answers.push(answer.rawHeaders.join("\n"));
    }
    for (const path of [
      "/providers",
      `/providers/${pool.record.id}/keys`,
      "/status",
      "/requests",
      "/sessions",
      "/tokens",
    ]) {
      answers.push(await (await gateway.apiResponse("GET", path)).text());
    }
    answers.push(await (await fetch(`${gateway.url}/metrics`)).text(), gateway.logs());
    const files = filesBelow(gateway.dataDir).map((file) => readFileSync(file).toString("latin1"));

    const secrets = [
      ...pool.values,
      "sk-test-fallback-0011223344556677",
      "sk-test-environment-fedcba9876543210",
      clientToken,
    ];
    const leaks = secrets.flatMap((secret) =>
      formsOf(secret).filter((form) => [...answers, ...files].some((text) => text.includes(form))),
    );
    expect(leaks).toEqual([]);
    expect(gateway.logs()).not.toContain(gateway.adminToken);
  });

  it("keeps everything in the data directory to its owner", () => {
    const paths = [
      gateway.dataDir,
      ...readdirSync(gateway.dataDir, { recursive: true, encoding: "utf8" }).map((name) => join(gateway.dataDir, name)),
    ];

    const open = paths.filter((path) => (statSync(path).mode & 0o077) !== 0);

    expect(open).toEqual([]);
  });
});
