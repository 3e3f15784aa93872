// Sends malformed messages to a gateway for as long as you like: `npm run fuzz -- --runs 1000000 [--seed 1]`.
import { runLongTest } from "./lib/long-test.mjs";

await runLongTest(
  "test/fuzz",
  { runs: "KEYWHEEL_FUZZ_RUNS", seed: "KEYWHEEL_FUZZ_SEED" },
  // Many at once: most of the time is spent on waiting for what does not come.
  { KEYWHEEL_FUZZ_BATCH: "400" },
);
