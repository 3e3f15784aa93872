import { run } from "./run.ts";
import { processTerminal } from "./terminal.ts";

// Whoever reads the output may stop doing so (`keywheel key list | head`), and a terminal may be closed: that is no fault.
for (const stream of [process.stdout, process.stderr]) {
  stream.on("error", (error: NodeJS.ErrnoException) => {
    if (error.code !== "EPIPE" && error.code !== "EIO") throw error;
  });
}

// A diagnostic report (`--report-on-fatalerror` and its like) lists the environment, and that may hold every key there is.
process.report.excludeEnv = true;

// Not `process.exit`: what was printed may still be on its way.
process.exitCode = await run(process.argv.slice(2), processTerminal());
