import { type ChildProcess, execFileSync, spawn } from "node:child_process";
import { randomBytes } from "node:crypto";
import { once } from "node:events";
import {
  appendFileSync,
  chmodSync,
  chownSync,
  existsSync,
  mkdirSync,
  mkdtempSync,
  readFileSync,
  renameSync,
  rmSync,
  writeFileSync,
} from "node:fs";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import pg from "pg";
import { inject } from "vitest";

declare module "vitest" {
  interface ProvidedContext {
    /** The server of this run: where it lies, or will once a test asks for it, and its programs. */
    readonly postgres: { readonly folder: string; readonly bin: string | undefined };
  }
}

/** A PostgreSQL of its own, in a temporary folder. */
export interface PostgresServer extends AsyncDisposable {
  /** Makes an empty database. @returns its address */
  createDatabase(): Promise<string>;
  /** As if the machine had lost its power, or an administrator had stopped it. */
  kill(signal?: "SIGKILL" | "SIGINT"): Promise<void>;
  start(): Promise<void>;
  /** As if its disk had been lost: kills it and starts it on a new one, with nothing but empty databases of these names. */
  startEmpty(names: readonly string[]): Promise<void>;
  /** Puts the disk back that was lost. */
  startRestored(): Promise<void>;
  /** Takes every byte and answers none, as behind a network that swallows everything; or goes on. */
  freeze(isFrozen: boolean): void;
}

const superuser = "keywheel";

/** A database of its own on the server of the whole run. @returns its address */
export async function createTestDatabase(): Promise<string> {
  const { folder } = inject("postgres");
  await startOnce(folder);
  return await createDatabaseIn(folder);
}

/** Runs a statement beside the gateway. @returns its rows */
export async function queryPostgres<Row extends pg.QueryResultRow>(
  url: string,
  statement: string,
  values: readonly unknown[] = [],
): Promise<Row[]> {
  const client = new pg.Client({ connectionString: url });
  await client.connect();
  try {
    return (await client.query<Row>(statement, [...values])).rows;
  } finally {
    await client.end();
  }
}

/** A look into a database beside the gateways, over connections that are kept. */
export interface PostgresView extends AsyncDisposable {
  /** @returns the rows. @throws if there is no answer within a second */
  query<Row extends pg.QueryResultRow>(statement: string, values: readonly unknown[]): Promise<Row[]>;
}

export function openPostgres(url: string): PostgresView {
  const pool = new pg.Pool({ connectionString: url, max: 3, connectionTimeoutMillis: 1_000, query_timeout: 1_000 });
  // A connection that broke while nobody used it: the next query gets a new one.
  pool.on("error", () => {});
  return {
    query: async <Row extends pg.QueryResultRow>(statement: string, values: readonly unknown[]) =>
      (await pool.query<Row>(statement, [...values])).rows,
    [Symbol.asyncDispose]: () => pool.end(),
  };
}

export interface PostgresOptions {
  /** Listens on `localhost` as well, and asks for the password there. */
  readonly network?: {
    readonly port: number;
    /** Speaks TLS with those who ask for it. */
    readonly tls?: { readonly certificate: string; readonly key: string };
    /** More addresses of this machine on which it listens, and whom it lets in there, as CIDR. */
    readonly beyond?: { readonly listenOn: readonly string[]; readonly lets: readonly string[] };
  };
  /** Waits for the disk at each commit, as a server in use does; default false: tests have no power cuts. */
  readonly isDurable?: boolean;
}

export const postgresPassword = "invented-for-tests";

/** The name of the database that an address leads to. */
export function databaseNameOf(url: string): string {
  return new URL(url).pathname.slice(1);
}

/** The address by which a server with a network is reached over it, instead of the one of a socket. */
export function overNetwork(url: string, host: string, port: number): string {
  return `postgres://${superuser}:${postgresPassword}@${host}:${port}${new URL(url).pathname}`;
}

/** A server that a test may stop; it is not the one of the other tests. */
export async function startPostgres(options: PostgresOptions = {}): Promise<PostgresServer> {
  const folder = mkdtempSync(join(tmpdir(), "keywheel-postgres-"));
  let server = await startIn(folder, options);
  const freeze = (isFrozen: boolean): void => {
    const { pid } = server;
    if (pid === undefined || server.exitCode !== null || server.signalCode !== null) return;
    const children = execFileSync("ps", ["-o", "pid=", "--ppid", String(pid)])
      .toString()
      .trim()
      .split(/\s+/);
    for (const one of [pid, ...children.map(Number)]) signal(one, isFrozen ? "SIGSTOP" : "SIGCONT");
  };
  const kill = async (signal: "SIGKILL" | "SIGINT" = "SIGKILL"): Promise<void> => {
    if (server.exitCode !== null || server.signalCode !== null) return;
    const ended = once(server, "exit");
    server.kill(signal);
    await ended;
  };
  const start = async (): Promise<void> => void (server = await startIn(folder, options));
  const [data, lost] = [join(folder, "data"), join(folder, "data-lost")];
  return {
    createDatabase: () => createDatabaseIn(folder),
    kill,
    start,
    startEmpty: async (names) => {
      await kill();
      renameSync(data, lost);
      await start();
      for (const name of names) await queryPostgres(urlOf(folder, "postgres"), `create database ${name}`);
    },
    startRestored: async () => {
      await kill();
      rmSync(data, { recursive: true });
      renameSync(lost, data);
      await start();
    },
    freeze,
    [Symbol.asyncDispose]: () => {
      freeze(false);
      return endPostgresIn(folder);
    },
  };
}

/** Ends the server of a folder, if there is one, and removes the folder. */
export async function endPostgresIn(folder: string): Promise<void> {
  const pid = pidIn(folder);
  if (pid !== undefined) {
    signal(pid, "SIGQUIT");
    while (signal(pid, 0)) await sleep(10);
  }
  rmSync(folder, { recursive: true, force: true });
}

function signal(pid: number, name: NodeJS.Signals | 0): boolean {
  try {
    process.kill(pid, name);
    return true;
  } catch {
    // It has ended.
    return false;
  }
}

function pidIn(folder: string): number | undefined {
  const file = join(folder, "data", "postmaster.pid");
  if (!existsSync(file)) return undefined;
  const pid = Number(readFileSync(file, "utf8").split("\n")[0]);
  return Number.isInteger(pid) && pid > 0 ? pid : undefined;
}

/** Test files run in several processes: the first one starts the server, the others wait for it. */
async function startOnce(folder: string): Promise<void> {
  try {
    mkdirSync(join(folder, "starting"));
  } catch {
    for (let wait = 0; wait < 600 && !existsSync(join(folder, "started")); wait++) await sleep(50);
    return;
  }
  await startIn(folder);
  mkdirSync(join(folder, "started"));
}

async function startIn(folder: string, { network, isDurable = false }: PostgresOptions = {}): Promise<ChildProcess> {
  const { bin } = inject("postgres");
  if (bin === undefined) throw new Error("There is no PostgreSQL here: `npm test` installs one, or says how.");
  const user = unprivileged();
  const data = join(folder, "data");
  if (!existsSync(data)) {
    chmodSync(folder, 0o755);
    mkdirSync(data, { mode: 0o700 });
    mkdirSync(join(folder, "socket"), { recursive: true });
    for (const path of [data, join(folder, "socket")]) if (user !== undefined) chownSync(path, user.uid, user.gid);
    // Sorted as people do, not by bytes: what relies on the order of the database shows.
    const locale = ["--locale-provider=icu", "--icu-locale=en-US", "--locale=C", "--encoding=UTF8"];
    const secret = join(folder, "password");
    writeFileSync(secret, postgresPassword, { mode: 0o644 });
    const access = ["-U", superuser, "--auth-local=trust", "--auth-host=scram-sha-256", `--pwfile=${secret}`];
    const args = ["-D", data, "--no-sync", ...access, ...locale];
    execFileSync(join(bin, "initdb"), args, { ...user, cwd: folder, stdio: ["ignore", "ignore", "pipe"] });
    const lines = network?.beyond?.lets.map((clients) => `host all all ${clients} scram-sha-256\n`) ?? [];
    appendFileSync(join(data, "pg_hba.conf"), lines.join(""));
  }
  const settings = {
    listen_addresses: "",
    unix_socket_directories: join(folder, "socket"),
    fsync: isDurable ? "on" : "off",
    ...(network && networked(data, network)),
  };
  const flags = Object.entries(settings).flatMap(([name, value]) => ["-c", `${name}=${value}`]);
  for (let tries = 0; ; tries++) {
    const server = spawn(join(bin, "postgres"), ["-D", data, ...flags], {
      ...user,
      cwd: folder,
      // Its own group: Ctrl-C ends the tests, and they end it.
      detached: true,
      stdio: ["ignore", "ignore", "ignore"],
    });
    server.unref();
    try {
      await untilItAnswers(folder, server);
      return server;
    } catch (error) {
      // Processes of one that was killed may not have noticed yet, and hold its shared memory.
      if (tries === mostStarts) throw error;
      await sleep(250);
    }
  }
}

const mostStarts = 20;

type Network = NonNullable<PostgresOptions["network"]>;

function networked(data: string, { port, tls, beyond }: Network): Record<string, string> {
  if (tls !== undefined) certify(data, tls);
  portOf.set(dirname(data), port);
  const addresses = ["127.0.0.1", ...(beyond?.listenOn ?? [])];
  return { listen_addresses: addresses.join(","), port: String(port), ssl: tls === undefined ? "off" : "on" };
}

/** Puts the certificate where the server reads it, as its own. */
function certify(data: string, { certificate, key }: NonNullable<Network["tls"]>): void {
  const user = unprivileged();
  for (const [name, text] of [
    ["server.crt", certificate],
    ["server.key", key],
  ] as const) {
    writeFileSync(join(data, name), text, { mode: 0o600 });
    if (user !== undefined) chownSync(join(data, name), user.uid, user.gid);
  }
}

/** Of servers that listen on another one than the usual: it is part of the socket's name. */
const portOf = new Map<string, number>();

async function untilItAnswers(folder: string, server: ChildProcess): Promise<void> {
  for (let tries = 0; ; tries++) {
    try {
      await queryPostgres(urlOf(folder, "postgres"), "select 1");
      return;
    } catch (error) {
      if (server.exitCode !== null || tries > 1000) throw new Error("PostgreSQL did not start", { cause: error });
      await sleep(20);
    }
  }
}

async function createDatabaseIn(folder: string): Promise<string> {
  const name = `test_${randomBytes(6).toString("hex")}`;
  await queryPostgres(urlOf(folder, "postgres"), `create database ${name}`);
  return urlOf(folder, name);
}

function urlOf(folder: string, database: string): string {
  return `postgres:///${database}?host=${encodeURIComponent(join(folder, "socket"))}&user=${superuser}&port=${portOf.get(folder) ?? 5432}`;
}

/** PostgreSQL refuses to run as root. */
function unprivileged(): { readonly uid: number; readonly gid: number } | undefined {
  if (process.getuid?.() !== 0) return undefined;
  const idOf = (flag: string, name: string): number => Number(execFileSync("id", [flag, name]).toString());
  try {
    return { uid: idOf("-u", "postgres"), gid: idOf("-g", "postgres") };
  } catch {
    // Installed by hand, without the user that Debian makes for it.
    return { uid: idOf("-u", "nobody"), gid: idOf("-g", "nobody") };
  }
}
