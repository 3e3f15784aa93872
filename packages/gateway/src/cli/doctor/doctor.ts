import { existsSync } from "node:fs";
import { join } from "node:path";
import { isKeywheelError } from "@keywheel/pool";
import { systemClock } from "../clock.ts";
import { runningFile } from "../../store/data-dir-lock.ts";
import type { ConfigState } from "../../contract/config-file.ts";
import type { ApiClient } from "../client/api-client.ts";
import type { List, Provider, Status } from "../commands/wire.ts";
import { CommandError, failed } from "../exit.ts";
import { readRunning } from "../serve/ready-file.ts";
import type { Environment, Flags } from "../settings.ts";
import { readStartOptions, type StartOptions } from "../start-options.ts";
import type { Terminal } from "../terminal.ts";
import { type Check, describe, fail, ok } from "./check.ts";
import { checkDataDir, checkDisk } from "./data-dir-checks.ts";

/**
 * Looks at everything that a gateway needs, and says of each how it stands and what to do. With a running gateway it asks
 * that one; without, it opens the data directory as a start would.
 *
 * @throws CommandError (1) if anything fails
 */
export async function doctor(flags: Flags, terminal: Terminal): Promise<void> {
  const checks: Check[] = [];
  const isJson = flags["json"] === true;
  const tell = (check: Check): void => {
    checks.push(check);
    if (!isJson) terminal.out(describe(check, terminal.colors));
  };
  await examine(flags, terminal.environment, tell);
  const failures = checks.filter(({ state }) => state === "fail").length;
  if (isJson) terminal.out(`${JSON.stringify({ ok: failures === 0, checks }, undefined, 2)}\n`);
  if (failures > 0) throw failed(failures === 1 ? "1 check failed." : `${failures} checks failed.`);
}

async function examine(flags: Flags, environment: Environment, tell: (check: Check) => void): Promise<void> {
  const options = checkConfiguration(flags, environment, tell);
  if (options === undefined) return;
  const { dataDir, config } = options;
  if (config !== undefined) await examineConfigFile(config, { flags, environment, tell });
  const isNew = !existsSync(dataDir);
  if (isNew) tell(ok("data_directory", `${dataDir} is not there yet; the first start makes it.`));
  else tell(checkDataDir(dataDir));
  tell(checkDisk(dataDir));
  const { checks, hasAdminToken: storesAdminToken } = await examineDatabase(options);
  for (const check of checks) tell(check);
  const canBeOpened = checks.every(({ state }) => state !== "fail");
  const hasAdminToken = storesAdminToken || options.adminToken !== undefined;
  if (isNew) {
    const { checkAddress } = await import("./address-check.ts");
    tell(await checkAddress({ ...options, requireToken: options.requireToken === true, tokens: 0, hasAdminToken }));
    return;
  }
  const client = canBeOpened ? await reach(options, environment, tell) : undefined;
  if (client === undefined) return;
  try {
    await examineState(client, { options, flags, environment, hasAdminToken, tell });
  } catch (error) {
    tell(fail("gateway", `It could not be asked: ${sentenceOf(error)}`, "See its log, and /readyz."));
  } finally {
    await client.close();
  }
}

async function examineDatabase({ dataDir, databaseUrl }: StartOptions) {
  if (databaseUrl !== undefined) return (await import("./postgres-check.ts")).checkPostgres(databaseUrl);
  // Before anything else opens the database in this process: see the README of the store.
  const { checkDatabase } = await import("./database-check.ts");
  const { check, hasAdminToken } = checkDatabase(dataDir);
  return { checks: [check], hasAdminToken };
}

function checkConfiguration(
  flags: Flags,
  environment: Environment,
  tell: (check: Check) => void,
): StartOptions | undefined {
  try {
    const options = readStartOptions(flags, environment);
    tell(ok("configuration", "Flags and variables are as they should be."));
    return options;
  } catch (error) {
    if (!(error instanceof CommandError)) throw error;
    tell(fail("configuration", error.message, "`keywheel start --help` lists what can be set."));
    return undefined;
  }
}

/** The way to the running gateway, or into the data directory. */
async function reach(
  options: StartOptions,
  environment: Environment,
  tell: (check: Check) => void,
): Promise<ApiClient | undefined> {
  const { connect } = await import("../client/connect.ts");
  try {
    const connection = { ...options, url: undefined };
    const client = await connect({ connection, environment, creates: true });
    const isRunning = client.url !== undefined;
    tell(
      ok("gateway", isRunning ? `It runs on ${client.where}.` : "It does not run; its data directory can be opened."),
    );
    return client;
  } catch (error) {
    const isHung = readRunning(join(options.dataDir, runningFile)) !== undefined;
    const advice = isHung ? "Look at the log of the gateway that has the data directory." : hintOf(error);
    tell(fail("gateway", sentenceOf(error), advice));
    return undefined;
  }
}

interface Telling {
  readonly flags: Flags;
  readonly environment: Environment;
  readonly tell: (check: Check) => void;
}

interface Examination extends Telling {
  readonly options: StartOptions;
  readonly hasAdminToken: boolean;
}

async function examineConfigFile(file: string, { flags, environment, tell }: Telling): Promise<void> {
  const { checkConfigFile } = await import("./config-file-checks.ts");
  for (const check of await checkConfigFile(file, environment, flags)) tell(check);
}

/** The file that a running gateway follows: as it took it up, whatever lies there now. */
async function examineFollowed(client: ApiClient, { options, tell }: Examination): Promise<void> {
  const { file, problem } = await client.call<ConfigState>("GET", "/config");
  if (file === null) return;
  if (problem !== null) {
    const message = `The gateway cannot take up ${file}, and goes on with what it took up before: ${problem}.`;
    tell(fail("configuration_file", message, "`keywheel config status` has every mistake with its line."));
  } else if (options.config === undefined) {
    tell(ok("configuration_file", `The gateway follows ${file}, and has taken it up.`));
  }
}

async function examineState(client: ApiClient, examination: Examination): Promise<void> {
  const { options, environment, hasAdminToken, tell } = examination;
  const [{ checkAddress }, { checkClock, checkProvider, checkReferences }, { openUpstream }] = await Promise.all([
    import("./address-check.ts"),
    import("./provider-checks.ts"),
    import("../serve/upstream.ts"),
  ]);
  const status = await client.call<Status>("GET", "/status");
  if (client.url !== undefined) await examineFollowed(client, examination);
  if (!status.store.ok) {
    const { trouble, hint, damaged } = status.store;
    const what = damaged ? "The gateway found it damaged" : "The gateway cannot write it";
    tell(fail("database", `${what}: ${trouble ?? "unknown"}.`, hint ?? "See its log."));
  }
  if (!status.shared_state.ok) {
    const advice =
      "See that Redis runs at the address of --redis-url and lets the gateway in; traffic goes on meanwhile.";
    tell(fail("redis", `The gateway goes on alone: ${status.shared_state.trouble ?? "unknown"}.`, advice));
  }
  tell(masterKeyCheck(status, options));
  if (client.url === undefined) {
    const { tokens } = status.counts;
    tell(await checkAddress({ ...options, requireToken: options.requireToken === true, tokens, hasAdminToken }));
  } else {
    const rule = status.require_token
      ? "clients must show a token"
      : "clients need no token, and only this machine reaches it";
    tell(ok("address", `It listens on ${status.urls.join(", ")}; ${rule}.`));
  }
  const { data: providers } = await client.call<List<Provider>>("GET", "/providers");
  tell(await checkReferences(client, providers));
  if (providers.length === 0) return;
  const upstream = await openUpstream({ ...options, clock: systemClock, environment });
  try {
    const enabled = providers.filter((provider) => provider.enabled);
    const findings = await Promise.all(enabled.map((provider) => checkProvider(provider, upstream)));
    for (const { check } of findings) tell(check);
    tell(checkClock(findings.flatMap(({ skewMs }) => (skewMs === undefined ? [] : [skewMs]))));
  } finally {
    await upstream.close();
  }
}

function masterKeyCheck({ master_key_ok: isRight }: Status, { masterKey }: StartOptions): Check {
  const place = masterKey === undefined ? "`master.key` in the data directory" : "KEYWHEEL_MASTER_KEY";
  if (!isRight) {
    const advice = "Put the former master key back: what it encrypted cannot be read with another one.";
    return fail("master_key", `Stored keys were encrypted with another one than ${place}.`, advice);
  }
  return ok("master_key", `It opens what is stored: ${place}. Keep a copy of it apart from the data.`);
}

function sentenceOf(error: unknown): string {
  return error instanceof Error ? error.message : String(error);
}

function hintOf(error: unknown): string {
  return isKeywheelError(error) ? error.hint : "Try again, or see `keywheel status`.";
}
