import { run } from "./run.ts";
import { processTerminal } from "./terminal.ts";

// Whoever reads the output may stop doing so (`keywheel key list | head`): that is no fault.
for (const stream of [process.stdout, process.stderr]) {
  stream.on("error", (error: NodeJS.ErrnoException) => {
    if (error.code !== "EPIPE") throw error;
  });
}

// Not `process.exit`: what was printed may still be on its way.
process.exitCode = await run(process.argv.slice(2), processTerminal());
