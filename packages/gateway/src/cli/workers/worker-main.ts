import { work } from "./worker.ts";

// A diagnostic report lists the environment. @see cli/main.ts
process.report.excludeEnv = true;

await work(process.env);
