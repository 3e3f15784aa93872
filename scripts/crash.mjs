// Kills the gateway under load, as often as you like: `npm run crash -- --rounds 100 [--seed 1] [--folder /mnt/small]`.
import { runLongTest } from "./lib/long-test.mjs";

await runLongTest("test/durability/crash.test.ts", {
  rounds: "KEYWHEEL_CRASH_ROUNDS",
  seed: "KEYWHEEL_CRASH_SEED",
  folder: "KEYWHEEL_CRASH_FOLDER",
});
