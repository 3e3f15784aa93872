import { execFileSync, spawn } from "node:child_process";
import { once } from "node:events";
import { chmodSync, mkdirSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { delimiter, join } from "node:path";
import { createInterface } from "node:readline";
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { hasKeyring } from "../../../../scripts/lib/keyring.mjs";
import type { Resolution } from "./environment.ts";
import { Keychain } from "./keychain.ts";

let folder: string;
beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), "keywheel-keychain-"));
});
afterEach(() => rmSync(folder, { recursive: true, force: true }));

const valueOf = (resolution: Resolution): string =>
  resolution.kind === "resolved" ? resolution.value.reveal() : `${resolution.kind}: ${resolution.message}`;

/** The answer of a keychain that is asked for the first time. */
async function ask(
  environment: Record<string, string>,
  platform: NodeJS.Platform,
  account = "openai",
): Promise<string> {
  let answered = (): void => {};
  const change = new Promise<void>((resolve) => (answered = resolve));
  const keychain = new Keychain({ onChange: () => answered(), now: () => 0, platform, environment });
  expect(valueOf(keychain.resolve(account))).toBe(`unset: The keychain is asked for keywheel/${account}`);
  await change;
  return valueOf(keychain.resolve(account));
}

describe("the keychain", () => {
  /** A tool of that name that does what the script says. */
  function withTool(name: string, script: string): Record<string, string> {
    writeFileSync(join(folder, name), `#!/bin/sh\n${script}\n`);
    chmodSync(join(folder, name), 0o755);
    return { PATH: [folder, "/usr/bin", "/bin"].join(delimiter) };
  }

  it("is asked by secret-tool on Linux and by security on macOS, for entries of our service alone", async () => {
    const linux = withTool(
      "secret-tool",
      '[ "$*" = "lookup service keywheel account openai" ] && printf sk-invented-0001',
    );
    const mac = withTool(
      "security",
      '[ "$*" = "find-generic-password -s keywheel -a openai -w" ] && echo sk-invented-0002',
    );

    expect(await ask(linux, "linux")).toBe("sk-invented-0001");
    expect(await ask(mac, "darwin")).toBe("sk-invented-0002");
  });

  it.each([
    ["exit 1", "linux", "unset: The keychain has no entry keywheel/openai"],
    [
      "echo 'security: SecKeychainSearchCopyNext: The specified item could not be found in the keychain.' >&2; exit 44",
      "darwin",
      "unset: The keychain has no entry keywheel/openai",
    ],
    [
      "echo 'secret-tool: Cannot autolaunch D-Bus without X11 $DISPLAY' >&2; exit 1",
      "linux",
      "unset: There is no keychain that answers here: secret-tool: Cannot autolaunch D-Bus without X11 $DISPLAY",
    ],
  ] as const)("says that there is none: %s", async (script, platform, expected) => {
    const environment = withTool(platform === "darwin" ? "security" : "secret-tool", script);

    expect(await ask(environment, platform)).toBe(expected);
  });

  it("says so on a machine without its tool", async () => {
    expect(await ask({ PATH: folder }, "linux")).toContain(
      "There is no keychain on this machine: secret-tool is not installed (libsecret-tools)",
    );
  });

  it("is asked again after a minute, and keeps its answer until then", async () => {
    const counter = join(folder, "asked");
    const environment = withTool(
      "secret-tool",
      `echo x >> ${counter}; printf "sk-invented-$(wc -l < ${counter} | tr -d ' ')"`,
    );
    let now = 0;
    let change = Promise.withResolvers<void>();
    const keychain = new Keychain({ onChange: () => change.resolve(), now: () => now, platform: "linux", environment });
    keychain.resolve("openai");
    await change.promise;
    expect(valueOf(keychain.resolve("openai"))).toBe("sk-invented-1");

    change = Promise.withResolvers();
    now = 60_000;
    expect(valueOf(keychain.resolve("openai"))).toBe("sk-invented-1");
    await change.promise;
    expect(valueOf(keychain.resolve("openai"))).toBe("sk-invented-2");
  });
});

/** A session of its own with GNOME's keyring in it, unlocked, as signing in at a desktop leaves it. */
async function openKeyring(): Promise<AsyncDisposable & { readonly environment: Record<string, string> }> {
  const home = join(folder, "home");
  mkdirSync(join(home, "run"), { recursive: true, mode: 0o700 });
  const environment = { PATH: process.env["PATH"] ?? "", HOME: home, XDG_RUNTIME_DIR: join(home, "run") };
  // It goes on in the background once it listens, and ends with its bus: that is there until its input ends.
  const script = `printf invented | gnome-keyring-daemon --unlock --components=secrets > /dev/null
    echo "$DBUS_SESSION_BUS_ADDRESS"
    cat`;
  const session = spawn("dbus-run-session", ["--", "sh", "-c", script], {
    env: environment,
    stdio: ["pipe", "pipe", "ignore"],
  });
  const ended = once(session, "exit");
  const [address] = (await once(createInterface({ input: session.stdout }), "line")) as [string];
  return {
    environment: { ...environment, DBUS_SESSION_BUS_ADDRESS: address },
    [Symbol.asyncDispose]: async () => {
      session.stdin.end();
      await ended;
    },
  };
}

describe("the keychain of a desktop, through the real secret-tool", { timeout: 30_000 }, () => {
  it.skipIf(!hasKeyring())(
    "(where there is one) gives what was stored as the documentation says, and keeps it while the keychain is locked",
    async () => {
      await using keyring = await openKeyring();
      const { environment: env } = keyring;
      const store = (account: string, input: string): Buffer =>
        execFileSync("secret-tool", ["store", "--label=Keywheel", "service", "keywheel", "account", account], {
          env,
          input,
        });
      let now = 0;
      let change = Promise.withResolvers<void>();
      const keychain = new Keychain({
        onChange: () => change.resolve(),
        now: () => now,
        platform: "linux",
        environment: env,
      });
      const asked = async (account: string): Promise<string> => {
        change = Promise.withResolvers();
        now += 60_000;
        keychain.resolve(account);
        await change.promise;
        return valueOf(keychain.resolve(account));
      };

      expect(await asked("openai-1")).toBe("unset: The keychain has no entry keywheel/openai-1");
      store("openai-1", "sk-invented-1");
      store("openai-2", "sk-invented-2\n");
      expect(await asked("openai-1")).toBe("sk-invented-1");
      expect(await asked("openai-2")).toBe("sk-invented-2");

      const collection = "/org/freedesktop/secrets/collection/login";
      const lock = ["--session", "--print-reply", "--dest=org.freedesktop.secrets", "/org/freedesktop/secrets"];
      execFileSync("dbus-send", [...lock, "org.freedesktop.Secret.Service.Lock", `array:objpath:${collection}`], {
        env,
      });
      expect(await asked("openai-1")).toBe("sk-invented-1");
      expect(await ask(env, "linux", "openai-1")).toBe(
        "unset: The keychain is locked, and has keywheel/openai-1: unlock it, as by signing in at the desktop",
      );
      expect(await ask(env, "linux", "openai-3")).toBe("unset: The keychain has no entry keywheel/openai-3");
    },
  );
});
