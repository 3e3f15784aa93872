// Keeps a gateway under load for as long as you like: `npm run soak -- --minutes 30 --rate 500`.
import { runLongTest } from "./lib/long-test.mjs";

await runLongTest("test/load/soak.test.ts", { minutes: "KEYWHEEL_SOAK_MINUTES", rate: "KEYWHEEL_SOAK_RATE" });
