import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { describeStore, type StoreFixture } from "../../../testkit/src/store-suite.ts";
import { openStore } from "./open-store.ts";

describeStore("SQLite", makeFixture);

async function makeFixture(): Promise<StoreFixture> {
  const dataDir = await mkdtemp(join(tmpdir(), "keywheel-store-"));
  let store = await openStore({ dataDir });
  return {
    store,
    reopen: async () => {
      await store.close();
      store = await openStore({ dataDir });
      return store;
    },
    dispose: async () => {
      await store.close();
      await rm(dataDir, { recursive: true });
    },
  };
}
