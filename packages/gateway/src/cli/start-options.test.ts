import { describe, expect, it } from "vitest";
import { shortestAdminToken } from "../control-plane/auth.ts";
import { defaultDataDir } from "./data-dir.ts";
import { CommandError } from "./exit.ts";
import { readStartOptions } from "./start-options.ts";
import { shortestToken } from "./values.ts";

const home = { HOME: "/home/someone" };

function refusal(flags: Record<string, unknown>, environment: Record<string, string> = {}): CommandError {
  try {
    readStartOptions(flags, { ...home, ...environment });
  } catch (error) {
    if (error instanceof CommandError) return error;
    throw error;
  }
  throw new Error("was accepted");
}

it("starts on loopback, port 8787, with the data in the user's own place", () => {
  expect(readStartOptions({}, home)).toMatchObject({
    host: "127.0.0.1",
    port: 8787,
    graceSeconds: 30,
    logLevel: "info",
    requireToken: undefined,
    allowHost: [],
  });
});

it("keeps the data where the system keeps such things", () => {
  expect(defaultDataDir({ HOME: "/home/a" }, "linux")).toBe("/home/a/.local/share/keywheel");
  expect(defaultDataDir({ HOME: "/home/a", XDG_DATA_HOME: "/data" }, "linux")).toBe("/data/keywheel");
  expect(defaultDataDir({ HOME: "/home/a", XDG_DATA_HOME: "data" }, "linux")).toBe("/home/a/.local/share/keywheel");
  expect(defaultDataDir({ HOME: "/Users/a" }, "darwin")).toBe("/Users/a/Library/Application Support/keywheel");
});

it("takes a flag before the variable, and the variable before the default", () => {
  const environment = { ...home, KEYWHEEL_PORT: "9000", KEYWHEEL_HOST: "localhost" };

  const options = readStartOptions({ port: "9001" }, environment);

  expect([options.port, options.host]).toEqual([9001, "localhost"]);
});

it("takes an empty variable as unset", () => {
  expect(readStartOptions({}, { ...home, KEYWHEEL_PORT: "", KEYWHEEL_REDIS_URL: " " }).port).toBe(8787);
});

it("lets a flag switch off what a variable switches on", () => {
  const environment = { ...home, KEYWHEEL_REQUIRE_TOKEN: "yes" };

  expect(readStartOptions({}, environment).requireToken).toBe(true);
  expect(readStartOptions({ requireToken: false }, environment).requireToken).toBe(false);
});

it("joins repeated flags and commas", () => {
  const options = readStartOptions({ allowHost: ["gw.example.com:8443", "[::1], OTHER.example"] }, home);

  expect(options.allowHost).toEqual(["gw.example.com:8443", "::1", "other.example"]);
});

describe("says what is wrong, by the name that was used", () => {
  it.each([
    [{ port: "65536" }, {}, 'Expected `--port` to be an integer from 0 to 65535, got "65536".'],
    [{ port: "80.5" }, {}, 'Expected `--port` to be an integer from 0 to 65535, got "80.5".'],
    [{ port: "" }, {}, 'Expected `--port` to be an integer from 0 to 65535, got "".'],
    [{}, { KEYWHEEL_PORT: "http" }, 'Expected `KEYWHEEL_PORT` to be an integer from 0 to 65535, got "http".'],
    [{ host: "http://x" }, {}, "Expected `--host` to be an IP address or a host name, without scheme and port"],
    [{ host: "127.0.0.300" }, {}, "Expected `--host` to be an IP address"],
    [{ graceSeconds: "-1" }, {}, 'Expected `--grace-seconds` to be seconds from 0 to 86400, got "-1".'],
    [{ logLevel: "loud" }, {}, "Expected `--log-level` to be one of trace, debug, info, warn, error, silent"],
    [{}, { KEYWHEEL_LOG_FORMAT: "xml" }, "Expected `KEYWHEEL_LOG_FORMAT` to be one of json, pretty"],
    [{}, { KEYWHEEL_REQUIRE_TOKEN: "maybe" }, "Expected `KEYWHEEL_REQUIRE_TOKEN` to be one of 1, true, yes, on"],
    [{ allowOrigin: ["https://a.example/x"] }, {}, "Expected `--allow-origin` to be an origin such as"],
    [{ allowOrigin: ["*"] }, {}, "Expected `--allow-origin` to be an origin such as"],
    [{ allowHost: ["http://a.example"] }, {}, "Expected `--allow-host` to be an IP address or a host name"],
    [{ allowHost: ["a.example:0"] }, {}, "Expected `--allow-host` to be a host name with a port from 1 to 65535"],
    [{ dataDir: "" }, {}, "Expected `--data-dir` to be a path"],
    [{ envFile: "/nowhere/.env" }, {}, 'Expected `--env-file` to be a file that exists, got "/nowhere/.env".'],
    [{ redisUrl: "http://x" }, {}, "Expected `--redis-url` to be redis://host:6379, rediss:// with TLS"],
    [{ databaseUrl: "postgres://a:%zz@b/c" }, {}, "Expected `--database-url` to be postgres://user:password@host"],
    [{ databaseUrl: "mysql://x" }, {}, "Expected `--database-url` to be postgres://user:password@host"],
    [{}, { KEYWHEEL_MASTER_KEY: "c2hvcnQ=" }, "Expected `KEYWHEEL_MASTER_KEY` to be 32 bytes in base64"],
    [{}, { KEYWHEEL_ADMIN_TOKEN: "two words, long enough" }, "Expected `KEYWHEEL_ADMIN_TOKEN` to be 16 or more"],
    [{}, { KEYWHEEL_ADMIN_TOKEN: "short" }, "Expected `KEYWHEEL_ADMIN_TOKEN` to be 16 or more"],
  ])("%j %j", (flags, environment, message) => {
    const error = refusal(flags, environment);

    expect(error.exitCode).toBe(2);
    expect(error.message).toContain(message);
  });

  it("all at once", () => {
    expect(refusal({ port: "x", logLevel: "y" }).message.split("\n")).toHaveLength(2);
  });

  it("without repeating what may be a secret", () => {
    const message =
      refusal({ databaseUrl: "mysql://a:hunter2@b" }).message +
      refusal({ redisUrl: "redis://a:hunter2@b:x" }).message +
      refusal({}, { KEYWHEEL_MASTER_KEY: "hunter2", KEYWHEEL_ADMIN_TOKEN: "hunter2 x" }).message;

    expect(message).not.toContain("hunter2");
  });
});

it("accepts the embedded database by its name", () => {
  expect(readStartOptions({ databaseUrl: "sqlite" }, home).databaseUrl).toBeUndefined();
});

it("asks as much of an admin token as the control plane does", () => {
  expect(shortestToken).toBe(shortestAdminToken);
});
