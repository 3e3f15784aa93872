import {
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
import { join } from "node:path";
import { afterEach, beforeEach, describe, expect, it, vi } from "vitest";
import { Environment, type Resolution } from "./environment.ts";
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
