import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { beforeAll } from "vitest";
import { createTestDatabase, queryPostgres } from "../../../testkit/src/postgres.ts";
import { describeStore, type StoreFixture } from "../../../testkit/src/store-suite.ts";
import { openStore } from "./open-store.ts";

let databaseUrl: string;
beforeAll(async () => {
  databaseUrl = await createTestDatabase();
});

describeStore("PostgreSQL", makeFixture);

async function makeFixture(): Promise<StoreFixture> {
  const dataDir = await mkdtemp(join(tmpdir(), "keywheel-store-"));
  await queryPostgres(databaseUrl, "drop schema public cascade; create schema public");
  let store = await openStore({ dataDir, databaseUrl });
  return {
    store,
    reopen: async () => {
      await store.close();
      store = await openStore({ dataDir, databaseUrl });
      return store;
    },
    dispose: async () => {
      await store.close();
      await rm(dataDir, { recursive: true });
    },
  };
}
