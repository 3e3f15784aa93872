import { KeywheelError } from "@keywheel/pool";
import type pg from "pg";
import { clientConfig, PostgresClient } from "./postgres-client.ts";
import { explainPostgres } from "./postgres-faults.ts";
import { nameOfDatabase } from "./postgres-url.ts";

export interface PostgresFinding {
  /** Without a password. */
  readonly name: string;
  /** As the server says it: `15.8`. */
  readonly version: string;
  /** Major and minor: 150008. */
  readonly versionNumber: number;
  /** How far the server's clock is ahead of this machine's, ms. */
  readonly skewMs: number;
  readonly isStandby: boolean;
  readonly isEncrypted: boolean;
  /** Whether a start made an admin token and it is kept there. */
  readonly hasAdminToken: boolean;
}

/**
 * Looks at a database and changes nothing.
 *
 * @throws KeywheelError store_unavailable
 */
export async function examinePostgres(url: string): Promise<PostgresFinding> {
  const name = nameOfDatabase(url);
  let client: pg.Client | undefined;
  try {
    client = new PostgresClient(clientConfig(url));
    await client.connect();
    const askedAt = Date.now();
    const { rows } = await client.query<Facts>(`
      select current_setting('server_version') as version, current_setting('server_version_num')::int as number,
        pg_is_in_recovery() as standby, extract(epoch from clock_timestamp()) * 1000 as now,
        coalesce((select ssl from pg_stat_ssl where pid = pg_backend_pid()), false) as ssl,
        to_regclass('meta') is not null as used`);
    const [facts] = rows;
    if (facts === undefined) throw new Error("a select without a table answers one row");
    const middle = (askedAt + Date.now()) / 2;
    return {
      name,
      version: facts.version.split(" ", 1)[0] ?? facts.version,
      versionNumber: facts.number,
      skewMs: Math.round(Number(facts.now) - middle),
      isStandby: facts.standby,
      isEncrypted: facts.ssl,
      hasAdminToken: facts.used && (await holdsAdminToken(client)),
    };
  } catch (error) {
    const fault = explainPostgres(error, name);
    if (fault.kind !== "unavailable") throw error;
    throw new KeywheelError("store_unavailable", fault.message, { hint: fault.hint, cause: error });
  } finally {
    await client?.end().catch(() => {
      // It is gone already.
    });
  }
}

interface Facts {
  readonly version: string;
  readonly number: number;
  readonly standby: boolean;
  readonly now: string;
  readonly ssl: boolean;
  readonly used: boolean;
}

async function holdsAdminToken(client: pg.Client): Promise<boolean> {
  const { rowCount } = await client.query("select 1 from meta where name = 'admin_token_sha256'");
  return rowCount === 1;
}
