import { runGateway, type RunningGateway } from "@keywheel/testkit";
import { beforeAll, describe, expect, it } from "vitest";
import { eventually } from "../pooled-provider.ts";
import { converse } from "./raw-socket.ts";

let gateway: RunningGateway;
beforeAll(async () => {
  gateway = await runGateway({ flags: ["--log-level", "debug"] });
  return () => gateway[Symbol.asyncDispose]();
});

describe("what was found by firing malformed messages, each by itself", () => {
  it("a client that leaves in the middle of its call to `/api` is no fault of ours", async () => {
    const { port } = new URL(gateway.url);
    const head =
      "POST /api/sign-in HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\nContent-Length: 99\r\n\r\n";

    await converse(Number(port), { pieces: [head, '{"tok'], end: "rst" });
    // Said behind it, so that what is said of it has been said.
    await eventually(
      async () => (await fetch(`${gateway.url}/nobody/v1/models`)).status,
      () => gateway.logs().includes("/nobody/v1/models"),
      { what: "the log to have come so far" },
    );

    expect(gateway.logs()).not.toContain('"level":"error"');
  });
});
