import { existsSync } from "node:fs";
import { join } from "node:path";
import { setTimeout as wait } from "node:timers/promises";
import { isKeywheelError } from "@keywheel/pool";
import { lockDataDir, lockFile, runningFile } from "../../store/data-dir-lock.ts";
import { deriveOperatorToken, readMasterKey } from "../../store/master-key.ts";
import type { Connection } from "../connection.ts";
import { failed } from "../exit.ts";
import { readRunning } from "../serve/ready-file.ts";
import type { Environment } from "../settings.ts";
import { ApiClient } from "./api-client.ts";
import { createHttpTransport } from "./http-transport.ts";

const defaultUrl = "http://127.0.0.1:8787";
/** A gateway that has the data directory and does not say where it is, is about to start or to stop. */
const patienceMs = 5000;

export interface ConnectOptions {
  readonly connection: Connection;
  readonly environment: Environment;
  /** Whether a data directory is made if there is none. */
  readonly creates: boolean;
}

/**
 * The way to the control plane of the gateway that is meant: the address that was given, else the gateway that runs on the
 * data directory, else the data directory itself, in this process.
 *
 * @throws CommandError (1) if there is none
 */
export async function connect({ connection, environment, creates }: ConnectOptions): Promise<ApiClient> {
  const { url, dataDir, adminToken } = connection;
  if (url !== undefined) return over(url, await adminTokenFor(url, connection));
  if (!existsSync(join(dataDir, lockFile))) {
    // A gateway in a container, say, whose data directory is not to be seen from here.
    if (adminToken !== undefined && (await isGateway(defaultUrl))) return over(defaultUrl, adminToken);
    if (!creates) {
      throw failed(
        `There is no data directory at ${dataDir}. Start a gateway (keywheel start), or say which one you mean with --data-dir or --url.`,
      );
    }
    return onDataDir(connection, environment);
  }
  for (const giveUpAt = performance.now() + patienceMs; ; await wait(100)) {
    if (isFree(dataDir)) return onDataDir(connection, environment);
    const running = readRunning(join(dataDir, runningFile));
    if (running !== undefined) return over(running.url, adminToken ?? operatorToken(connection));
    if (performance.now() > giveUpAt) {
      throw failed(
        `The data directory ${dataDir} is in use by another keywheel command. Try again when that one has ended.`,
      );
    }
  }
}

function over(url: string, token: string | undefined): ApiClient {
  if (token === undefined) {
    throw failed(
      `No admin token for the gateway at ${url}. Set KEYWHEEL_ADMIN_TOKEN to the one that it printed at its first start.`,
    );
  }
  return new ApiClient(createHttpTransport({ url, token }));
}

async function onDataDir(connection: Connection, environment: Environment): Promise<ApiClient> {
  const { createOfflineTransport } = await import("./offline-transport.ts");
  return new ApiClient(await createOfflineTransport(connection, environment));
}

/** What the control plane at an address is shown. The token of this machine's operator goes to this machine only. */
export async function adminTokenFor(url: string, connection: Connection): Promise<string | undefined> {
  if (connection.adminToken !== undefined) return connection.adminToken;
  const { isLoopback } = await import("../../control-plane/doors.ts");
  return isLoopback(new URL(url).hostname) ? operatorToken(connection) : undefined;
}

function operatorToken({ dataDir, masterKey }: Connection): string | undefined {
  const key = readMasterKey({ dataDir, masterKey });
  return key === undefined ? undefined : deriveOperatorToken(key);
}

function isFree(dataDir: string): boolean {
  try {
    lockDataDir(dataDir).release();
    return true;
  } catch (error) {
    if (isKeywheelError(error) && error.code === "conflict") return false;
    throw error;
  }
}

async function isGateway(url: string): Promise<boolean> {
  try {
    const answer = await createHttpTransport({ url, token: "" }).send("GET", "/readyz", undefined);
    return /"status":"(ready|not_ready)"/.test(answer.body);
  } catch {
    // Nothing listens there, or something else does: either way it is not the one.
    return false;
  }
}
