import { type RunningGateway, runGateway } from "@keywheel/testkit";
import { expect, it } from "vitest";
import { databaseNameOf, startPostgres } from "../../packages/testkit/src/postgres.ts";
import { eventually, poolOf } from "../pooled-provider.ts";

const masterKey = Buffer.alloc(32, 7).toString("base64");
const passphrase = "invented for this test";

async function troubleOf(gateway: RunningGateway): Promise<string> {
  return (await gateway.api<{ store: { trouble?: string } }>("GET", "/status")).store.trouble ?? "";
}

it("serves on when PostgreSQL has come back empty, takes nothing from it, and can be carried over to it", async () => {
  await using server = await startPostgres();
  const url = await server.createDatabase();
  const env = { KEYWHEEL_DATABASE_URL: url, KEYWHEEL_MASTER_KEY: masterKey };
  await using gateway = await runGateway({ env });
  await using pool = await poolOf(gateway, { weights: [2, 1] });
  const statuses: number[] = [];
  const send = async (times: number): Promise<void> => {
    for (let sent = 0; sent < times; sent++) {
      const answer = await pool.send({ session: `s-${sent}` });
      await answer.arrayBuffer();
      statuses.push(answer.status);
    }
  };

  await server.startEmpty([databaseNameOf(url)]);
  const told = [
    await eventually(
      () => troubleOf(gateway),
      (text) => text.includes("lost tables"),
      { what: "the loss to be told" },
    ),
  ];
  await send(3);
  // A gateway that knows nothing of the old database takes the empty one for a new one.
  const newcomer = await runGateway({ env });
  await newcomer.api("POST", "/providers", { name: "New", kind: "openai", base_url: "https://new.example/v1" });
  told.push(
    await eventually(
      () => troubleOf(gateway),
      (text) => text.includes("emptied or replaced"),
      { what: "the stranger to be told" },
    ),
  );
  await send(3);
  const change = await gateway.apiResponse("PATCH", `/keys/${pool.keys[0]!.id}`, { weight: 9 });
  const refusal: unknown = await change.json();
  const list = await gateway.keys(pool.record);
  const document = await gateway.api("POST", "/export", { passphrase });
  const providers = await newcomer.api<{ data: { slug: string }[] }>("GET", "/providers");
  await newcomer.stop();
  await newcomer[Symbol.asyncDispose]();

  await gateway.restart();
  const restarted = await gateway.api<{ data: { slug: string }[] }>("GET", "/providers");
  await gateway.api("POST", "/import", { document, passphrase });
  await send(3);

  expect(told).toEqual([expect.any(String), expect.any(String)]);
  expect(statuses).toEqual(Array.from({ length: 9 }, () => 200));
  expect(change.status).toBe(503);
  expect(refusal).toMatchObject({
    code: "store_unavailable",
    hint: expect.stringContaining("keywheel export") as string,
  });
  expect(list.map(({ weight }) => weight)).toEqual([2, 1]);
  expect(providers.data.map(({ slug }) => slug)).toEqual(["new"]);
  expect(restarted.data.map(({ slug }) => slug)).toEqual(["new"]);
}, 60_000);

it("goes on with the database that it had loaded, once that is back", async () => {
  await using server = await startPostgres();
  const url = await server.createDatabase();
  await using gateway = await runGateway({ env: { KEYWHEEL_DATABASE_URL: url, KEYWHEEL_MASTER_KEY: masterKey } });
  await using pool = await poolOf(gateway);

  await server.startEmpty([databaseNameOf(url)]);
  await eventually(
    () => troubleOf(gateway),
    (text) => text.includes("lost tables"),
    { what: "the loss to be told" },
  );
  const answer = await pool.send();
  await server.startRestored();
  await eventually(
    () => fetch(`${gateway.url}/readyz`),
    ({ ok }) => ok,
    { what: "the recovery" },
  );
  await gateway.api("PATCH", `/keys/${pool.keys[0]!.id}`, { weight: 9 });
  await gateway.restart();

  expect(answer.status).toBe(200);
  expect((await gateway.key(pool.keys[0]!.id)).weight).toBe(9);
}, 60_000);
