import { fileURLToPath } from "node:url";

/** The root of the checkout, without a trailing slash. */
export const root = fileURLToPath(new URL("../..", import.meta.url)).replace(/[\\/]$/, "");

/** Where the gateway's processes and threads begin, below its sources and what is built of them; `entryUrl` names the last two. */
export const programEntries = ["cli/main", "store/sqlite-worker", "cli/workers/worker-main"];
