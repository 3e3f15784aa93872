import { isKeywheelError } from "@keywheel/pool";
import { examinePostgres, type PostgresFinding } from "../../store/postgres-check.ts";
import { type Check, fail, ok, warn } from "./check.ts";

/** What of PostgreSQL the tests run on; older ones lack nothing that is known, and are cared for by nobody. */
const oldestVersion = 140_000;
/** Instants of several gateways are compared with each other. */
const mostSkewMs = 2000;

/** Asks a PostgreSQL database how it stands; changes nothing. */
export async function checkPostgres(
  url: string,
): Promise<{ readonly checks: readonly Check[]; readonly hasAdminToken: boolean }> {
  try {
    const finding = await examinePostgres(url);
    return { checks: [stateOf(finding), clockOf(finding)], hasAdminToken: finding.hasAdminToken };
  } catch (error) {
    if (!isKeywheelError(error)) throw error;
    return { checks: [fail("database", `${error.message}.`, error.hint)], hasAdminToken: false };
  }
}

function stateOf({ name, version, versionNumber, isStandby, isEncrypted }: PostgresFinding): Check {
  if (isStandby) return fail("database", `${name} is a standby and takes no writes.`, "Name the primary.");
  if (versionNumber < oldestVersion) {
    return warn(
      "database",
      `${name} runs version ${version}, which is out of care.`,
      "Bring it to version 14 or newer.",
    );
  }
  const link = isEncrypted ? "over TLS" : "without TLS";
  return ok("database", `${name} answers, version ${version}, ${link}. Back it up with pg_dump.`);
}

function clockOf({ name, skewMs }: PostgresFinding): Check {
  if (Math.abs(skewMs) <= mostSkewMs) return ok("database", "Its clock and this machine's agree.");
  const seconds = Math.round(Math.abs(skewMs) / 1000);
  const direction = skewMs > 0 ? "ahead of" : "behind";
  const advice = "Set the clocks by NTP: times that several gateways write down are compared.";
  return warn("database", `The clock of ${name} is ${seconds} s ${direction} this machine's.`, advice);
}
