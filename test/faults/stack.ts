import {
  type CutOff,
  type Isolation,
  freePort,
  isolate,
  runGateway,
  type RunningGateway,
  runRedis,
  type RunningRedis,
} from "@keywheel/testkit";
import {
  databaseNameOf,
  openPostgres,
  overNetwork,
  type PostgresServer,
  type PostgresView,
  startPostgres,
} from "../../packages/testkit/src/postgres.ts";

/** Which of the gateways can be cut off from the others' services, and which is killed. */
export const isolated = 2;
export const mortal = 1;

/** Three gateways on one PostgreSQL and one Redis, one of them where it can be cut off from either. */
export interface Stack extends AsyncDisposable {
  readonly gateways: readonly RunningGateway[];
  readonly redis: RunningRedis;
  readonly postgres: PostgresServer;
  /** The name of their database. */
  readonly databaseName: string;
  readonly wayToRedis: CutOff;
  readonly wayToPostgres: CutOff;
  /** How one of them is cut off, for people. */
  readonly isolation: string;
  /** Where a provider has to listen so that all of them reach it. */
  readonly outside: string;
  /** What the clients show to the gateways. */
  readonly token: string;
  /** Whether a key is on in the database; undefined while that cannot be told. */
  stored(keyId: string): Promise<"on" | "off" | "gone" | undefined>;
  /** How often the database had to give up a transaction for another one. A restart begins the count anew. */
  deadlocks(): Promise<number>;
}

export async function startStack(): Promise<Stack> {
  const begun: (() => Promise<void>)[] = [];
  const end = async (): Promise<void> => {
    for (const dispose of begun.splice(0).reverse()) await dispose();
  };
  try {
    return { ...(await startParts((dispose) => begun.push(dispose))), [Symbol.asyncDispose]: end };
  } catch (error) {
    await end();
    throw error;
  }
}

/** @param ends takes how to end each part; the last one is ended first */
async function startParts(
  ends: (dispose: () => Promise<void>) => void,
): Promise<Omit<Stack, typeof Symbol.asyncDispose>> {
  const owned = <T extends AsyncDisposable>(part: T): T => {
    ends(async () => part[Symbol.asyncDispose]());
    return part;
  };
  const isolation = owned(isolate());
  const [wayToRedis, wayToPostgres] = [await isolation.addWay(), await isolation.addWay()];
  const redis = await runRedis({ listenOn: wayToRedis.listenOn, settings: ["--appendonly", "yes"] });
  ends(() => redis.dispose());
  const port = await freePort();
  const { listenOn, lets } = wayToPostgres;
  const postgres = owned(await startPostgres({ network: { port, beyond: { listenOn, lets } } }));
  const address = await postgres.createDatabase();
  const database = owned(openPostgres(address));

  const apart = { redis: await wayToRedis.leadTo(redis.port), postgres: await wayToPostgres.leadTo(port) };
  const near = { redis: { host: "127.0.0.1", port: redis.port }, postgres: { host: "127.0.0.1", port } };
  const first = owned(await startGateway(near, address));
  const second = owned(await startGateway(near, address));
  const third = owned(await startGateway(apart, address, isolation));
  // What is still to be said goes where it belongs, and nowhere else.
  ends(async () => {
    for (const way of [wayToRedis, wayToPostgres]) await way.heal();
  });
  const { token } = await first.api<{ token: string }>("POST", "/tokens", { name: "clients" });
  return {
    gateways: [first, second, third],
    redis,
    postgres,
    databaseName: databaseNameOf(address),
    wayToRedis,
    wayToPostgres,
    isolation: isolation.way,
    outside: isolation.outside,
    token,
    stored: (keyId) => stored(database, keyId),
    deadlocks: () => deadlocks(database),
  };
}

interface Ways {
  readonly redis: { readonly host: string; readonly port: number };
  readonly postgres: { readonly host: string; readonly port: number };
}

function startGateway({ redis, postgres }: Ways, database: string, isolation?: Isolation): Promise<RunningGateway> {
  const env = {
    KEYWHEEL_DATABASE_URL: overNetwork(database, postgres.host, postgres.port),
    KEYWHEEL_REDIS_URL: `redis://${redis.host}:${redis.port}`,
    KEYWHEEL_MASTER_KEY: Buffer.alloc(32, 11).toString("base64"),
  };
  // As gateways behind a balancer are run; beyond loopback nothing else is let.
  const flags = ["--require-token", "--log-level", "warn", "--log-format", "json"];
  if (isolation === undefined) return runGateway({ env, flags });
  return runGateway({ env, flags: [...flags, "--host", isolation.host], prefix: isolation.prefix });
}

async function stored(database: PostgresView, keyId: string): Promise<"on" | "off" | "gone" | undefined> {
  try {
    const [row] = await database.query<{ enabled: number }>("select enabled from keys where id = $1", [keyId]);
    if (row === undefined) return "gone";
    return row.enabled === 1 ? "on" : "off";
  } catch {
    // It is away, which is what these tests are about.
    return undefined;
  }
}

async function deadlocks(database: PostgresView): Promise<number> {
  const [row] = await database.query<{ deadlocks: string }>(
    "select deadlocks from pg_stat_database where datname = current_database()",
    [],
  );
  return Number(row?.deadlocks);
}
