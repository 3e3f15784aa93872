// Breaks Redis, PostgreSQL and gateways under load, for as long as you like: `npm run faults -- --seconds 60 [--rate 300]`.
import { runLongTest } from "./lib/long-test.mjs";
import { ensureNamespaces } from "./lib/namespaces.mjs";
import { ensurePostgres } from "./lib/postgres.mjs";
import { ensureRedis } from "./lib/redis.mjs";

await runLongTest(
  "test/faults/faults.test.ts",
  { seconds: "KEYWHEEL_FAULTS_SECONDS", rate: "KEYWHEEL_FAULTS_RATE" },
  {},
  [ensurePostgres, ensureRedis, ensureNamespaces],
);
