// Everything, from cheap to dear. Runs on whatever Node the machine has, 18 and up, with nothing installed.
import { ensureBrowser } from "./lib/browser.mjs";
import { ensureBuilt } from "./lib/build.mjs";
import { allChecks, runChecks, runTests } from "./lib/checks.mjs";
import { ensureCurl } from "./lib/curl.mjs";
import { ensureHaproxy } from "./lib/haproxy.mjs";
import { ensureInstalled } from "./lib/install.mjs";
import { ensureKeyring } from "./lib/keyring.mjs";
import { ensureNamespaces } from "./lib/namespaces.mjs";
import { ensurePostgres } from "./lib/postgres.mjs";
import { ensurePrometheus } from "./lib/prometheus.mjs";
import { ensureRedis } from "./lib/redis.mjs";
import { ensureShells } from "./lib/shells.mjs";
import { apiReference, docsSite, ensureSideInstall, runtimes } from "./lib/side-install.mjs";
import { say } from "./lib/say.mjs";

/** What failed, apart from tests. @type {string[]} */
const faults = [];
const total = { passed: 0, failed: 0 };

try {
  await ensureInstalled();
  faults.push(...(await runChecks(allChecks)));
  await ensurePostgres();
  await ensureRedis();
  await ensureNamespaces();
  await ensureKeyring();
  add(await runTests("unit"));
  add(await runTests("undici-upstream"));
  await ensureBuilt();
  await ensureBrowser();
  await ensureHaproxy();
  await ensurePrometheus();
  await ensureCurl();
  await ensureShells();
  await ensureSideInstall(runtimes);
  await ensureSideInstall(apiReference);
  await ensureSideInstall(docsSite);
  add(await runTests("program"));
  add(await runTests("faults"));
  // Last: what it measures must not share the machine.
  add(await runTests("bench"));
} catch (error) {
  faults.push(error instanceof Error ? error.message : String(error));
}

for (const fault of faults) say(`✗ ${fault}`);
// A red run must not end on "0 failed": what is no test, but failed, counts as one.
console.log(`${total.passed} passed, ${total.failed + faults.length} failed`);
process.exitCode = faults.length > 0 || total.failed > 0 ? 1 : 0;

/** @param {import("./lib/checks.mjs").Tally} tally */
function add({ passed, failed }) {
  total.passed += passed;
  total.failed += failed;
}
