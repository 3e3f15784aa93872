import { type Environment, type Flags, readSettings } from "./settings.ts";
import { startSettings, type UpstreamClient } from "./start-options.ts";
import { address } from "./values.ts";
import { defaultDataDir } from "./data-dir.ts";

const { dataDir, databaseUrl, adminToken, masterKey, envFile, secretsDir, allowPrivateMetadata, upstreamClient } =
  startSettings;

const connectionSettings = {
  url: {
    name: "url",
    argument: "<address>",
    description: "address of the gateway",
    parse: address,
    fallback: undefined,
  },
  dataDir,
  databaseUrl,
  adminToken,
  masterKey,
  envFile,
  secretsDir,
  allowPrivateMetadata,
  upstreamClient,
} as const;

/** Which gateway a command means, and what it shows there. */
export interface Connection {
  readonly url: string | undefined;
  readonly dataDir: string;
  /** Undefined for the embedded database. */
  readonly databaseUrl: string | undefined;
  readonly adminToken: string | undefined;
  readonly masterKey: string | undefined;
  readonly envFile: string | undefined;
  readonly secretsDir: readonly string[];
  readonly allowPrivateMetadata: boolean;
  readonly upstreamClient: UpstreamClient;
}

/** @throws CommandError (2) that names what is wrong */
export function readConnection(flags: Flags, environment: Environment): Connection {
  const values = readSettings(connectionSettings, flags, environment);
  return { ...values, dataDir: values.dataDir ?? defaultDataDir(environment) };
}
