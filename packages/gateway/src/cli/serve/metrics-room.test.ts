import { createServer } from "node:http";
import { KeywheelError } from "@keywheel/pool";
import { afterEach, expect, it } from "vitest";
import { answerMetrics, type MetricsRoom } from "./metrics-room.ts";

const servers: ReturnType<typeof createServer>[] = [];

afterEach(() => {
  for (const server of servers.splice(0)) server.close();
});

const metrics: MetricsRoom["metrics"] = {
  text: async () => ({ contentType: "text/plain; version=0.0.4", body: "up 1\n" }),
};
const auth: MetricsRoom["auth"] = {
  check: (token) => {
    if (token !== "right") throw new KeywheelError("unauthorized");
  },
};

async function aRoom(room: MetricsRoom): Promise<string> {
  const server = createServer((request, response) => void answerMetrics(request, response, room));
  servers.push(server);
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  const address = server.address();
  return `http://127.0.0.1:${typeof address === "object" ? address?.port : ""}/metrics`;
}

it("is open on loopback", async () => {
  const url = await aRoom({ metrics, auth: undefined });

  const response = await fetch(url);

  expect(response.headers.get("content-type")).toBe("text/plain; version=0.0.4");
  expect(await response.text()).toBe("up 1\n");
});

it("asks for the admin token elsewhere", async () => {
  const url = await aRoom({ metrics, auth });

  const without = await fetch(url);
  const wrong = await fetch(url, { headers: { authorization: "Bearer wrong" } });
  const right = await fetch(url, { headers: { authorization: "Bearer right" } });

  expect([without.status, wrong.status, right.status]).toEqual([401, 401, 200]);
  expect(without.headers.get("www-authenticate")).toContain("Bearer");
});

it("is read, not written", async () => {
  const url = await aRoom({ metrics, auth: undefined });

  expect((await fetch(url, { method: "POST" })).status).toBe(405);
  expect(await (await fetch(url, { method: "HEAD" })).text()).toBe("");
});

it("says that it cannot be read rather than hanging", async () => {
  const broken = { text: () => Promise.reject(new Error("no")) };
  const url = await aRoom({ metrics: broken, auth: undefined });

  expect((await fetch(url)).status).toBe(500);
});
