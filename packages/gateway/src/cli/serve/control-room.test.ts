import { createServer } from "node:http";
import { expect, it, onTestFinished } from "vitest";
import { Hono } from "hono";
import type { ControlApp } from "../../control-plane/app.ts";
import { ControlRoom } from "./control-room.ts";

it("answers, and is loaded again, after its parts could not be read", async () => {
  const faults: unknown[] = [];
  let isThere = false;
  const open = async (): Promise<ControlApp> => {
    if (!isThere) throw new Error("Cannot find module");
    return new Hono().get("/api/status", (c) => c.json({ ok: true })) as unknown as ControlApp;
  };
  const metrics = { metrics: { text: async () => ({ contentType: "text/plain", body: "" }) }, auth: undefined };
  const room = new ControlRoom(open, metrics, { onFault: (error) => faults.push(error) });
  const server = createServer((request, response) => room.handle(request, response));
  onTestFinished(() => void server.close());
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  const address = server.address();
  const url = `http://127.0.0.1:${typeof address === "object" ? address?.port : ""}/api/status`;

  const refused = await fetch(url);
  isThere = true;
  const answered = await fetch(url);

  expect([refused.status, refused.headers.get("content-type")]).toEqual([503, "application/problem+json"]);
  expect(await refused.json()).toMatchObject({ status: 503, detail: expect.stringContaining("could not be loaded") });
  expect(faults).toHaveLength(1);
  expect(await answered.json()).toEqual({ ok: true });
});
