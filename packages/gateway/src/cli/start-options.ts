import { existsSync } from "node:fs";
import { availableParallelism } from "node:os";
import { defaultSecretFolders } from "../catalog/secret-files.ts";
import { logFormats, logLevels } from "../telemetry/log.ts";
import { type RedisAddress, readRedisUrl, redisUrlForms } from "../state/redis-url.ts";
import { availableBytes } from "../telemetry/load-watch.ts";
import { isPostgresUrl } from "../store/postgres-url.ts";
import { defaultDataDir } from "./data-dir.ts";
import { wrongWords } from "./exit.ts";
import { type Environment, type Flags, readSettings, type ValuesOf } from "./settings.ts";
import {
  host,
  hostAndPort,
  integer,
  list,
  masterKey,
  oneOf,
  origin,
  path,
  seconds,
  token,
  Unfit,
  yesOrNo,
} from "./values.ts";

/** With less it refuses requests while it does nothing; of several processes each does less. */
const leastMemoryMb = 192;
const leastShareMb = 150;
const mebibyte = 1024 * 1024;

const upstreamClients = ["own", "undici"] as const;
/** `undici` is the reference; `own` takes less of the processor for a request, and less for an answer. */
export type UpstreamClient = (typeof upstreamClients)[number];

/** Everything that `keywheel start` can be told. @see contract §1, §5 */
export const startSettings = {
  host: {
    name: "host",
    argument: "<address>",
    description: "address to listen on",
    parse: host,
    fallback: "127.0.0.1",
  },
  port: {
    name: "port",
    argument: "<number>",
    description: "port to listen on; 0 takes a free one",
    parse: integer(0, 65_535),
    fallback: 8787,
  },
  dataDir: {
    name: "data-dir",
    argument: "<folder>",
    description: "where the database and the master key lie",
    parse: path,
    fallback: undefined,
  },
  databaseUrl: {
    name: "database-url",
    argument: "<url>",
    description: "postgres://…, a database that several gateways may share; `sqlite`: the embedded one (default)",
    parse: database,
    fallback: undefined,
    secret: true,
  },
  redisUrl: {
    name: "redis-url",
    argument: "<url>",
    description: "Redis or Valkey, to share turns, cooldowns and sessions with other gateways",
    parse: redisUrl,
    fallback: undefined,
    secret: true,
  },
  envFile: {
    name: "env-file",
    argument: "<file>",
    description: "more variables for keys such as $OPENAI_KEY_1; read again when it changes",
    parse: path,
    fallback: undefined,
  },
  secretsDir: {
    name: "secrets-dir",
    argument: "<folder>",
    description:
      "where the files of keys such as file:/run/secrets/openai may lie; may be repeated (default: /run/secrets)",
    parse: list(path),
    fallback: defaultSecretFolders,
    repeatable: true,
  },
  config: {
    name: "config",
    argument: "<file>",
    description: "providers, keys and tokens from a keywheel.yaml; taken up again when it changes",
    parse: path,
    fallback: undefined,
  },
  open: {
    name: "open",
    description: "open the settings page in a browser, signed in",
    parse: yesOrNo,
    fallback: false,
  },
  readyFile: {
    name: "ready-file",
    argument: "<file>",
    description: 'write {"url", "pid", "version"} there once it serves',
    parse: path,
    fallback: undefined,
  },
  graceSeconds: {
    name: "grace-seconds",
    argument: "<number>",
    description: "how long running responses may take after SIGTERM or Ctrl-C",
    parse: seconds(0, 86_400),
    fallback: 30,
  },
  maxRequests: {
    name: "max-requests",
    argument: "<number>",
    description: "requests under way at once; more are refused with 503 (default: as many as open files allow)",
    parse: integer(1, 1_000_000),
    fallback: undefined,
  },
  maxMemoryMb: {
    name: "max-memory-mb",
    argument: "<number>",
    description: "MiB to use before requests are refused with 503 (default: three quarters of the machine's)",
    parse: integer(leastMemoryMb, 16_777_216),
    fallback: undefined,
  },
  workers: {
    name: "workers",
    argument: "<number>",
    description: "processes that share the port; `auto`: one for each processor core (default: 1)",
    parse: workers,
    fallback: 1,
  },
  requireToken: {
    name: "require-token",
    description: "let clients in only with a gateway token",
    parse: yesOrNo,
    fallback: undefined,
  },
  allowHost: {
    name: "allow-host",
    argument: "<name>",
    description: "a name under which clients reach it; may be repeated",
    parse: list(hostAndPort),
    fallback: [],
    repeatable: true,
  },
  allowOrigin: {
    name: "allow-origin",
    argument: "<origin>",
    description: "let pages of this origin call providers (CORS); may be repeated",
    parse: list(origin),
    fallback: [],
    repeatable: true,
  },
  allowPrivateMetadata: {
    name: "allow-private-metadata",
    description: "accept link-local and metadata addresses as a base URL",
    parse: yesOrNo,
    fallback: false,
  },
  upstreamClient: {
    name: "upstream-client",
    argument: "<name>",
    description: "what speaks HTTP to providers: `own`, fast and strict, or undici",
    parse: oneOf(upstreamClients),
    fallback: "own",
  },
  logLevel: {
    name: "log-level",
    argument: "<level>",
    description: logLevels.join(", "),
    parse: oneOf(logLevels),
    fallback: "info",
  },
  logFormat: {
    name: "log-format",
    argument: "<format>",
    description: `${logFormats.join(", ")}; pretty on a terminal`,
    parse: oneOf(logFormats),
    fallback: undefined,
  },
  adminToken: {
    name: "admin-token",
    description: "fixes the admin token",
    parse: token,
    fallback: undefined,
    variableOnly: true,
    secret: true,
  },
  masterKey: {
    name: "master-key",
    description: "encrypts stored keys: 32 bytes in base64",
    parse: masterKey,
    fallback: undefined,
    variableOnly: true,
    secret: true,
  },
} as const;

export type StartOptions = Omit<ValuesOf<typeof startSettings>, "dataDir" | "workers"> & {
  readonly dataDir: string;
  /** Processes that serve; 1: this one. */
  readonly workers: number;
};

/** @throws CommandError (2) that names what is wrong */
export function readStartOptions(flags: Flags, environment: Environment): StartOptions {
  const values = readSettings(startSettings, flags, environment);
  if (values.envFile !== undefined && !existsSync(values.envFile))
    throw wrongWords(`Expected \`--env-file\` to be a file that exists, got ${JSON.stringify(values.envFile)}.`);
  if (values.config !== undefined && !existsSync(values.config))
    throw wrongWords(`Expected \`--config\` to be a file that exists, got ${JSON.stringify(values.config)}.`);
  const memoryMb = values.maxMemoryMb ?? Math.floor(availableBytes() / mebibyte);
  const count = values.workers === "auto" ? autoWorkers(memoryMb) : values.workers;
  if (count > 1) refuseTooManyWorkers({ ...values, count, memoryMb });
  return { ...values, workers: count, dataDir: values.dataDir ?? defaultDataDir(environment) };
}

/** @returns undefined for the embedded one */
function database(text: string): string | undefined {
  const address = text.trim();
  if (/^sqlite:?$/i.test(address)) return undefined;
  if (isPostgresUrl(address)) return address;
  throw new Unfit("postgres://user:password@host:port/database, or `sqlite` for the embedded database");
}

const mostWorkers = 64;

/** One for each processor core, as far as the memory goes. */
function autoWorkers(memoryMb: number): number {
  return Math.max(1, Math.min(availableParallelism(), mostWorkers, Math.floor(memoryMb / leastShareMb) - 1));
}

function refuseTooManyWorkers({
  count,
  memoryMb,
  maxRequests,
}: {
  readonly count: number;
  readonly memoryMb: number;
  readonly maxRequests: number | undefined;
}): void {
  const leastMb = leastShareMb * (count + 1);
  if (memoryMb < leastMb) {
    const of = `${count} workers need at least ${leastMb} MiB, and there are ${memoryMb} to use`;
    throw wrongWords(`${of}: take fewer \`--workers\` (or \`auto\`), or more \`--max-memory-mb\`.`);
  }
  if (maxRequests !== undefined && maxRequests < count)
    throw wrongWords(`Expected \`--max-requests\` to be at least ${count} with ${count} workers, which share them.`);
}

function workers(text: string): number | "auto" {
  if (text.trim().toLowerCase() === "auto") return "auto";
  try {
    return integer(1, mostWorkers)(text);
  } catch {
    throw new Unfit(`an integer from 1 to ${mostWorkers}, or auto`);
  }
}

function redisUrl(text: string): RedisAddress {
  const address = readRedisUrl(text);
  if (address === undefined) throw new Unfit(redisUrlForms);
  return address;
}
