import { setTimeout as sleep } from "node:timers/promises";
import { reply, runGateway } from "@keywheel/testkit";
import { expect, it } from "vitest";
import { type PostgresServer, startPostgres } from "../../packages/testkit/src/postgres.ts";
import { poolOf } from "../pooled-provider.ts";

const env = (url: string): Readonly<Record<string, string>> => ({
  KEYWHEEL_DATABASE_URL: url,
  KEYWHEEL_MASTER_KEY: Buffer.alloc(32, 7).toString("base64"),
});

async function until(what: string, isSo: () => Promise<boolean>): Promise<void> {
  for (let tries = 0; !(await isSo()); tries++) {
    if (tries > 300) throw new Error(`${what} took more than 15 s`);
    await sleep(50);
  }
}

async function bringBack(server: PostgresServer, signal: "SIGKILL" | "SIGINT"): Promise<void> {
  await server.kill(signal);
  await sleep(300);
  await server.start();
}

it("serves on while PostgreSQL is killed and started again, and no client sees an error", async () => {
  await using server = await startPostgres();
  await using gateway = await runGateway({ env: env(await server.createDatabase()) });
  await using pool = await poolOf(gateway, { weights: [1, 1, 1] });
  const statuses = new Map<number, number>();
  const answeredAt: number[] = [];
  const killedAt: number[] = [];
  const end = new AbortController();
  const load = Promise.all(
    Array.from({ length: 4 }, async (_, client) => {
      for (let call = 0; !end.signal.aborted; call++) {
        const response = await pool.send({ session: `s-${client}-${call % 50}` });
        await response.arrayBuffer();
        answeredAt.push(performance.now());
        statuses.set(response.status, (statuses.get(response.status) ?? 0) + 1);
        await sleep(5);
      }
    }),
  );

  for (const signal of ["SIGKILL", "SIGINT", "SIGKILL"] as const) {
    await sleep(500);
    if (signal === "SIGKILL") killedAt.push(performance.now());
    await bringBack(server, signal);
    await until("the recovery", async () => (await fetch(`${gateway.url}/readyz`)).ok);
  }
  end.abort();
  await load;

  expect([...statuses.keys()]).toEqual([200]);
  expect(statuses.get(200)).toBeGreaterThan(100);
  // What was served while it was away is written down later. What it had taken just before it was killed it may lose itself.
  const served = statuses.get(200) ?? 0;
  const mayBeLost = answeredAt.filter((at) => killedAt.some((killed) => at > killed - 1_000 && at <= killed)).length;
  const usage = async (): Promise<number> =>
    (await gateway.api<{ total: { requests: number } }>("GET", "/usage")).total.requests;
  expect(mayBeLost).toBeLessThan(0.9 * served);
  await until("writing down the requests", async () => (await usage()) >= served - mayBeLost);
}, 60_000);

it("refuses calls of operators while PostgreSQL is away, says so, and keeps what it learns of keys", async () => {
  await using server = await startPostgres();
  await using gateway = await runGateway({ env: env(await server.createDatabase()) });
  await using pool = await poolOf(gateway);
  await server.kill();
  pool.provider.forKey(pool.valueOf("A")).always(reply.json(401, {}, {}));

  const answers = await Promise.all([pool.send(), pool.send()]);
  const change = await gateway.apiResponse("PATCH", `/keys/${pool.keys[1]!.id}`, { weight: 5 });
  await until("the notice", async () => {
    const { data } = await gateway.api<{ data: { code: string }[] }>("GET", "/notices");
    return data.some(({ code }) => code === "store_unavailable");
  });
  const ready = await fetch(`${gateway.url}/readyz`);
  const status = await gateway.api<{ store: { ok: boolean; trouble: string } }>("GET", "/status");

  expect(answers.map((answer) => answer.status)).toEqual([200, 200]);
  expect(change.status).toBe(503);
  expect(await change.json()).toMatchObject({ code: "store_unavailable" });
  expect(ready.status).toBe(503);
  expect(status.store).toMatchObject({ ok: false, trouble: expect.stringContaining("PostgreSQL") as string });
  expect(gateway.logs()).toContain("The database cannot be written");
  expect((await gateway.key(pool.keys[1]!.id)).weight).toBe(1);

  await server.start();
  await until("the recovery", async () => (await fetch(`${gateway.url}/readyz`)).ok);
  await gateway.restart();
  expect(await gateway.key(pool.keys[0]!.id)).toMatchObject({
    status: "disabled",
    status_reason: { code: "authentication_failed" },
  });

  await server.kill();
  expect(await gateway.stop()).toBe(0);
});

it("goes on beside a PostgreSQL that takes everything and answers nothing, and can be stopped", async () => {
  await using server = await startPostgres();
  await using gateway = await runGateway({ env: env(await server.createDatabase()) });
  await using pool = await poolOf(gateway);
  const timed = async <T>(work: Promise<T>): Promise<{ answer: T; tookMs: number }> => {
    const begun = performance.now();
    return { answer: await work, tookMs: performance.now() - begun };
  };
  server.freeze(true);
  pool.provider.forKey(pool.valueOf("A")).always(reply.json(401, {}, {}));

  const refused = await timed(pool.send());
  const plain = await timed(pool.send());
  const change = await timed(gateway.apiResponse("PATCH", `/keys/${pool.keys[1]!.id}`, { weight: 5 }));
  const stop = await timed(gateway.stop(60_000));
  server.freeze(false);
  await gateway.restart();

  expect([refused.answer.status, plain.answer.status, change.answer.status, stop.answer]).toEqual([200, 200, 503, 0]);
  // The wait for a refusal to be durable is bounded, whatever the database does.
  expect(refused.tookMs + plain.tookMs).toBeLessThan(5000);
  expect(change.tookMs).toBeLessThan(25_000);
  expect(stop.tookMs).toBeLessThan(30_000);
  expect((await gateway.key(pool.keys[1]!.id)).weight).toBe(1);
}, 120_000);

it("waits for a PostgreSQL that is not there yet, and says what it waits for", async () => {
  await using server = await startPostgres();
  const url = await server.createDatabase();
  await server.kill();
  const starting = runGateway({ env: env(url) });
  await sleep(2000);
  await server.start();

  await using gateway = await starting;

  expect(gateway.logs()).toContain("Waiting for the database");
  expect((await fetch(`${gateway.url}/readyz`)).status).toBe(200);
});
