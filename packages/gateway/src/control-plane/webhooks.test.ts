import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { type ControlBench, openControlBench } from "./control-plane.test-bench.ts";

let bench: ControlBench;
beforeEach(async () => {
  bench = await openControlBench();
});
afterEach(() => bench.close());

const url = "https://hooks.example.com/keywheel";

describe("webhooks", () => {
  it("are made with a secret that is shown this once", async () => {
    const made = await bench.call("POST", "/api/webhooks", { url, name: "pager", events: ["key.disabled"] });
    const list = await bench.call("GET", "/api/webhooks");

    expect(made.status).toBe(201);
    expect(made.body.secret).toMatch(/^whsec_[A-Za-z0-9+/]{43}=$/);
    const { secret, ...rest } = made.body;
    expect(list.body).toEqual({ data: [rest] });
    expect(rest).toMatchObject({ url, name: "pager", events: ["key.disabled"], enabled: true, disabled_reason: null });
    expect(JSON.stringify(list.body)).not.toContain(secret);
  });

  it("are changed, and stay so after a restart", async () => {
    const { body } = await bench.call("POST", "/api/webhooks", { url });

    const changed = await bench.call("PATCH", `/api/webhooks/${body.id}`, {
      enabled: false,
      events: ["pool.exhausted"],
    });
    await bench.restart();

    expect(changed.status).toBe(200);
    expect((await bench.call("GET", "/api/webhooks")).body.data).toEqual([changed.body]);
    expect(changed.body).toMatchObject({ url, enabled: false, events: ["pool.exhausted"] });
  });

  it("are given another secret, shown this once, while the former one is told to go on for a while", async () => {
    const { body } = await bench.call("POST", "/api/webhooks", { url });
    const before = bench.clock.now();

    const rotated = await bench.call("POST", `/api/webhooks/${body.id}/rotate`, {});
    const list = await bench.call("GET", "/api/webhooks");

    expect(rotated.status).toBe(200);
    expect(rotated.body.secret).toMatch(/^whsec_[A-Za-z0-9+/]{43}=$/);
    expect(rotated.body.secret).not.toBe(body.secret);
    expect(Date.parse(rotated.body.former_secret_until)).toBeGreaterThanOrEqual(before + 86_400_000);
    const { secret: _, ...rest } = rotated.body;
    expect(list.body).toEqual({ data: [rest] });
    bench.clock.advance(86_400_001);
    expect((await bench.call("GET", "/api/webhooks")).body.data[0].former_secret_until).toBeNull();
  });

  it("have no former secret any more after one that is to end them all, and never more than four", async () => {
    const { body } = await bench.call("POST", "/api/webhooks", { url });
    const rotate = (overlap_ms: number) => bench.call("POST", `/api/webhooks/${body.id}/rotate`, { overlap_ms });

    const statuses: number[] = [];
    for (let times = 0; times < 5; times++) statuses.push((await rotate(60_000)).status);
    const ended = await rotate(0);

    expect(statuses).toEqual([200, 200, 200, 200, 409]);
    expect(ended.body).toMatchObject({ former_secret_until: null });
    expect((await rotate(60_000)).status).toBe(200);
  });

  it.each([
    [{ overlap_ms: 604_800_001 }, "overlap_ms"],
    [{ overlap_ms: -1 }, "overlap_ms"],
    [{ overlap_ms: "1d" }, "overlap_ms"],
    [{ overlap: 1 }, "overlap"],
  ])("are not given another secret for %j", async (wish, path) => {
    const { body } = await bench.call("POST", "/api/webhooks", { url });

    const refused = await bench.call("POST", `/api/webhooks/${body.id}/rotate`, wish);

    expect(refused.status).toBe(422);
    expect(refused.body.errors).toMatchObject([{ path }]);
    expect((await bench.call("POST", "/api/webhooks/whk_none/rotate", {})).status).toBe(404);
  });

  it("are removed", async () => {
    const { body } = await bench.call("POST", "/api/webhooks", { url });

    expect((await bench.call("DELETE", `/api/webhooks/${body.id}`)).status).toBe(204);

    expect((await bench.call("DELETE", `/api/webhooks/${body.id}`)).status).toBe(404);
    expect((await bench.call("GET", "/api/webhooks")).body.data).toEqual([]);
  });

  it.each([
    [{}, "url", "missing"],
    [{ url: "ftp://hooks.example.com" }, "url", "scheme"],
    [{ url: "http://169.254.169.254/latest" }, "url", "metadata_host"],
    [{ url: "https://me:pass@hooks.example.com" }, "url", "credentials"],
    [{ url, events: [] }, "events", "empty"],
    [{ url, events: ["key.lost"] }, "events.0", "not_a_choice"],
    [{ url, secret: "whsec_mine" }, "secret", "unknown_field"],
  ])("are refused as %j", async (wish, path, code) => {
    const { status, body } = await bench.call("POST", "/api/webhooks", wish);

    expect(status).toBe(422);
    expect(body.errors).toMatchObject([{ path, code }]);
  });

  it("are fifty at the most", async () => {
    for (let number = 0; number < 50; number++) await bench.call("POST", "/api/webhooks", { url });

    expect((await bench.call("POST", "/api/webhooks", { url })).status).toBe(409);
  });

  it("are tried, and say what became of it", async () => {
    const { body } = await bench.call("POST", "/api/webhooks", { url });

    const test = await bench.call("POST", `/api/webhooks/${body.id}/test`);

    expect(test.body).toEqual({
      delivered: false,
      http_status: 500,
      message: "The receiver answered 500.",
      duration_ms: 12,
    });
    expect((await bench.call("POST", "/api/webhooks/whk_none/test")).status).toBe(404);
  });

  it("show what was sent there last", async () => {
    const { body } = await bench.call("POST", "/api/webhooks", { url });
    const delivery = {
      id: "msg_1",
      webhookId: body.id,
      type: "key.disabled",
      body: "{}",
      createdAt: 1_750_000_000_000,
    };
    await bench.store.insertDeliveries([delivery], 10);

    const { data } = (await bench.call("GET", `/api/webhooks/${body.id}/deliveries`)).body;

    expect(data).toMatchObject([
      { id: "msg_1", type: "key.disabled", state: "waiting", attempts: 0, last_error: null },
    ]);
    expect((await bench.call("GET", "/api/webhooks/whk_none/deliveries")).status).toBe(404);
  });
});
