import { allocateAllAsNew } from "../heap-flags.ts";
import { work } from "./worker.ts";

// A diagnostic report lists the environment. @see cli/main.ts
process.report.excludeEnv = true;

allocateAllAsNew();
await work(process.env);
