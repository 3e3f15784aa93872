import {
  chmodSync,
  mkdirSync,
  mkdtempSync,
  realpathSync,
  renameSync,
  rmSync,
  symlinkSync,
  unlinkSync,
  writeFileSync,
} from "node:fs";
import { tmpdir } from "node:os";
import { delimiter, join } from "node:path";
import { afterEach, beforeEach, describe, expect, it, vi } from "vitest";
import { Environment, type Resolution } from "./environment.ts";
import { Keychain } from "./keychain.ts";
import { parseKeyText, showSecret } from "./key-text.ts";
import { SecretFiles } from "./secret-files.ts";

let folder: string;
let secrets: string;
beforeEach(() => {
  folder = realpathSync(mkdtempSync(join(tmpdir(), "keywheel-secrets-")));
  secrets = join(folder, "secrets");
  mkdirSync(join(secrets, "closed"), { recursive: true });
});
afterEach(() => rmSync(folder, { recursive: true, force: true }));

const valueOf = (resolution: Resolution): string =>
  resolution.kind === "resolved" ? resolution.value.reveal() : `${resolution.kind}: ${resolution.message}`;

describe("a reference to a place", () => {
  it.each([
    ["file:/run/secrets/openai", "file:/run/secrets/openai"],
    [" file:///run/secrets/../secrets/openai ", "file:/run/secrets/openai"],
    ["keychain:openai-1", "keychain:openai-1"],
  ])("is understood and shown: %s", (text, shown) => {
    const parsed = parseKeyText(text);

    expect(parsed.ok && showSecret(parsed.secret)).toBe(shown);
  });

  it.each([
    ["file:openai", "file_path"],
    ["file:", "file_path"],
    ["file:/run/a\nb", "file_path"],
    ["keychain:", "keychain_name"],
    ["keychain:a b", "keychain_name"],
    ["keychain:login/other", "keychain_name"],
  ])("is refused: %j", (text, code) => {
    expect(parseKeyText(text)).toMatchObject({ ok: false, fault: { code } });
  });
});

describe("a secret's file", () => {
  const files = (): SecretFiles => new SecretFiles({ folders: [secrets], closed: [join(secrets, "closed")] });

  it("is read as a pasted key is, and read again when it changes, is replaced or its link is turned", () => {
    const path = join(secrets, "openai");
    const reader = files();
    writeFileSync(path, "sk-invented-0001\n");
    expect(valueOf(reader.resolve(path))).toBe("sk-invented-0001");

    writeFileSync(path, "sk-invented-00002\n");
    expect(valueOf(reader.resolve(path))).toBe("sk-invented-00002");

    mkdirSync(join(secrets, "v2"));
    writeFileSync(join(secrets, "v2", "openai"), "sk-invented-0003");
    symlinkSync(join("v2", "openai"), join(secrets, "draft"));
    renameSync(join(secrets, "draft"), path);
    expect(valueOf(reader.resolve(path))).toBe("sk-invented-0003");
  });

  it("says why there is none, without a word of what is in it", () => {
    const reader = files();
    const at = (name: string, text: string): string => {
      writeFileSync(join(secrets, name), text);
      return valueOf(reader.resolve(join(secrets, name)));
    };

    expect(valueOf(reader.resolve(join(secrets, "absent")))).toBe(
      `unset: The file ${join(secrets, "absent")} cannot be read: there is no such file`,
    );
    expect(at("empty", " \n")).toBe(`empty: The file ${join(secrets, "empty")} is empty`);
    expect(at("two", "sk-one\nsk-two\n")).toMatch(/^unsendable: The file .* holds no key that can be sent/);
    expect(at("two", "sk-one\nsk-two\n")).not.toContain("sk-");
    expect(at("large", "k".repeat(70_000))).toContain("too large");
    expect(valueOf(reader.resolve(secrets))).toContain("not in a folder for secrets");
  });

  it("is not read outside of the folders for secrets, nor over a link that leads out of them", () => {
    const outside = join(folder, "id");
    writeFileSync(outside, "not-a-providers-key");
    writeFileSync(join(secrets, "closed", "master.key"), "not-a-providers-key");
    symlinkSync(outside, join(secrets, "link"));
    const reader = files();

    for (const path of [outside, join(secrets, "link"), join(secrets, "closed", "master.key"), `${secrets}/../id`]) {
      expect(valueOf(reader.resolve(path))).toContain("start the gateway with --secrets-dir");
    }
    mkdirSync(join(folder, "secrets-of-others"));
    writeFileSync(join(folder, "secrets-of-others", "x"), "not-a-providers-key");
    expect(valueOf(reader.resolve(join(folder, "secrets-of-others", "x")))).toContain("--secrets-dir");
  });

  it("tells those who wait for a change, also when it goes away and comes back", () => {
    const path = join(secrets, "openai");
    writeFileSync(path, "sk-invented-0001");
    const environment = new Environment({ variables: {}, pollMs: 0, files: { folders: [secrets], closed: [] } });
    const changed = vi.fn<() => void>();
    environment.onChange(changed);
    expect(valueOf(environment.resolve(`file:${path}`))).toBe("sk-invented-0001");

    environment.check();
    expect(changed).toHaveBeenCalledTimes(0);
    unlinkSync(path);
    environment.check();
    writeFileSync(path, "sk-invented-0002");
    environment.check();

    expect(changed).toHaveBeenCalledTimes(2);
    expect(valueOf(environment.resolve(`file:${path}`))).toBe("sk-invented-0002");
  });
});

describe("the keychain", () => {
  /** A tool of that name that does what the script says. */
  function withTool(name: string, script: string): Record<string, string> {
    writeFileSync(join(folder, name), `#!/bin/sh\n${script}\n`);
    chmodSync(join(folder, name), 0o755);
    return { PATH: [folder, "/usr/bin", "/bin"].join(delimiter) };
  }

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
