// What each kind of work costs gateway, Redis and PostgreSQL, on this machine: `npm run costs -- --requests 5000`.
// docs/scaling.md makes a model of the figures.
import { runLongTest } from "./lib/long-test.mjs";

await runLongTest("test/costs/costs.test.ts", { requests: "KEYWHEEL_COSTS_REQUESTS" });
